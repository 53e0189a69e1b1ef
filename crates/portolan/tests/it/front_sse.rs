//! The older HTTP+SSE in front: a stream that is the session, messages that are only accepted.

use crate::kit::{call, echoes, listed, one, ready};
use portolan_testkit::{Client, Gateway, HttpClient, Profile, SseClient};
use serde_json::{Value, json};

#[tokio::test]
async fn a_conversation_over_all_servers_and_over_one() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &[]);
    let (gateway, _client) = ready(builder, &["one", "two"]).await;
    let profile = Profile::default().revision("2024-11-05");
    let all = SseClient::connect_as(&gateway.url_of("/sse"), profile.clone()).await;
    listed(&all, &["one", "two"]).await;
    echoes(&all, "one.echo").await;
    let error = all.try_call("one.fail", json!({ "code": -32042 })).await.unwrap_err();
    assert_eq!(error["code"], -32042);
    let alone = SseClient::connect_as(&gateway.url_of("/servers/two/sse"), profile).await;
    assert!(alone.tool_names().await.contains(&"echo".to_owned()));
    echoes(&alone, "echo").await;
    assert_eq!(alone.try_call("one.echo", json!({})).await.unwrap_err()["code"], -32602);
    let nowhere = HttpClient::new(&gateway.url_of("/servers/nobody/sse"));
    assert_eq!(nowhere.open_get_stream().await.status, 404);
}

#[tokio::test]
async fn f49_calls_with_one_id_are_each_answered() {
    let (gateway, _client) = one(&["--faults"]).await;
    let client = SseClient::connect(&gateway.url_of("/sse")).await;
    let start = client.messages().len();
    for n in 0..20 {
        let params = call("one.echo", json!({ "n": n }));
        let text = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        assert_eq!(client.post(text).await.status, 202);
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut at = start;
    while seen.len() < 20 {
        let (found, message) = client.messages().wait_after(at, "an answer", |m| m["id"] == 1).await;
        at = found + 1;
        seen.insert(message["result"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_session() {
    let (gateway, client) = one(&[]).await;
    let stream = HttpClient::new(&gateway.url_of("/sse")).open_get_stream().await;
    let endpoint = stream.wait_for_event("endpoint").await.data;
    let poster = HttpClient::new(&gateway.url_of(&endpoint));
    assert_eq!(poster.request("1", "ping", Value::Null).await.status, 202);
    drop(stream);
    let ended = async {
        while poster.request("1", "ping", Value::Null).await.status != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(portolan_testkit::DEADLINE, ended).await.expect("404 once the stream is gone");
    let unknown = HttpClient::new(&gateway.url_of("/messages?sessionId=made-up"));
    assert_eq!(unknown.request("1", "ping", Value::Null).await.status, 404);
    let without = HttpClient::new(&gateway.url_of("/messages"));
    assert_eq!(without.request("1", "ping", Value::Null).await.status, 404);
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn t07_the_session_of_one_view_is_no_session_of_another() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &["--faults"]);
    let (gateway, _client) = ready(builder, &["one", "two"]).await;
    let stream = HttpClient::new(&gateway.url_of("/servers/one/sse")).open_get_stream().await;
    let endpoint = stream.wait_for_event("endpoint").await.data;
    let (_, session) = endpoint.split_once('?').unwrap();
    for path in ["/messages", "/servers/two/messages"] {
        let thief = HttpClient::new(&gateway.url_of(&format!("{path}?{session}")));
        assert_eq!(thief.request("1", "ping", Value::Null).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn f51_malformed_messages_are_told_and_the_next_one_is_answered() {
    let (gateway, _client) = one(&[]).await;
    let client = SseClient::connect(&gateway.url_of("/sse")).await;
    client.post("{\"jsonrpc\": ".to_owned()).await;
    client.messages().wait_for("the error", |m| m["error"]["code"] == -32700).await;
    let text = "x".repeat(5_000_000);
    assert_eq!(client.post(format!("{{\"x\":\"{text}\"}}")).await.status, 413);
    assert!(client.ask("ping", Value::Null).await.get("result").is_some());
}

#[tokio::test]
async fn a_cancellation_over_sse_reaches_the_server() {
    let (gateway, _client) = one(&["--faults"]).await;
    let client = SseClient::connect(&gateway.url_of("/sse")).await;
    let params = call("one.hang", json!({}));
    client
        .post(json!({ "jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": params }).to_string())
        .await;
    let journal = gateway.journal("one");
    journal.wait_for_executions("hang", 1).await;
    client.notify("notifications/cancelled", json!({ "requestId": "h" })).await;
    journal.wait_for_method("notifications/cancelled").await;
    echoes(&client, "one.echo").await;
    assert!(!client.messages().all().iter().any(|message| message["id"] == "h"), "no answer to it");
}
