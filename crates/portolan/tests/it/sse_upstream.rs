//! Servers over the older HTTP+SSE: one stream that brings everything and may end at any time.

use crate::kit::{echoes, listed, ready, refused, tool_error};
use portolan_testkit::{Client, Fixture, Gateway, HttpClient, processes};
use serde_json::{Value, json};

async fn behind(fixture: &Fixture) -> (Gateway, HttpClient) {
    ready(Gateway::builder().server("old", fixture.entry()), &["old"]).await
}

#[tokio::test]
async fn it_lists_calls_and_fails_as_its_server_does() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    assert_eq!(client.call_text("old.echo", json!({ "a": 1.0 })).await, r#"{"a":1.0}"#);
    let error = client.try_call("old.fail", json!({ "code": -32042 })).await.unwrap_err();
    assert_eq!((&error["code"], &error["data"]["server"]), (&json!(-32042), &json!("old")));
    assert_eq!(tool_error(&client, "old.tool_error", json!({ "message": "no" })).await, "no");
    let calls = (0..50).map(|n| {
        let client = client.clone();
        tokio::spawn(async move {
            assert_eq!(client.call_text("old.echo", json!({ "n": n })).await, json!({ "n": n }).to_string());
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn f05_a_server_that_is_killed_mid_call_fails_that_call_at_once_and_comes_back() {
    let mut fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { tool_error(&client, "old.hang", json!({})).await }
    });
    fixture.journal().wait_for_executions("hang", 1).await;
    fixture.stop().await;
    let error = hanging.await.unwrap();
    assert!(error.contains("server old") && error.contains("may have taken effect"), "{error}");
    let again = Fixture::sse(&["--faults", "--port", &fixture.port().to_string()]).await;
    listed(&client, &["old"]).await;
    echoes(&client, "old.echo").await;
    assert_eq!(again.journal().executions("hang"), 0, "never sent again");
}

#[tokio::test]
async fn f28_a_session_that_the_server_ended_is_opened_again_and_the_next_call_runs_once() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    // The stream that would bring the answer ends with the session: answered or lost, but never sent again.
    client.try_call("old.forget_sessions", json!({})).await.unwrap();
    for n in 0..5 {
        assert_eq!(client.call_text("old.echo", json!({ "n": n })).await, json!({ "n": n }).to_string());
    }
    let journal = fixture.journal();
    assert_eq!((journal.executions("echo"), journal.executions("forget_sessions")), (5, 1));
}

#[tokio::test]
async fn f15_a_call_without_an_answer_ends_at_its_deadline_and_is_cancelled() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let mut entry = fixture.entry();
    entry["portolan"] = json!({ "timeout": "500ms" });
    let (_gateway, client) = ready(Gateway::builder().server("old", entry), &["old"]).await;
    for tool in ["old.hang", "old.wrong_id", "old.cut"] {
        let error = refused(&client, tool, json!({}), -32603).await;
        assert_eq!(error["data"]["timeout_ms"], 500, "{tool}");
    }
    let journal = fixture.journal();
    journal.wait_for("three cancellations", |j| j.of("notifications/cancelled").len() == 3).await;
    echoes(&client, "old.echo").await;
}

#[tokio::test]
async fn f36_a_message_that_is_not_accepted_is_an_error_at_once() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    for code in [400, 413, 500, 503] {
        let error = refused(&client, "old.status", json!({ "code": code }), -32603).await;
        assert!(error["message"].as_str().unwrap().contains(&code.to_string()), "{error}");
    }
    let error = refused(&client, "old.redirect", json!({ "to": "http://127.0.0.1:1/" }), -32603).await;
    assert!(error["message"].as_str().unwrap().contains("307"), "{error}");
    echoes(&client, "old.echo").await;
}

#[tokio::test]
async fn f13_f16_f18_f22_noise_double_and_broken_answers_on_the_stream() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    assert_eq!(client.call_text("old.garbage", json!({ "lines": 200 })).await, "after the noise");
    assert_eq!(client.call_text("old.twice", json!({})).await, "the first answer");
    assert_eq!(client.call_text("old.string_id", json!({})).await, "string_id");
    assert_eq!(client.call_text("old.drip", json!({ "bytes": 200, "ms": 1 })).await, "d".repeat(200));
    for tool in ["old.both", "old.neither"] {
        refused(&client, tool, json!({}), -32603).await;
    }
    refused(&client, "old.deep", json!({ "levels": 200_000 }), -32603).await;
    echoes(&client, "old.echo").await;
}

#[tokio::test]
async fn f14_an_event_without_an_end_fails_its_call_and_memory_stays_bounded() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let builder = Gateway::builder()
        .server("old", fixture.entry())
        .env("PORTOLAN_LIMITS_UPSTREAM_MESSAGE_BYTES", "1MiB");
    let (gateway, client) = ready(builder, &["old"]).await;
    let reply =
        client.ask("tools/call", crate::kit::call("old.endless_line", json!({ "bytes": 300_000_000 }))).await;
    let is_told = reply["error"]["code"] == -32603 || reply["result"]["isError"] == true;
    assert!(is_told && reply.to_string().contains("larger than"), "{reply}");
    echoes(&client, "old.echo").await;
    let peak = processes::peak_rss_kib(gateway.pid());
    assert!(peak < 100 * 1024, "{peak} KiB at most in memory");
}

#[tokio::test]
async fn f24_a_server_that_asks_on_the_stream_is_declined_at_once() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let seen: Value = serde_json::from_str(&client.call_text("old.ask_roots", json!({})).await).unwrap();
    assert_eq!(seen["error"]["code"], -32601, "{seen}");
}

#[tokio::test]
async fn changed_tools_are_told_over_the_stream() {
    let fixture = Fixture::sse(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    client.call("old.change_tools", json!({ "add": ["new_one"], "remove": ["echo"] })).await;
    let has = |names: &[String], name: &str| names.iter().any(|n| n == name);
    client.wait_for_tools(|names| has(names, "old.new_one") && !has(names, "old.echo")).await;
}
