//! EC-008: a server gets another name, everywhere at once, and keeps all else.

use super::{
    Gate, call, call_text, calling, connected, eventually, in_state, one, registered, server, stdio, tool,
    tools, turns, with,
};
use portolan_testkit::{Client, HttpClient, Rest};
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn rename(rest: &Rest, from: &str, to: &str) -> Value {
    rest.patch(&format!("/aggregator/servers/{from}"), json!({ "name": to })).await.json(200)
}

/// What of a server's tools does not hang on its name.
fn kept(tools: &[Value]) -> BTreeSet<String> {
    let fields = ["id", "original_name", "description", "enabled", "first_seen_at", "fingerprint"];
    tools.iter().map(|tool| format!("{:?}", fields.map(|field| &tool[field]))).collect()
}

#[tokio::test]
async fn ec_008_a_rename_changes_every_name_at_once_and_keeps_ids_history_and_settings() {
    let (gateway, rest) = one(&["--faults"]).await;
    let client = gateway.connect().await;
    let listener = client.open_get_stream().await;
    for (name, patch) in [("pid", json!({ "enabled": false })), ("echo", json!({ "description": "ours" }))] {
        rest.patch(&format!("/aggregator/servers/one/tools/{name}"), patch).await.json(200);
    }
    let (before, old_tools, history) =
        (server(&rest, "one").await, tools(&rest, "one").await, turns(&rest, "one").await);
    let shown = rename(&rest, "one", "two").await;
    assert_eq!((&shown["id"], &shown["name"]), (&before["id"], &json!("two")));
    assert_eq!(shown["registered_at"], before["registered_at"]);
    listener.wait_for_method("notifications/tools/list_changed").await;
    rest.get("/aggregator/servers/one").await.problem(404, "SERVER_NOT_FOUND");
    assert_eq!(server(&rest, before["id"].as_str().unwrap()).await["name"], "two");
    let new_tools = tools(&rest, "two").await;
    assert_eq!(kept(&new_tools), kept(&old_tools));
    assert!(new_tools.iter().all(|tool| tool["name"].as_str().unwrap().starts_with("two.")));
    assert!(new_tools.iter().all(|tool| tool["server_name"] == "two"));
    in_state(&rest, "two", "CONNECTED").await;
    assert_eq!(call_text(&rest, "two.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    assert_eq!(client.call_text("two.echo", json!({ "b": 2 })).await, r#"{"b":2}"#);
    let names = client.tool_names().await;
    assert!(names.contains(&"two.echo".to_owned()) && !names.contains(&"two.pid".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("one.")), "{names:?}");
    for name in ["one.echo", "one:echo", "one__echo"] {
        call(&rest, name, json!({})).await.problem(404, "TOOL_NOT_FOUND");
    }
    let (old, new) = (HttpClient::new(&gateway.server_url("one")), gateway.connect_to("two").await);
    assert_eq!(old.initialize().await.status, 404);
    assert_eq!(new.call_text("echo", json!({ "c": 3 })).await, r#"{"c":3}"#);
    assert_eq!(tool(&rest, "two", "echo").await["description"], "ours");
    assert_eq!(turns(&rest, "two").await[..history.len()], history, "its past is still its own");
}

#[tokio::test]
async fn ec_008_a_call_under_the_old_name_ends_well_and_no_list_is_ever_torn() {
    let (gateway, rest) = one(&["--faults"]).await;
    let client = gateway.connect().await;
    let count = client.tool_names().await.len();
    let gate = Gate::new(&gateway, "gate");
    let slow = calling(&rest, "one.slow", gate.arguments());
    gateway.journal("one").wait_for_executions("slow", 1).await;
    let watching = tokio::spawn({
        let client = client.clone();
        async move {
            loop {
                let names = client.tool_names().await;
                let old = names.iter().filter(|name| name.starts_with("one.")).count();
                let new = names.iter().filter(|name| name.starts_with("two.")).count();
                assert!(old == 0 || new == 0, "two names at once: {names:?}");
                assert_eq!(old + new, count, "a torn list: {names:?}");
                if new > 0 {
                    return;
                }
            }
        }
    });
    rename(&rest, "one", "two").await;
    watching.await.unwrap();
    gate.open();
    assert_eq!(slow.await.unwrap().json(200)["content"][0]["text"], "slept 0 ms");
    assert_eq!(gateway.journal("one").executions("slow"), 1, "never sent again");
    in_state(&rest, "two", "CONNECTED").await;
    call(&rest, "two.echo", json!({})).await.json(200);
}

#[tokio::test]
async fn ec_008_a_name_that_is_taken_or_wrong_changes_nothing() {
    let (gateway, rest) = one(&[]).await;
    registered(&rest, with(stdio(&gateway, "two", &[]), json!({ "auto_connect": false }))).await;
    let before = server(&rest, "one").await;
    let answer = rest.patch("/aggregator/servers/one", json!({ "name": "two", "description": "x" })).await;
    let problem = answer.problem(409, "SERVER_ALREADY_EXISTS");
    assert_eq!(problem["detail"], "Server already exists: two");
    let answer = rest.patch("/aggregator/servers/one", json!({ "name": "Two", "description": "x" })).await;
    assert_eq!(answer.wrong_fields(), ["body.name"]);
    assert_eq!(server(&rest, "one").await, before);
    // Its own name is no other.
    assert_eq!(rename(&rest, "one", "one").await["id"], before["id"]);
    assert_eq!(gateway.journal("one").starts(), 1);
    // The old name is free for others.
    rename(&rest, "one", "three").await;
    let new = connected(&rest, stdio(&gateway, "one", &[])).await;
    assert_ne!(new["id"], before["id"]);
    assert_eq!(server(&rest, "three").await["id"], before["id"]);
}

#[tokio::test]
async fn a_change_of_words_does_not_touch_the_session_and_one_of_the_way_replaces_it() {
    let (gateway, rest) = one(&["--only", "echo"]).await;
    let before = server(&rest, "one").await;
    let shown = rest.patch("/aggregator/servers/one", json!({ "description": "the first" })).await.json(200);
    assert_eq!((&shown["description"], &shown["status"]), (&json!("the first"), &json!("CONNECTED")));
    assert_eq!(rest.patch("/aggregator/servers/one", json!({})).await.json(200)["description"], "the first");
    let shown = rest.patch("/aggregator/servers/one", json!({ "description": "" })).await.json(200);
    assert_eq!(shown["description"], Value::Null);
    assert_eq!((gateway.journal("one").starts(), &shown["connected_at"]), (1, &before["connected_at"]));
    let id = tool(&rest, "one", "echo").await["id"].clone();
    let config = stdio(&gateway, "one", &["--only", "echo,test_simple_text"])["connection_config"].clone();
    rest.patch("/aggregator/servers/one", json!({ "connection_config": config })).await.json(200);
    eventually("the new tool is there", async || (tools(&rest, "one").await.len() == 2).then_some(())).await;
    assert_eq!(tool(&rest, "one", "echo").await["id"], id);
    assert_eq!(gateway.journal("one").starts(), 2);
    let shown = rest.patch("/aggregator/servers/one", json!({ "auto_connect": false })).await.json(200);
    assert_eq!((&shown["auto_connect"], &shown["status"]), (&json!(false), &json!("DISCONNECTED")));
    rest.patch("/aggregator/servers/one", json!({ "auto_connect": true })).await.json(200);
    in_state(&rest, "one", "CONNECTED").await;
}
