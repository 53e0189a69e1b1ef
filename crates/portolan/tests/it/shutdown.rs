//! The end: what is in flight is answered, the children go, the exit code says how it went.

use crate::kit::{Raw, call, listed, one, ready, until};
use portolan_testkit::{Client, Fixture, Gateway, HttpClient, Profile, Signal, SseClient, bin, processes};
use serde_json::json;
use std::process::Stdio;
use tokio::io::AsyncWriteExt as _;

async fn is_closed(gateway: &Gateway) {
    let address = gateway.address().to_owned();
    let closed = async { while tokio::net::TcpStream::connect(&address).await.is_ok() {} };
    tokio::time::timeout(portolan_testkit::DEADLINE, closed).await.expect("nothing new is taken");
}

#[tokio::test]
async fn f65_calls_in_flight_are_answered_on_every_transport_then_the_children_end_and_the_code_is_0() {
    let web = Fixture::http(&["--faults"]).await;
    let builder = Gateway::builder().fixture("one", &["--faults", "--grandchild"]).server("web", web.entry());
    let (mut gateway, client) = ready(builder, &["one", "web"]).await;
    let family = gateway.children();
    let old = SseClient::connect(&gateway.url_of("/sse")).await;
    let stream = client.open_get_stream().await;
    let slow = |client: HttpClient, name: &'static str| {
        tokio::spawn(async move { client.call_text(name, json!({ "ms": 2500 })).await })
    };
    let running = [
        slow(client.clone(), "one.slow"),
        slow(client.clone(), "web.slow"),
        slow(client.clone(), "one.slow"),
    ];
    let params = call("one.slow", json!({ "ms": 2500 }));
    old.post(json!({ "jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": params }).to_string())
        .await;
    gateway.journal("one").wait_for_executions("slow", 3).await;
    web.journal().wait_for_executions("slow", 1).await;
    gateway.signal(Signal::TERM);
    is_closed(&gateway).await;
    stream.messages.wait_closed("a stream that would never end by itself").await;
    for call in running {
        assert_eq!(call.await.unwrap(), "slept 2500 ms");
    }
    let answer = old.messages().wait_for("the answer over sse", |m| m["id"] == "s").await;
    assert_eq!(answer["result"]["content"][0]["text"], "slept 2500 ms");
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
}

#[tokio::test]
async fn f65_the_stdio_form_answers_what_is_in_flight_too() {
    let (mut gateway, client) = Gateway::builder().fixture("one", &["--faults"]).stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    let family = gateway.children();
    for id in ["1", "2", "3"] {
        client.start(&format!("\"{id}\""), "tools/call", call("one:slow", json!({ "ms": 1500 }))).await;
    }
    gateway.journal("one").wait_for_executions("slow", 3).await;
    gateway.signal(Signal::INT);
    for id in ["\"1\"", "\"2\"", "\"3\""] {
        assert_eq!(client.reply_to(id).await["result"]["content"][0]["text"], "slept 1500 ms");
    }
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
}

#[tokio::test]
async fn f65_what_does_not_end_within_the_drain_is_given_up() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIMITS_DRAIN", "1s");
    let (mut gateway, client) = ready(builder, &["one"]).await;
    let family = gateway.children();
    let mut raw = Raw::open(gateway.address()).await;
    let session = format!("Mcp-Session-Id: {}\r\n", client.session().unwrap());
    let params = call("one.hang", json!({}));
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    raw.start_post("/mcp", &session, &body).await;
    gateway.journal("one").wait_for_executions("hang", 1).await;
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
    gateway.stderr_contains("given up").await;
}

#[tokio::test]
async fn f65_a_second_signal_ends_it_at_once_and_the_children_with_it() {
    let (mut gateway, client) = one(&["--faults", "--ignore-term", "--grandchild"]).await;
    let family = gateway.children();
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { client.start_call("one.hang", json!({})).await.status }
    });
    gateway.journal("one").wait_for_executions("hang", 1).await;
    gateway.signal(Signal::TERM);
    is_closed(&gateway).await;
    assert!(processes::alive(gateway.pid()), "it waits for what is in flight");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(1));
    processes::wait_gone(&family).await;
    hanging.abort();
}

#[tokio::test]
async fn f66_the_end_of_stdin_is_an_orderly_end() {
    let (mut gateway, client) =
        Gateway::builder().fixture("one", &["--faults", "--grandchild"]).stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    let family = gateway.children();
    client.start("\"last\"", "tools/call", call("one:slow", json!({ "ms": 800 }))).await;
    client.close_stdin().await;
    assert_eq!(client.reply_to("\"last\"").await["result"]["content"][0]["text"], "slept 800 ms");
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
}

#[tokio::test]
async fn f66_the_end_of_stdin_waits_no_longer_than_the_drain() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIMITS_DRAIN", "1s");
    let (mut gateway, client) = builder.stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    client.start("\"never\"", "tools/call", call("one:hang", json!({}))).await;
    gateway.journal("one").wait_for_executions("hang", 1).await;
    client.close_stdin().await;
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
}

#[tokio::test]
async fn f66_a_closed_stdout_is_an_orderly_end() {
    let (_keep, path) = {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("servers.json");
        std::fs::write(&path, r#"{"mcpServers":{}}"#).unwrap();
        (directory, path)
    };
    let mut command = tokio::process::Command::new(bin("portolan"));
    command.arg("--config").arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    let ended = tokio::time::timeout(portolan_testkit::DEADLINE, child.wait()).await;
    assert_eq!(ended.expect("it ends").unwrap().code(), Some(0));
}

#[tokio::test]
async fn f66_a_hangup_ends_the_stdio_form_in_order() {
    let (mut gateway, client) = Gateway::builder().fixture("one", &["--faults"]).stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    let family = gateway.children();
    client.start("\"last\"", "tools/call", call("one:slow", json!({ "ms": 800 }))).await;
    gateway.journal("one").wait_for_executions("slow", 1).await;
    gateway.signal(Signal::HUP);
    assert_eq!(client.reply_to("\"last\"").await["result"]["content"][0]["text"], "slept 800 ms");
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
}

#[tokio::test]
async fn an_idle_gateway_with_idle_clients_ends_at_once() {
    let (mut gateway, client) = one(&[]).await;
    let (_stream, _old) = (client.open_get_stream().await, SseClient::connect(&gateway.url_of("/sse")).await);
    let family = gateway.children();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
    assert!(!gateway.stderr().all().iter().any(|line| line.contains("given up")), "nothing was in flight");
}

#[tokio::test]
async fn an_address_in_use_is_a_failure_with_code_1() {
    let (gateway, _client) = one(&[]).await;
    let mut command = tokio::process::Command::new(bin("portolan"));
    command.args(["serve", "--listen", gateway.address()]).kill_on_drop(true);
    command.arg("--data").arg(gateway.directory().join("another"));
    let output = tokio::time::timeout(portolan_testkit::DEADLINE, command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot be listened on"), "{said}");
}

#[tokio::test]
async fn a_gateway_that_ends_while_servers_are_starting_leaves_nothing() {
    let builder = Gateway::builder()
        .fixture("slow", &["--start-delay-ms", "600000", "--grandchild"])
        .fixture("bad", &["--exit", "3"]);
    let mut gateway = builder.serve().await;
    let journal = gateway.journal("slow");
    until("its grandchild runs", || journal.events("grandchild").len() == 1).await;
    let family = gateway.children();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
}

#[tokio::test]
async fn f65_half_a_request_does_not_hold_up_the_end() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIMITS_DRAIN", "1h");
    let (mut gateway, client) = ready(builder, &["one"]).await;
    let mut half = Raw::open(gateway.address()).await;
    half.write(b"POST /mcp HTTP/1.1\r\nHost: local").await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("one.slow", json!({ "ms": 2500 })).await }
    });
    gateway.journal("one").wait_for_executions("slow", 1).await;
    gateway.signal(Signal::TERM);
    assert_eq!(slow.await.unwrap(), "slept 2500 ms", "a whole request is answered all the same");
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
}
