//! What servers write on their pipes: noise, broken messages, too much, too often, too late.

use crate::kit::{echoes, one, pid_of, ready, refused, until};
use portolan_testkit::{Client, Gateway, HttpClient, processes};
use serde_json::{Value, json};

/// Far below the messages of these tests, far above what a gateway needs.
const BOUND_KIB: u64 = 120 * 1024;

#[tokio::test]
async fn f13_garbage_between_messages_is_skipped_and_the_call_answered() {
    let (_gateway, client) = one(&["--faults"]).await;
    assert_eq!(client.call_text("one.garbage", json!({ "lines": 600 })).await, "after the noise");
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn f14_a_message_of_100_mb_fails_its_call_as_too_large_and_the_stream_goes_on() {
    let (gateway, client) = one(&["--faults"]).await;
    let server = pid_of(&client, "one").await;
    let arguments = json!({ "bytes": 100_000_000, "then": "resume" });
    let error = refused(&client, "one.endless_line", arguments, -32603).await;
    assert!(error["message"].as_str().unwrap().contains("larger than the limit"), "{error}");
    assert_eq!(error["data"], json!({ "server": "one", "limit_bytes": 16 << 20 }));
    echoes(&client, "one.echo").await;
    assert_eq!(pid_of(&client, "one").await, server, "the stream found its feet again");
    let peak = processes::peak_rss_kib(gateway.pid());
    assert!(peak < BOUND_KIB, "{peak} KiB at most in memory");
}

#[tokio::test]
async fn f14_a_line_of_300_mb_without_an_end_fails_its_call_and_the_child_is_replaced() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &[]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let server = pid_of(&client, "one").await;
    let error = refused(&client, "one.endless_line", json!({ "bytes": 300_000_000 }), -32603).await;
    assert_eq!(error["data"]["server"], "one");
    echoes(&client, "two.echo").await;
    processes::wait_gone(&[server]).await;
    echoes(&client, "one.echo").await;
    let peak = processes::peak_rss_kib(gateway.pid());
    assert!(peak < BOUND_KIB, "{peak} KiB at most in memory");
}

/// One fixture whose calls may take half a second.
async fn impatient() -> (Gateway, HttpClient) {
    let builder = Gateway::builder().fixture("two", &[]);
    let journal = builder.directory().join("one.journal");
    let entry = json!({ "command": portolan_testkit::bin("portolan-fixture"),
        "args": ["--faults", "--journal", journal], "portolan": { "timeout": "500ms" } });
    ready(builder.server("one", entry), &["one", "two"]).await
}

#[tokio::test]
async fn f15_a_call_without_an_answer_ends_at_its_deadline_is_cancelled_and_a_late_reply_is_nobodys() {
    let (gateway, client) = impatient().await;
    let error = refused(&client, "one.hang", json!({}), -32603).await;
    assert_eq!(error["data"], json!({ "server": "one", "timeout_ms": 500 }));
    let journal = gateway.journal("one");
    journal.wait_for_method("notifications/cancelled").await;
    let cancelled = &journal.of("notifications/cancelled")[0];
    assert_eq!(cancelled["params"]["requestId"], journal.calls("hang")[0]["id"]);
    // This one answers in spite of the cancellation, long after its caller was told.
    refused(&client, "one.slow", json!({ "ms": 1500, "deaf": true }), -32603).await;
    for n in 0..40 {
        let said = client.call_text("one.slow", json!({ "ms": 50 + n })).await;
        assert_eq!(said, format!("slept {} ms", 50 + n));
    }
    assert_eq!((journal.executions("hang"), journal.starts()), (1, 1));
}

#[tokio::test]
async fn f15_progress_extends_the_deadline() {
    let (_gateway, client) = impatient().await;
    let params = json!({ "name": "one.progress", "arguments": { "steps": 8, "ms": 250 },
        "_meta": { "progressToken": "t" } });
    let reply = client.ask("tools/call", params).await;
    assert_eq!(reply["result"]["content"][0]["text"], "8 steps", "{reply}");
}

#[tokio::test]
async fn f16_the_first_of_two_answers_wins() {
    let (_gateway, client) = one(&["--faults"]).await;
    for _ in 0..10 {
        assert_eq!(client.call_text("one.twice", json!({})).await, "the first answer");
        echoes(&client, "one.echo").await;
    }
}

#[tokio::test]
async fn f17_an_answer_to_an_unknown_id_reaches_nobody() {
    let (_gateway, client) = impatient().await;
    let lost = tokio::spawn({
        let client = client.clone();
        async move { refused(&client, "one.wrong_id", json!({}), -32603).await }
    });
    for n in 0..30 {
        let text = client.call_text("one.echo", json!({ "n": n })).await;
        assert_eq!(text, json!({ "n": n }).to_string());
    }
    assert_eq!(lost.await.unwrap()["data"]["timeout_ms"], 500);
}

/// A server that answers with exactly this text.
async fn answering(client: &HttpClient, text: &str) -> Value {
    client.ask("tools/call", json!({ "name": "one.raw", "arguments": { "text": text } })).await
}

#[tokio::test]
async fn f18_an_id_that_comes_back_as_a_string_or_a_float_is_matched() {
    let (_gateway, client) = one(&["--faults"]).await;
    assert_eq!(client.call_text("one.string_id", json!({})).await, "string_id");
    let reply = answering(&client, "{\"jsonrpc\":\"2.0\",\"id\":{id}.0,\"result\":{\"content\":[]}}\n").await;
    assert_eq!(reply["result"], json!({ "content": [] }), "{reply}");
}

#[tokio::test]
async fn f19_odd_encodings_are_tolerated_or_a_clean_error() {
    let (_gateway, client) = impatient().await;
    let good = "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[]}}";
    for text in [
        format!("\u{feff}{good}\n"),
        format!("{good}\r\n"),
        format!("\r\n\n   \n{good}\n"),
        format!("\u{0}\u{0}\n{good}\n"),
        format!("  {good}  \n"),
    ] {
        let reply = answering(&client, &text).await;
        assert_eq!(reply["result"], json!({ "content": [] }), "{text:?}: {reply}");
    }
    // Half a surrogate is no text: whoever gets it must not hang, and the next call goes through.
    let lone = "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[],\"x\":\"\\ud800\"}}\n";
    let params = json!({ "name": "one.raw", "arguments": { "text": lone } });
    let exchange = client.request("5", "tools/call", params).await;
    assert_eq!(exchange.status, 200);
    // Bytes that are no UTF-8 in a message that names its call.
    let broken = "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[],\"x\":\"\u{ff}\u{fe}\"}}\n";
    refused(&client, "one.raw", json!({ "text": broken, "bytes": true }), -32603).await;
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn f20_a_byte_at_a_time_and_two_messages_at_once_are_both_read() {
    let (_gateway, client) = one(&["--faults"]).await;
    assert_eq!(client.call_text("one.drip", json!({ "bytes": 300, "ms": 1 })).await, "d".repeat(300));
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"first"}}"#;
    let reply = r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[]}}"#;
    let params = json!({ "name": "one.raw", "arguments": { "text": format!("{log}\n{reply}\n{log}\n") } });
    let exchange = client.request("5", "tools/call", params).await;
    assert_eq!(exchange.result(), &json!({ "content": [] }));
    assert_eq!(exchange.messages[0]["params"]["data"], "first", "in their order: {exchange:?}");
}

#[tokio::test]
async fn f21_json_that_is_too_deep_or_says_things_twice_is_a_protocol_error_and_huge_numbers_pass() {
    let (_gateway, client) = one(&["--faults"]).await;
    let error = refused(&client, "one.deep", json!({ "levels": 200_000 }), -32603).await;
    assert_eq!(error["data"]["server"], "one");
    let twice = "{\"jsonrpc\":\"2.0\",\"id\":{id},\"id\":{id},\"result\":{}}\n";
    refused(&client, "one.raw", json!({ "text": twice }), -32603).await;
    let digits = "9".repeat(5000);
    let huge = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{{id}},\"result\":{{\"content\":[],\"x\":[1e999,{digits}]}}}}\n"
    );
    let params = json!({ "name": "one.raw", "arguments": { "text": huge } });
    let exchange = client.request("5", "tools/call", params).await;
    assert!(exchange.body.contains(&format!("[1e999,{digits}]")), "byte for byte");
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn f22_a_result_beside_an_error_or_neither_of_them_is_a_protocol_error() {
    let (_gateway, client) = one(&["--faults"]).await;
    for tool in ["one.both", "one.neither"] {
        let error = refused(&client, tool, json!({}), -32603).await;
        assert!(error["message"].as_str().unwrap().contains("broke the protocol"), "{error}");
    }
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn f23_300k_notifications_neither_fill_the_memory_nor_hold_up_the_calls() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &["--faults"]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    // One client that wants none of it, and one that reads all that it gets.
    client.ask("logging/setLevel", json!({ "level": "error" })).await;
    let reader = gateway.connect().await;
    let flood = |client: HttpClient, count: u64| {
        tokio::spawn(async move { client.call_text("one.flood", json!({ "count": count })).await })
    };
    let floods = [flood(client.clone(), 300_000), flood(reader, 20_000)];
    for _ in 0..20 {
        echoes(&client, "two.echo").await;
    }
    for (flood, count) in floods.into_iter().zip([300_000, 20_000]) {
        assert_eq!(flood.await.unwrap(), format!("{count} notifications"));
    }
    echoes(&client, "one.echo").await;
    let peak = processes::peak_rss_kib(gateway.pid());
    assert!(peak < BOUND_KIB, "{peak} KiB at most in memory");
}

#[tokio::test]
async fn f24_a_server_that_asks_a_client_something_is_declined_at_once() {
    let (_gateway, client) = one(&["--faults"]).await;
    for tool in ["one.ask_sampling", "one.ask_elicitation", "one.ask_roots"] {
        let seen: Value = serde_json::from_str(&client.call_text(tool, json!({})).await).unwrap();
        assert_eq!(seen["error"]["code"], -32601, "{tool}: {seen}");
    }
}

#[tokio::test]
async fn pretty_printed_arguments_reach_a_line_based_server_as_one_line() {
    let (gateway, client) = one(&[]).await;
    let session = client.session().unwrap();
    let body = "{\n \"jsonrpc\": \"2.0\",\n \"id\": \"p\",\n \"method\": \"tools/call\",\n \"params\": {\n  \
                \"name\": \"one.echo\",\n  \"arguments\": {\r\n   \"a\": [1,\n 2]\n  }\n }\n}\n";
    let mut raw = crate::kit::Raw::open(gateway.address()).await;
    let answer = raw.post("/mcp", &format!("Mcp-Session-Id: {session}\r\n"), body).await;
    let reply: Value = serde_json::from_str(&answer.body).unwrap();
    let echoed: Value =
        serde_json::from_str(reply["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(echoed, json!({ "a": [1, 2] }));
    assert!(gateway.journal("one").events("unparsed").is_empty());
    until("one call was seen", || gateway.journal("one").executions("echo") == 1).await;
}
