//! A client that goes away: that ends the call in 2026-07-28, and does not before; and never anybody else's.

use super::{Form, Front};
use crate::kit::{Raw, call, listed};
use portolan_testkit::{HttpClient, Journal, ModernClient, ModernStdio, Profile};
use serde_json::{Value, json};

/// Waits until the server has heard that its `nth` call of a tool, counted from 0, is of no use any more.
async fn cancelled_upstream(form: Form, journal: &Journal, tool: &str, nth: usize) {
    journal.wait_for_executions(tool, nth + 1).await;
    let id = journal.calls(tool)[nth]["id"].clone();
    let what = format!("{form:?}: the end of {tool}");
    let is_told = |journal: &Journal| match form {
        // There the end of the stream is the word.
        Form::HttpModern => journal.events("cancelled").iter().any(|event| event["details"]["id"] == id),
        _ => journal.of("notifications/cancelled").iter().any(|word| word["params"]["requestId"] == id),
    };
    journal.wait_for(&what, is_told).await;
}

fn long_progress(token: Value) -> Value {
    let mut params = call("one.progress", json!({ "steps": 100_000, "ms": 5 }));
    params["_meta"] = json!({ "progressToken": token });
    params
}

#[tokio::test]
async fn f46_a_modern_client_that_closes_its_stream_ends_its_call_at_the_server() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let client = ModernClient::new(&behind.gateway.url());
        let pending = client.start("1", "tools/call", long_progress(json!(1))).await;
        pending.wait_for_method("notifications/progress").await;
        drop(pending);
        cancelled_upstream(form, &behind.journal, "progress", 0).await;
    }
}

#[tokio::test]
async fn f46_a_modern_client_that_goes_before_the_first_byte_of_its_answer_ends_its_call_too() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let params = Profile::default().stamped(call("one.hang", json!({})));
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: one.hang\r\n";
        let mut raw = Raw::open(behind.gateway.address()).await;
        raw.start_post("/mcp", headers, &body.to_string()).await;
        behind.journal.wait_for_executions("hang", 1).await;
        drop(raw);
        cancelled_upstream(form, &behind.journal, "hang", 0).await;
    }
}

#[tokio::test]
async fn f46_a_modern_client_that_goes_between_two_rounds_is_waited_for_and_its_call_is_not_ended() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::Sse] {
        let behind = form.serve(&[]).await;
        let who = super::Answering::everything("a");
        let params = call("one.who_asks", json!({ "tag": "rounds" }));
        let first = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        let asked = first.exchange("tools/call", params.clone()).await;
        let retried = who.profile.retried(&params, asked.result()).unwrap();
        drop(first);
        // Another connection, as after a change of the network.
        let second = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        let answered = second.exchange("tools/call", retried).await;
        let text = answered.result()["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("a saw rounds"), "{form:?}: {text}");
        assert!(!behind.journal.saw("notifications/cancelled"), "{form:?}");
    }
}

#[tokio::test]
async fn f46_a_legacy_client_that_is_cut_off_ends_nothing() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let client = behind.gateway.connect().await;
        let mut params = call("one.progress", json!({ "steps": 20, "ms": 10 }));
        params["_meta"] = json!({ "progressToken": 1 });
        let pending = client.start("1", "tools/call", params).await;
        pending.wait_for_method("notifications/progress").await;
        let last = pending.events().iter().rev().find_map(|event| event.id.clone()).unwrap();
        drop(pending);
        // The call went on to its end, which can be had yet.
        let rest = client.resume(&last).await;
        let reply = rest.messages.wait_for("the reply", |message| message["id"] == 1).await;
        assert_eq!(reply["result"]["content"][0]["text"], "20 steps", "{form:?}: {reply}");
        assert!(!behind.journal.saw("notifications/cancelled"), "{form:?}");
        assert!(behind.journal.events("cancelled").is_empty(), "{form:?}");
    }
}

#[tokio::test]
async fn a_cancellation_over_stdio_reaches_every_form_of_server_in_either_era() {
    for form in Form::ALL {
        let (behind, pipes) = form.over_stdio(&["--faults"], Profile::default()).await;
        pipes.initialize().await;
        listed(&pipes, &["one"]).await;
        let client = ModernStdio::over(pipes, Profile::default());
        client.pipes.start("\"old\"", "tools/call", call("one.hang", json!({}))).await;
        behind.journal.wait_for_executions("hang", 1).await;
        client.start("\"new\"", "tools/call", call("one.hang", json!({}))).await;
        behind.journal.wait_for_executions("hang", 2).await;
        for (nth, id) in ["new", "old"].into_iter().enumerate() {
            client.pipes.notify("notifications/cancelled", json!({ "requestId": id })).await;
            cancelled_upstream(form, &behind.journal, "hang", 1 - nth).await;
        }
        let answered = |message: &Value| message["id"] == "old" || message["id"] == "new";
        assert!(!client.pipes.messages().all().iter().any(answered), "{form:?}: no answer is due");
    }
}

#[tokio::test]
async fn t09_nobody_of_either_era_cancels_the_calls_of_another_client() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let file = behind.gateway.directory().join("go");
        let arguments = json!({ "ms": 0, "after": file });
        let (new, old) = (ModernClient::new(&behind.gateway.url()), behind.gateway.connect().await);
        let slow = [
            tokio::spawn({
                let (client, params) = (new.clone(), call("one.slow", arguments.clone()));
                async move { client.start("5", "tools/call", params).await.finish().await }
            }),
            tokio::spawn({
                let (client, params) = (old.clone(), call("one.slow", arguments));
                async move { client.request("5", "tools/call", params).await }
            }),
        ];
        behind.journal.wait_for_executions("slow", 2).await;
        let upstream = behind.journal.calls("slow");
        let ids = [json!(5), upstream[0]["id"].clone(), upstream[1]["id"].clone()];
        let strangers = [behind.gateway.connect().await, behind.gateway.connect_to("one").await];
        let sse = Front::Sse.connect(&behind, Profile::default()).await;
        let super::AnyClient::Sse(sse) = sse else { unreachable!() };
        for id in &ids {
            let word = json!({ "requestId": id });
            for stranger in &strangers {
                stranger.notify("notifications/cancelled", word.clone()).await;
            }
            sse.notify("notifications/cancelled", word.clone()).await;
            let modern = HttpClient::new(&behind.gateway.url());
            let modern = modern.header("mcp-protocol-version", "2026-07-28");
            modern.notify("notifications/cancelled", word).await;
        }
        std::fs::write(&file, "").unwrap();
        for call in slow {
            let answer = call.await.unwrap();
            assert_eq!(answer.result()["content"][0]["text"], "slept 0 ms", "{form:?}");
        }
        assert!(!behind.journal.saw("notifications/cancelled"), "{form:?}");
        assert!(behind.journal.events("cancelled").is_empty(), "{form:?}");
    }
}
