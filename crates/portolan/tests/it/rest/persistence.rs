//! What outlives the process: servers and wishes, tools and their ids, what people set, and every answer of 201.

use super::{
    call, call_text, calling, connected, eventually, in_state, one, registered, server, stdio, tool, tools,
    turns, with,
};
use portolan_testkit::{Client, Fixture, Gateway, HttpClient};
use serde_json::{Value, json};
use std::path::Path;

/// What of a server does not change with a restart.
fn kept(server: &Value) -> Value {
    let mut kept = server.clone();
    for moving in ["status", "connected_at", "last_health_check", "error_message"] {
        kept.as_object_mut().unwrap().remove(moving);
    }
    kept
}

#[tokio::test]
async fn servers_of_every_transport_are_there_again_and_connect_by_themselves() {
    let (web, old) = (Fixture::http(&[]).await, Fixture::sse(&[]).await);
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let fields = json!({
        "description": "ünïcödé \u{1f980}", "timeout": 2.5, "health_check_url": "http://127.0.0.1:9/health",
        "tools": { "allow": ["e*"], "deny": ["x"] },
    });
    let mut before = Vec::new();
    for draft in [stdio(&gateway, "program", &[]), super::http("web", &web), super::sse("old", &old)] {
        before.push(connected(&rest, with(draft, fields.clone())).await);
    }
    let mut ids = Vec::new();
    for server in &before {
        ids.push(tools(&rest, server["name"].as_str().unwrap()).await);
    }
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    for (server, tools_before) in before.iter().zip(&ids) {
        let name = server["name"].as_str().unwrap();
        let after = in_state(&rest, name, "CONNECTED").await;
        assert_eq!(kept(&after), kept(server));
        assert_eq!(tools(&rest, name).await, *tools_before, "the same tools with the same ids");
        assert_eq!(call_text(&rest, &format!("{name}.echo"), json!({ "a": 1 })).await, r#"{"a":1}"#);
        let turns = turns(&rest, name).await;
        assert_eq!(turns[..2], ["CONNECTING", "CONNECTED"]);
        assert_eq!(turns[turns.len() - 2..], ["CONNECTING", "CONNECTED"], "the history goes on: {turns:?}");
        assert!(turns.len() >= 4);
    }
}

#[tokio::test]
async fn a_wish_is_kept_a_disconnected_server_stays_so_and_a_connected_one_comes_back() {
    let (gateway, rest) = one(&["--only", "echo"]).await;
    connected(&rest, stdio(&gateway, "two", &["--only", "echo"])).await;
    registered(&rest, with(stdio(&gateway, "three", &[]), json!({ "auto_connect": false }))).await;
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    let before = tool(&rest, "one", "echo").await;
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    in_state(&rest, "two", "CONNECTED").await;
    for name in ["one", "three"] {
        let shown = server(&rest, name).await;
        assert_eq!((&shown["status"], &shown["auto_connect"]), (&json!("DISCONNECTED"), &json!(false)));
    }
    assert_eq!((gateway.journal("one").starts(), gateway.journal("three").starts()), (1, 0));
    assert_eq!(tool(&rest, "one", "echo").await, before, "stored, and not available");
    assert_eq!(gateway.connect().await.tool_names().await, ["two.echo"]);
    call(&rest, "one.echo", json!({})).await.problem(503, "SERVER_UNAVAILABLE");
    rest.post_nothing("/aggregator/servers/one/connect?wait=true").await.json(200);
    call(&rest, "one.echo", json!({})).await.json(200);
    let gateway = gateway.restart().await;
    in_state(&gateway.rest(), "one", "CONNECTED").await;
}

#[tokio::test]
async fn what_people_set_for_tools_and_names_is_kept() {
    let (gateway, rest) = one(&["--tools", "3"]).await;
    let places = ["tool_0000", "tool_0001"].map(|tool| format!("/aggregator/servers/one/tools/{tool}"));
    rest.patch(&places[0], json!({ "enabled": false })).await.json(200);
    rest.patch(&places[1], json!({ "description": "ours" })).await.json(200);
    rest.patch("/aggregator/servers/one", json!({ "name": "two" })).await.json(200);
    in_state(&rest, "two", "CONNECTED").await;
    let (before, tools_before) = (server(&rest, "two").await, tools(&rest, "two").await);
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    rest.get("/aggregator/servers/one").await.problem(404, "SERVER_NOT_FOUND");
    let after = in_state(&rest, "two", "CONNECTED").await;
    assert_eq!(after["id"], before["id"]);
    assert_eq!(tools(&rest, "two").await, tools_before);
    let listed = gateway.connect().await.tools().await;
    let shown: Vec<_> =
        listed.iter().map(|tool| (tool["name"].as_str().unwrap(), &tool["description"])).collect();
    assert_eq!(shown[0], ("two.tool_0001", &json!("ours")));
    assert_eq!((shown.len(), shown[1].0), (2, "two.tool_0002"));
    call(&rest, "two.tool_0000", json!({})).await.problem(404, "TOOL_NOT_FOUND");
}

fn starting(gateway: &Gateway, go: &Path) -> Value {
    stdio(gateway, "slow", &["--start-when", go.to_str().unwrap(), "--only", "echo"])
}

#[tokio::test]
async fn a_server_that_is_slow_to_start_is_listed_from_what_is_stored_and_a_call_to_it_waits() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let go = gateway.directory().join("go");
    std::fs::write(&go, "").unwrap();
    connected(&rest, starting(&gateway, &go)).await;
    let before = tool(&rest, "slow", "echo").await;
    std::fs::remove_file(&go).unwrap();
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    let client = HttpClient::connect(&gateway.url()).await;
    assert_eq!(client.tool_names().await, ["slow.echo"], "at once, from what is stored");
    let shown = server(&rest, "slow").await;
    assert_eq!((&shown["status"], &shown["tool_count"]), (&json!("CONNECTING"), &json!(1)));
    assert_eq!(tool(&rest, "slow", "echo").await, with(before, json!({ "available": false })));
    let waiting = calling(&rest, "slow.echo", json!({ "a": 1 }));
    let also_waiting = tokio::spawn(async move { client.call_text("slow.echo", json!({ "a": 2 })).await });
    gateway.journal("slow").wait_for("its second start", |journal| journal.starts() == 2).await;
    assert!(!waiting.is_finished() && !also_waiting.is_finished());
    std::fs::write(&go, "").unwrap();
    assert_eq!(waiting.await.unwrap().json(200)["content"][0]["text"], r#"{"a":1}"#);
    assert_eq!(also_waiting.await.unwrap(), r#"{"a":2}"#);
    in_state(&rest, "slow", "CONNECTED").await;
}

#[tokio::test]
async fn f54_every_registration_that_was_answered_survives_a_kill() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let registering: Vec<_> = (0..4)
        .map(|writer| {
            let rest = rest.clone();
            tokio::spawn(async move {
                let mut done = Vec::new();
                for number in 0..10 {
                    let draft = json!({
                        "name": format!("s{writer}-{number}"), "transport_type": "HTTP", "auto_connect": false,
                        "connection_config": { "base_url": "http://127.0.0.1:9/mcp" },
                    });
                    done.push(registered(&rest, draft).await);
                }
                done
            })
        })
        .collect();
    let mut answered = Vec::new();
    for done in registering {
        answered.extend(done.await.unwrap());
    }
    // In the middle of one more.
    let last = tokio::spawn({
        let rest = rest.clone();
        async move { rest.delete("/aggregator/servers/s0-0").await.status }
    });
    let gateway = gateway.kill_and_restart().await;
    last.abort();
    let rest = gateway.rest();
    let servers = rest.get("/aggregator/servers?limit=1000").await.json(200);
    let there = |server: &Value| servers.as_array().unwrap().iter().any(|now| now["id"] == server["id"]);
    for server in answered.iter().filter(|server| server["name"] != "s0-0") {
        assert!(there(server), "{server} was answered with 201 and is lost");
    }
    assert_eq!(rest.page("/readyz").await.status, 200);
}

#[tokio::test]
async fn after_a_kill_no_process_is_left_and_none_is_there_twice() {
    let (gateway, rest) = one(&["--grandchild"]).await;
    let family = gateway.children();
    drop(rest);
    let gateway = gateway.kill_and_restart().await;
    portolan_testkit::processes::wait_gone(&family).await;
    in_state(&gateway.rest(), "one", "CONNECTED").await;
    eventually("one server and its child run", async || (gateway.fixtures().len() == 2).then_some(())).await;
}
