//! What goes wrong: tools, models, time, and people who call it off.

use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Gate, Reply};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::kit::{
    DIALECTS, Does, FakeHands, OPTIONS, SHORT, ask, asked, asked_of, configured, github, results, steps,
};
use crate::{Failure, Options, Traced, With};

#[tokio::test]
async fn errors_of_tools_go_back_to_the_model_which_goes_on() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server
            .then(Reply::calls([("bad", json!({})), ("away", json!({}))]))
            .then(Reply::calls([("good", json!({}))]))
            .then(Reply::text("Mended."));
        let hands = FakeHands::new([
            ("bad", Does::Errs("no such repo".to_owned())),
            ("away", Does::Fails("github is in ERROR".to_owned())),
            ("good", Does::Says("ok".to_owned())),
        ]);
        let report = asked(&hands, configured(&server, kind), &ask("try")).await;
        assert_eq!((&report.failure, report.answer.as_str()), (&None, "Mended."));
        assert_eq!(report.tools_used, ["bad", "away", "good"]);
        assert_eq!(report.contexts.len(), 1);
        let told = results(&server.bodies()[1]);
        assert!(told[0].contains("no such repo"), "{told:?}");
        assert!(told[1].contains("Tool away failed: github is in ERROR"), "{told:?}");
        let trace = json!(report.trace);
        let answered = trace.as_array().unwrap().iter().filter(|step| step["step"] == "answered");
        let outcomes: Vec<&str> = answered.map(|step| step["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes, ["failed", "failed", "done"]);
    }
}

#[tokio::test]
async fn a_tool_that_never_answers_is_given_up_and_the_model_told() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::calls([("slow", json!({}))])).then(Reply::text("It is slow."));
        let hands = FakeHands::new([("slow", Does::Hangs)]);
        let agents = github(Options { call_time: SHORT, ..OPTIONS });
        let report = asked_of(&agents, &hands, configured(&server, kind), &ask("wait")).await;
        assert_eq!(report.answer, "It is slow.");
        assert!(results(&server.bodies()[1])[0].contains("it has not answered within 50ms"));
        assert!(hands.tokens.lock().unwrap()[0].is_cancelled());
    }
}

#[tokio::test]
async fn f60_a_model_that_fails_midway_leaves_what_was_found_until_then() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server
            .then(Reply::calls([("find", json!({}))]).saying("Looking."))
            .then(Reply::refusal(400, "context too long"));
        let hands = FakeHands::saying("find", "found it");
        let report = asked(&hands, configured(&server, kind), &ask("find")).await;
        let written = json!(report);
        assert_eq!(written["status"], "error");
        assert_eq!(written["error"]["code"], "MCP_ORCHESTRATION_FAILED");
        let message = written["error"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("Failed to execute MCP connector query: ")
                && message.contains("context too long")
        );
        assert_eq!(written["metadata"]["contexts"][0]["content"], "found it");
        let data = written["data"].as_str().unwrap();
        assert!(
            data.contains("The result is partial.\nTools Used: find\nContexts Found: 1\n\nLooking."),
            "{data}"
        );
    }
}

#[tokio::test]
async fn f60_a_model_that_is_away_or_talks_garbage_is_an_error_that_says_so() {
    for kind in DIALECTS {
        for (reply, expected) in [
            (Reply::refusal(401, "bad key"), "refuses the key"),
            (Reply::raw("<html>"), "cannot be used"),
            (Reply::text(""), "ended without an answer"),
        ] {
            let server = ModelServer::start().await;
            server.then(reply);
            let hands = FakeHands::saying("find", "x");
            let report = asked(&hands, configured(&server, kind), &ask("find")).await;
            assert!(report.failure.as_ref().unwrap().to_string().contains(expected), "{:?}", report.failure);
            assert_eq!(report.data(), report.failure.unwrap().message());
            assert_eq!(hands.log(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn f60_a_model_that_hangs_is_waited_for_until_the_query_s_own_deadline() {
    for kind in DIALECTS {
        let gate = Gate::default();
        let server = ModelServer::start().await;
        server.then(Reply::text("late").held(&gate));
        let agents = github(Options { query_time: SHORT, ..OPTIONS });
        let hands = FakeHands::saying("find", "x");
        let report = asked_of(&agents, &hands, configured(&server, kind), &ask("find")).await;
        assert_eq!(report.failure, Some(Failure::TimedOut { limit: SHORT }));
        gate.open();
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_complained_about_and_can_be_mended() {
    let server = ModelServer::start().await;
    server
        .then(Reply::calls([("find", json!("{q: broken"))]))
        .then(Reply::calls([("find", json!({ "q": 1 }))]))
        .then(Reply::text("Found."));
    let hands = FakeHands::saying("find", "x");
    let report = asked(&hands, configured(&server, DIALECTS[0]), &ask("find")).await;
    assert!(results(&server.bodies()[1])[0].contains("must be one JSON object"));
    assert_eq!(hands.log(), [r#"find {"q":1}"#, "find ended"]);
    assert_eq!(report.tools_used, ["find"]);
}

#[tokio::test]
async fn a_query_that_is_called_off_ends_at_once_and_its_calls_with_it() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::calls([("slow", json!({})), ("slow", json!({}))]));
        let hands = FakeHands::new([("slow", Does::Hangs)]);
        let (agents, cancel, ask) = (github(OPTIONS), CancellationToken::new(), ask("wait"));
        let with =
            With { hands: &hands, mind: configured(&server, kind), cancel: &cancel, watch: &|_: &Traced| {} };
        let off = async {
            hands.called.notified().await;
            cancel.cancel();
        };
        let (report, ()) = tokio::join!(agents.query(&ask, with), off);
        assert_eq!(report.failure, Some(Failure::Cancelled));
        assert!(hands.tokens.lock().unwrap().iter().all(CancellationToken::is_cancelled));
        assert!(json!(report.trace).to_string().contains("Tool slow failed: the query was cancelled"));
        // Nobody asked the model again, and it counts as no error.
        assert_eq!(server.asked().len(), 1);
        let tally = agents.find("github").unwrap().tally;
        assert_eq!((tally.calls, tally.errors), (1, 0));
    }
}

#[tokio::test]
async fn a_query_that_waits_for_its_model_can_be_called_off() {
    let gate = Gate::default();
    let server = ModelServer::start().await;
    server.then(Reply::text("late").held(&gate));
    let hands = FakeHands::saying("find", "x");
    let (agents, cancel, ask) = (github(OPTIONS), CancellationToken::new(), ask("wait"));
    let with = With {
        hands: &hands,
        mind: configured(&server, DIALECTS[0]),
        cancel: &cancel,
        watch: &|_: &Traced| {},
    };
    let off = async {
        server.asked().wait_for("the first request", |_| true).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(agents.query(&ask, with), off);
    assert_eq!(report.failure, Some(Failure::Cancelled));
    assert_eq!(steps(&report), ["began", "ended"]);
    gate.open();
}

#[tokio::test]
async fn br_008_the_queries_of_a_server_that_is_removed_end_with_it() {
    let server = ModelServer::start().await;
    server.then(Reply::calls([("slow", json!({}))]));
    let hands = FakeHands::new([("slow", Does::Hangs)]);
    let (agents, cancel, ask) = (github(OPTIONS), CancellationToken::new(), ask("wait"));
    let with = With {
        hands: &hands,
        mind: configured(&server, DIALECTS[0]),
        cancel: &cancel,
        watch: &|_: &Traced| {},
    };
    let removal = async {
        hands.called.notified().await;
        agents.remove(agents.find("github").unwrap().card.id);
    };
    let (report, ()) = tokio::join!(agents.query(&ask, with), removal);
    assert_eq!(report.failure, Some(Failure::Removed { connector: "github".to_owned() }));
    assert!(hands.tokens.lock().unwrap()[0].is_cancelled());
    let gone = asked_of(&agents, &hands, configured(&server, DIALECTS[0]), &ask).await;
    assert_eq!(json!(gone)["error"]["code"], "CONNECTOR_NOT_FOUND");
}

#[tokio::test]
async fn a_server_without_tools_is_not_asked_about_at_all() {
    let server = ModelServer::start().await;
    let report = asked(&FakeHands::new([]), configured(&server, DIALECTS[0]), &ask("find")).await;
    assert_eq!(report.failure, Some(Failure::NoTools { connector: "github".to_owned() }));
    assert_eq!(server.asked().len(), 0);
}
