//! BR-007: a server that is disconnected takes nothing new, lets what runs end or gives it up, and keeps its tools.

use super::{
    Gate, call, call_text, calling, connected, eventually, in_state, one, registered, server, stdio, tools,
    turns, with,
};
use crate::kit::until;
use portolan_testkit::{Answer, Client, Gateway, Rest, processes};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

fn disconnecting(rest: &Rest, body: Value) -> JoinHandle<Answer> {
    let rest = rest.clone();
    tokio::spawn(async move { rest.post("/aggregator/servers/one/disconnect", body).await })
}

/// Waits until new calls are refused; the refusal.
async fn refused(rest: &Rest) -> Value {
    let answer = eventually("new calls are refused", async || {
        Some(call(rest, "one.echo", json!({})).await).filter(|answer| answer.status != 200)
    });
    answer.await.problem(503, "SERVER_UNAVAILABLE")
}

#[tokio::test]
async fn br_007_a_drain_lets_a_slow_call_end_and_refuses_new_ones_at_once() {
    let (gateway, rest) = one(&["--faults"]).await;
    let client = gateway.connect().await;
    let gate = Gate::new(&gateway, "gate");
    let slow = calling(&rest, "one.slow", gate.arguments());
    let also_slow = tokio::spawn({
        let (client, arguments) = (client.clone(), gate.arguments());
        async move { client.call_text("one.slow", arguments).await }
    });
    gateway.journal("one").wait_for_executions("slow", 2).await;
    let disconnecting = disconnecting(&rest, json!({ "force": false }));
    let problem = refused(&rest).await;
    let before = gateway.journal("one").executions("echo");
    assert_eq!((&problem["server"], &problem["tool"]), (&json!("one"), &json!("one.echo")));
    assert_eq!(client.tool_names().await, Vec::<String>::new());
    let said = client.call("one.echo", json!({})).await;
    assert_eq!(said["isError"], true, "{said}");
    // The calls that ran before still run, and so it is not disconnected yet.
    assert!(!slow.is_finished() && !also_slow.is_finished() && !disconnecting.is_finished());
    gate.open();
    assert_eq!(slow.await.unwrap().json(200)["content"][0]["text"], "slept 0 ms");
    assert_eq!(also_slow.await.unwrap(), "slept 0 ms");
    let answer = disconnecting.await.unwrap().json(200);
    assert_eq!(answer, json!({ "status": "DISCONNECTED", "pending_requests": 0 }));
    assert_eq!(gateway.journal("one").executions("echo"), before, "nothing new reached it");
    until("its process is gone", || gateway.fixtures().is_empty()).await;
}

#[tokio::test]
async fn br_007_whoever_is_refused_during_a_drain_is_told_that_it_is_one() {
    let (gateway, rest) = one(&["--faults"]).await;
    let hanging = calling(&rest, "one.hang", json!({}));
    gateway.journal("one").wait_for_executions("hang", 1).await;
    let patient = disconnecting(&rest, json!({}));
    let problem = refused(&rest).await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("one") && detail.contains("being disconnected"), "{detail}");
    assert!(!patient.is_finished() && !hanging.is_finished());
}

#[tokio::test]
async fn br_007_force_gives_up_what_runs_and_says_so_to_whoever_called() {
    let (gateway, rest) = one(&["--faults"]).await;
    let client = gateway.connect().await;
    let hanging = calling(&rest, "one.hang", json!({}));
    let also_hanging = tokio::spawn(async move { client.call("one.hang", json!({})).await });
    gateway.journal("one").wait_for_executions("hang", 2).await;
    let answer = disconnecting(&rest, json!({ "force": true })).await.unwrap().json(200);
    assert_eq!(answer, json!({ "status": "DISCONNECTED", "pending_requests": 2 }));
    let problem = hanging.await.unwrap().problem(503, "SERVER_LOST");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("one") && detail.contains("disconnected"), "{detail}");
    assert_eq!((&problem["server"], &problem["tool"]), (&json!("one"), &json!("one.hang")));
    let error = also_hanging.await.unwrap();
    assert_eq!(error["isError"], true);
    assert!(error["content"][0]["text"].as_str().unwrap().contains("disconnected"), "{error}");
    until("its process is gone", || gateway.fixtures().is_empty()).await;
    assert_eq!(gateway.journal("one").executions("hang"), 2, "never sent again");
}

#[tokio::test]
async fn br_007_what_still_runs_at_the_end_of_the_drain_is_given_up_with_503() {
    let gateway = Gateway::builder().env("PORTOLAN_LIMITS_DRAIN", "300ms").serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", &["--faults"])).await;
    let hanging = calling(&rest, "one.hang", json!({}));
    gateway.journal("one").wait_for_executions("hang", 1).await;
    let answer = rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    assert_eq!(answer, json!({ "status": "DISCONNECTED", "pending_requests": 1 }));
    hanging.await.unwrap().problem(503, "SERVER_LOST");
}

#[tokio::test]
async fn br_007_whoever_cannot_wait_for_a_drain_any_longer_may_force_it() {
    let (gateway, rest) = one(&["--faults"]).await;
    let hanging = calling(&rest, "one.hang", json!({}));
    gateway.journal("one").wait_for_executions("hang", 1).await;
    let patient = disconnecting(&rest, json!({}));
    refused(&rest).await;
    assert!(!patient.is_finished());
    let answer = disconnecting(&rest, json!({ "force": true })).await.unwrap().json(200);
    assert_eq!(answer["status"], "DISCONNECTED");
    assert_eq!(patient.await.unwrap().json(200)["status"], "DISCONNECTED");
    hanging.await.unwrap().problem(503, "SERVER_LOST");
}

#[tokio::test]
async fn br_007_the_tools_stay_stored_are_not_offered_and_are_back_with_the_same_ids() {
    let (gateway, rest) = one(&["--tools", "3"]).await;
    let client = gateway.connect().await;
    let listener = client.open_get_stream().await;
    let before = tools(&rest, "one").await;
    assert!(before.iter().all(|tool| tool["available"] == true), "{before:?}");
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    let shown = server(&rest, "one").await;
    assert_eq!((&shown["status"], &shown["tool_count"]), (&json!("DISCONNECTED"), &json!(3)));
    assert_eq!((&shown["auto_connect"], &shown["error_message"]), (&json!(false), &Value::Null));
    let unavailable = |tool: &Value| with(tool.clone(), json!({ "available": false }));
    let expected: Vec<Value> = before.iter().map(unavailable).collect();
    assert_eq!(tools(&rest, "one").await, expected);
    assert_eq!(rest.get("/aggregator/tools").await.json(200), json!(expected));
    assert_eq!(rest.get("/aggregator/state").await.json(200)["disconnected_servers"], 1);
    listener.wait_for_method("notifications/tools/list_changed").await;
    assert_eq!(client.tool_names().await, Vec::<String>::new());
    for name in ["one.tool_0000", "one:tool_0000", "one__tool_0000"] {
        let problem = call(&rest, name, json!({})).await.problem(503, "SERVER_UNAVAILABLE");
        assert_eq!((&problem["server"], &problem["server_status"]), (&json!("one"), &json!("DISCONNECTED")));
    }
    rest.post_nothing("/aggregator/servers/one/connect?wait=true").await.json(200);
    assert_eq!(tools(&rest, "one").await, before);
    assert_eq!(client.tool_names().await, ["one.tool_0000", "one.tool_0001", "one.tool_0002"]);
    call(&rest, "one.tool_0000", json!({})).await.json(200);
    assert_eq!(
        turns(&rest, "one").await,
        ["CONNECTING", "CONNECTED", "DISCONNECTED", "CONNECTING", "CONNECTED"]
    );
}

#[tokio::test]
async fn br_007_a_disconnect_is_taken_with_and_without_a_body_in_any_state() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let never = gateway.directory().join("never");
    let draft = stdio(&gateway, "one", &["--start-when", never.to_str().unwrap()]);
    registered(&rest, draft).await;
    gateway.journal("one").wait_for("its start", |journal| journal.starts() == 1).await;
    let child = gateway.fixtures();
    let done = json!({ "status": "DISCONNECTED", "pending_requests": 0 });
    // It is connecting, and then it is disconnected already.
    for body in [json!({}), json!({}), json!({ "force": false }), json!({ "force": true })] {
        assert_eq!(disconnecting(&rest, body).await.unwrap().json(200), done);
    }
    assert_eq!(rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200), done);
    processes::wait_gone(&child).await;
    for (body, field) in [
        (json!({ "force": "yes" }), "body.force"),
        (json!({ "force": null }), "body.force"),
        (json!({ "forced": true }), "body.forced"),
    ] {
        assert_eq!(disconnecting(&rest, body).await.unwrap().wrong_fields(), [field]);
    }
    assert_eq!(server(&rest, "one").await["status"], "DISCONNECTED");
    assert_eq!(turns(&rest, "one").await, ["CONNECTING", "DISCONNECTED"]);
    assert_eq!(gateway.journal("one").starts(), 1);
}

#[tokio::test]
async fn br_007_a_server_that_is_wanted_again_while_it_drains_comes_back() {
    let (gateway, rest) = one(&["--faults"]).await;
    let gate = Gate::new(&gateway, "gate");
    let slow = calling(&rest, "one.slow", gate.arguments());
    gateway.journal("one").wait_for_executions("slow", 1).await;
    let disconnecting = disconnecting(&rest, json!({}));
    refused(&rest).await;
    let answer = rest.post_nothing("/aggregator/servers/one/connect").await.json(200);
    assert_eq!(answer["status"], "CONNECTING");
    gate.open();
    slow.await.unwrap().json(200);
    disconnecting.await.unwrap().json(200);
    gateway.journal("one").wait_for("a second start", |journal| journal.starts() == 2).await;
    in_state(&rest, "one", "CONNECTED").await;
    assert_eq!(call_text(&rest, "one.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    assert_eq!(server(&rest, "one").await["auto_connect"], true);
}
