//! Streams that break off: a client of the handshake era comes back for the rest, and so do we at a server.

use super::{Form, Front};
use crate::kit::{call, tool_error};
use portolan_testkit::client::Pending;
use portolan_testkit::{Client, HttpClient, Profile};
use serde_json::{Value, json};

const STEPS: u64 = 20;

fn counting() -> Value {
    let mut params = call("one.progress", json!({ "steps": STEPS, "ms": 10 }));
    params["_meta"] = json!({ "progressToken": "t" });
    params
}

fn steps(messages: &[Value]) -> Vec<u64> {
    messages.iter().filter_map(|message| message["params"]["progress"].as_u64()).collect()
}

/// Starts a call and is cut off after its first event: what had come by then, and the id of the last event.
async fn cut_off(client: &HttpClient, id: &str) -> (Vec<u64>, String) {
    let pending = client.start(id, "tools/call", counting()).await;
    pending.wait_for_method("notifications/progress").await;
    // The events are noted before their messages, so all of these have been seen.
    let seen = steps(&pending.messages.all());
    let events = pending.events();
    let is_of =
        |step: u64| move |data: &str| steps(&[serde_json::from_str(data).unwrap_or_default()]) == [step];
    let last = seen.last().copied().unwrap();
    let event = events.iter().find(|event| is_of(last)(&event.data)).unwrap();
    (seen, event.id.clone().unwrap())
}

async fn reply_on(stream: &Pending, id: u64) -> Value {
    stream
        .messages
        .wait_for("the reply", |message| message["id"] == id && message.get("method").is_none())
        .await
}

#[tokio::test]
async fn f35_a_client_that_is_cut_off_gets_the_rest_where_it_was_and_the_tool_ran_once() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let revisions: &[&str] = match form {
            Form::StdioLegacy => &["2025-11-25", "2025-06-18", "2025-03-26"],
            _ => &["2025-11-25"],
        };
        for revision in revisions {
            let profile = Profile::default().revision(revision);
            let client = HttpClient::connect_as(&behind.gateway.url(), profile).await;
            let before = behind.journal.executions("progress");
            let (seen, last) = cut_off(&client, "1").await;
            let rest = client.resume(&last).await;
            assert_eq!(rest.status, 200, "{form:?} {revision}");
            let reply = reply_on(&rest, 1).await;
            assert_eq!(
                reply["result"]["content"][0]["text"],
                format!("{STEPS} steps"),
                "{form:?} {revision}"
            );
            let all = [seen, steps(&rest.messages.all())].concat();
            assert_eq!(all, (1..=STEPS).collect::<Vec<_>>(), "{form:?} {revision}: each once, in order");
            rest.messages.wait_closed("the stream of an answer").await;
            assert_eq!(behind.journal.executions("progress"), before + 1, "{form:?} {revision}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_came_while_nobody_read_is_still_there() {
    let behind = Form::StdioLegacy.serve(&["--faults"]).await;
    let client = behind.gateway.connect().await;
    let (seen, last) = cut_off(&client, "1").await;
    // The first one to come back reads to the end, and so knows that there is one.
    let first = client.resume(&last).await;
    reply_on(&first, 1).await;
    drop(first);
    let again = client.resume(&last).await;
    reply_on(&again, 1).await;
    assert_eq!([seen, steps(&again.messages.all())].concat(), (1..=STEPS).collect::<Vec<_>>());
    assert_eq!(behind.journal.executions("progress"), 1);
}

#[tokio::test]
async fn whoever_comes_back_second_takes_the_stream_over_and_the_first_ends() {
    let behind = Form::StdioLegacy.serve(&["--faults"]).await;
    let client = behind.gateway.connect().await;
    let (seen, last) = cut_off(&client, "1").await;
    let first = client.resume(&last).await;
    let second = client.resume(&last).await;
    first.messages.wait_closed("the stream that was taken over").await;
    reply_on(&second, 1).await;
    assert!(!first.messages.all().iter().any(|message| message["id"] == 1), "the answer came once");
    assert_eq!([seen, steps(&second.messages.all())].concat(), (1..=STEPS).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_id_that_nobody_knows_opens_an_ordinary_stream() {
    let behind = Form::StdioLegacy.serve(&["--faults"]).await;
    for id in ["never-1", "0-0", "nonsense", "ffff-99999999999999999999"] {
        let client = behind.gateway.connect().await;
        let stream = client.resume(id).await;
        assert_eq!(stream.status, 200, "{id}");
        client.call("one.test_trigger_tool_change", json!({})).await;
        stream.wait_for_method("notifications/tools/list_changed").await;
    }
}

#[tokio::test]
async fn t07_nobody_comes_back_to_the_stream_of_another_session() {
    let behind = Form::StdioLegacy.serve(&["--faults"]).await;
    let (own, other) = (behind.gateway.connect().await, behind.gateway.connect().await);
    let (seen, last) = cut_off(&own, "1").await;
    let stolen = other.resume(&last).await;
    let rest = own.resume(&last).await;
    reply_on(&rest, 1).await;
    assert_eq!([seen, steps(&rest.messages.all())].concat(), (1..=STEPS).collect::<Vec<_>>());
    // It is a stream of its own session, on which that session's news come, and nothing else has.
    other.call("one.test_trigger_tool_change", json!({})).await;
    stolen.wait_for_method("notifications/tools/list_changed").await;
    assert!(steps(&stolen.messages.all()).is_empty(), "{:?}", stolen.messages.all());
    assert!(!stolen.messages.all().iter().any(|message| message["id"] == 1));
}

#[tokio::test]
async fn f35_a_server_that_ends_its_stream_early_is_gone_back_to_for_the_answer() {
    for form in Form::LASTING {
        let behind = form.serve(&[]).await;
        for front in Front::ALL {
            let client = front.connect(&behind, Profile::default()).await;
            let text = client.call_text("one.test_reconnection", json!({})).await;
            assert!(text.contains("completed successfully"), "{form:?} {front:?}: {text}");
        }
        let calls = behind.journal.executions("test_reconnection");
        assert_eq!(calls, Front::ALL.len(), "{form:?}: never sent again");
    }
}

#[tokio::test]
async fn f35_a_server_without_sessions_that_ends_its_stream_early_has_failed_the_call() {
    let behind = Form::HttpStateless.serve(&[]).await;
    for front in Front::ALL {
        let client = front.connect(&behind, Profile::default()).await;
        let text = tool_error(&client, "one.test_reconnection", json!({})).await;
        assert!(text.contains("may have taken effect"), "{front:?}: {text}");
    }
    assert_eq!(behind.journal.executions("test_reconnection"), Front::ALL.len(), "never sent again");
}
