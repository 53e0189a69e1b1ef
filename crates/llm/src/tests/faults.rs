//! Providers that are down, slow, full, or talk nonsense.

use std::time::Duration;

use portolan_outbound::{Options, Origin, Outbound};
use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Gate, Nobody, Reply};

use super::kit::{AMPLE, DIALECTS, KEY, SHORT, client, client_at, question};
use crate::{Chat, ChatModel as _, Client, Dialect, LlmError};

async fn refused_with(reply: Reply) -> Vec<(LlmError, usize)> {
    let mut refusals = Vec::new();
    for kind in DIALECTS {
        let reply = reply.clone();
        let server = ModelServer::answering(move |_| reply.clone()).await;
        let refused = client(&server, kind).turn(&question("Hi")).await.unwrap_err();
        refusals.push((refused, server.asked().len()));
    }
    refusals
}

/// What comes of a provider that always answers so, and how often it is asked.
#[track_caller]
fn check(refusals: Vec<(LlmError, usize)>, tries: usize, expected: impl Fn(&LlmError) -> bool) {
    for (refused, tried) in refusals {
        assert!(expected(&refused), "{refused:?}");
        assert_eq!(tried, tries, "{refused:?}");
    }
}

#[tokio::test]
async fn f60_nobody_there_is_unavailable_until_somebody_is() {
    for kind in DIALECTS {
        let nobody = Nobody::bind();
        let client = client_at(nobody.url(), kind, AMPLE);
        let refused = client.turn(&question("Hi")).await.unwrap_err();
        let LlmError::Unavailable { reason } = refused else { panic!("{refused:?}") };
        assert!(reason.contains("refused"), "{reason}");
        let server = nobody.start();
        server.then(Reply::text("Hi"));
        assert_eq!(client.turn(&question("Hi")).await.unwrap().text, "Hi");
    }
}

#[tokio::test]
async fn f60_a_slow_model_is_given_up_at_the_deadline() {
    for kind in DIALECTS {
        let gate = Gate::default();
        let held = Reply::text("late").held(&gate);
        let server = ModelServer::answering(move |_| held.clone()).await;
        let client = client(&server, kind);
        let hurried = Chat { within: Some(SHORT), ..question("Hi") };
        let refused = client.turn(&hurried).await.unwrap_err();
        assert_eq!(refused, LlmError::TimedOut { limit: SHORT });
        // Whoever has more time gets the answer once it is there.
        gate.open();
        assert_eq!(client.turn(&question("Hi")).await.unwrap().text, "late");
    }
}

#[tokio::test]
async fn f60_the_provider_s_own_time_bounds_what_is_asked_for() {
    let gate = Gate::default();
    let server = ModelServer::start().await;
    server.then(Reply::text("late").held(&gate));
    let client = client_at(server.openai_url(), Dialect::OpenAi, SHORT);
    let patient = Chat { within: Some(AMPLE), ..question("Hi") };
    assert_eq!(client.turn(&patient).await.unwrap_err(), LlmError::TimedOut { limit: SHORT });
}

#[tokio::test]
async fn f60_garbage_is_told_with_its_beginning_and_not_asked_for_again() {
    for body in ["<html>busy</html>", "", r#"{"choices":[],"content":7}"#, "\u{0}\u{1}"] {
        check(refused_with(Reply::raw(body)).await, 1, |refused| matches!(refused, LlmError::Garbage { .. }));
    }
}

#[tokio::test]
async fn f60_an_answer_without_an_end_is_cut() {
    check(refused_with(Reply::huge()).await, 1, |refused| matches!(refused, LlmError::TooLarge { .. }));
}

#[tokio::test]
async fn a_refusal_without_an_end_is_a_refusal_all_the_same() {
    let reply = Reply::huge().status(404);
    check(refused_with(reply).await, 1, |refused| matches!(refused, LlmError::Rejected { status: 404, .. }));
}

#[tokio::test]
async fn f60_an_answer_that_breaks_off_is_asked_for_again() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::cut()).then(Reply::text("Hi"));
        assert_eq!(client(&server, kind).turn(&question("Hi")).await.unwrap().text, "Hi");
    }
    check(refused_with(Reply::cut()).await, 3, |refused| matches!(refused, LlmError::Unavailable { .. }));
}

#[tokio::test]
async fn f30_a_provider_that_is_full_is_asked_three_times_when_it_says() {
    for status in [500, 502, 503, 529] {
        let reply = Reply::refusal(status, "busy").header("retry-after-ms", "1");
        check(refused_with(reply).await, 3, |refused| {
            *refused == LlmError::Unavailable { reason: format!("{status}: busy") }
        });
    }
    let pause = Duration::from_millis(1);
    let reply = Reply::refusal(429, "slowly").header("retry-after-ms", "1");
    check(refused_with(reply).await, 3, |refused| {
        *refused == LlmError::RateLimited { retry_after: Some(pause) }
    });
}

#[tokio::test]
async fn what_a_provider_cannot_do_or_does_not_know_is_asked_once() {
    for status in [404, 413, 501] {
        check(refused_with(Reply::refusal(status, "no")).await, 1, |refused| {
            *refused == LlmError::Rejected { status, reason: "no".to_owned() }
        });
    }
}

#[tokio::test]
async fn f30_one_that_wants_more_time_than_there_is_is_not_waited_for() {
    let minute = Duration::from_mins(1);
    let reply = Reply::refusal(429, "later").header("retry-after", "60");
    check(refused_with(reply).await, 1, |refused| {
        *refused == LlmError::RateLimited { retry_after: Some(minute) }
    });
}

#[tokio::test]
async fn t22_a_key_that_is_refused_is_not_shown() {
    for status in [401, 403] {
        let reply = Reply::refusal(status, format!("Incorrect API key provided: {KEY}"));
        check(refused_with(reply).await, 1, |refused| {
            *refused == LlmError::Unauthorized { reason: "Incorrect API key provided: ***".to_owned() }
        });
    }
}

#[tokio::test]
async fn t22_a_server_that_answers_with_what_it_was_sent_does_not_get_the_key_shown() {
    let echo = format!(r#"{{"choices":"Bearer {KEY}","content":"{KEY}","data":"{KEY}"}}"#);
    check(refused_with(Reply::raw(echo.clone())).await, 1, |refused| {
        matches!(refused, LlmError::Garbage { .. }) && !refused.to_string().contains(KEY)
    });
    let server = ModelServer::start().await;
    server.then(Reply::raw(echo));
    let refused = client(&server, Dialect::OpenAi).embeddings(&["a"], None).await.unwrap_err();
    assert!(refused.to_string().contains("***") && !refused.to_string().contains(KEY), "{refused}");
}

#[tokio::test]
async fn t14_a_redirect_is_not_followed() {
    let elsewhere = ModelServer::start().await;
    let reply = Reply::raw("").status(307).header("location", format!("{}/x", elsewhere.openai_url()));
    check(refused_with(reply).await, 1, |refused| matches!(refused, LlmError::Rejected { status: 307, .. }));
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn t15_an_address_that_came_over_rest_is_held_against_the_policy() {
    let server = ModelServer::start().await;
    let provider = client(&server, Dialect::OpenAi).provider().clone();
    let guarded = Outbound::new(Options::default()).unwrap();
    let client = Client::new(guarded, Origin::Registered, provider).unwrap();
    let refused = client.turn(&question("Hi")).await.unwrap_err();
    assert!(
        matches!(&refused, LlmError::Misconfigured { reason } if reason.contains("refused")),
        "{refused}"
    );
    assert!(server.asked().is_empty());
}
