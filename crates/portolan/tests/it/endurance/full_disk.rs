//! The disk is full: nothing is taken that cannot be kept, and all else goes on.

use super::{all_connected, end, eventually};
use crate::kit::echoes;
use portolan_testkit::{Answer, Client, Gateway, HttpClient, Rest, Signal, processes};
use serde_json::{Value, json};
use std::fs;

fn draft(name: &str) -> Value {
    json!({ "name": name, "transport_type": "STDIO", "connection_config": { "command": "true" },
        "description": "d".repeat(1000), "auto_connect": false })
}

/// Refused because nothing can be stored, as a problem.
#[track_caller]
fn check_refused(answer: &Answer) {
    let code = if answer.status == 507 { "STORE_FULL" } else { "STORE_UNAVAILABLE" };
    assert!(matches!(answer.status, 503 | 507), "{answer:?}");
    answer.problem(answer.status, code);
}

async fn names(rest: &Rest) -> Vec<String> {
    let servers = super::servers(rest).await;
    servers.iter().map(|server| server["name"].as_str().unwrap().to_owned()).collect()
}

/// From here on no file of the gateway may grow, which is as good as a full disk.
fn fill_the_disk(gateway: &Gateway) {
    let log = fs::metadata(gateway.data().join("portolan.db-wal")).unwrap();
    processes::limit_file_size(gateway.pid(), Some(log.len()));
}

/// Whatever would change what is stored.
async fn check_writes(rest: &Rest) {
    check_refused(&rest.post("/aggregator/servers", draft("lost")).await);
    check_refused(&rest.patch("/aggregator/servers/kept-0", json!({ "description": "lost" })).await);
    check_refused(&rest.patch("/aggregator/servers/kept-0", json!({ "name": "lost" })).await);
    check_refused(&rest.delete("/aggregator/servers/kept-1").await);
    check_refused(&rest.post_nothing("/aggregator/servers/kept-1/connect").await);
    check_refused(&rest.patch("/aggregator/servers/one/tools/echo", json!({ "enabled": false })).await);
    check_refused(&rest.put("/secrets/LOST", json!({ "value": "lost" })).await);
    check_refused(&rest.delete("/secrets/KEPT").await);
}

/// Whatever changes nothing, and calls.
async fn check_the_rest(rest: &Rest, client: &HttpClient) {
    echoes(client, "one.echo").await;
    rest.post("/tools/call", json!({ "name": "one.echo", "arguments": {} })).await.json(200);
    assert_eq!(client.tool_names().await, ["one.echo"]);
    let tools = rest.get("/aggregator/tools").await.json(200);
    assert_eq!((&tools[0]["name"], &tools[0]["enabled"]), (&json!("one.echo"), &json!(true)));
    assert_eq!(rest.get("/secrets").await.json(200)[0]["name"], "KEPT");
    let kept = rest.get("/aggregator/servers/kept-0").await.json(200);
    assert_eq!(kept["description"], "d".repeat(1000));
    rest.get("/aggregator/servers/lost").await.problem(404, "SERVER_NOT_FOUND");
    rest.get("/aggregator/servers/one/history").await.json(200);
}

/// How often a server was connected, by its stored history.
async fn connections(rest: &Rest, server: &str) -> usize {
    let history = rest.get(&format!("/aggregator/servers/{server}/history")).await.json(200);
    history.as_array().unwrap().iter().filter(|turn| turn["event_type"] == "CONNECTED").count()
}

#[tokio::test]
async fn f55_a_full_disk_refuses_writes_while_reads_and_calls_go_on_and_loses_nothing() {
    let builder = Gateway::builder().fixture("one", &["--only", "echo"]);
    let mut gateway = builder.serve().await;
    let (rest, client) = (gateway.rest(), gateway.connect().await);
    all_connected(&rest, &["one".to_owned()]).await;
    for name in ["kept-0", "kept-1"] {
        rest.post("/aggregator/servers", draft(name)).await.json(201);
    }
    rest.put("/secrets/KEPT", json!({ "value": "kept" })).await.empty(204);
    let before = rest.get("/aggregator/servers/kept-0").await.json(200);

    fill_the_disk(&gateway);
    check_writes(&rest).await;
    check_the_rest(&rest, &client).await;
    // What happens by itself cannot be stored either, and happens all the same.
    for child in gateway.fixtures() {
        processes::signal(child, Signal::KILL);
    }
    gateway.journal("one").wait_for("a second start", |journal| journal.starts() == 2).await;
    check_the_rest(&rest, &client).await;
    assert_eq!(names(&rest).await, ["kept-0", "kept-1", "one"]);

    processes::limit_file_size(gateway.pid(), None);
    rest.post("/aggregator/servers", draft("late")).await.json(201);
    eventually("what has happened meanwhile is stored", async || connections(&rest, "one").await == 2).await;
    fill_the_disk(&gateway);
    check_writes(&rest).await;
    let family = gateway.children();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0), "a full disk is no reason to end badly");
    processes::wait_gone(&family).await;

    let next = gateway.another();
    drop(gateway);
    let gateway = next.serve().await;
    let (rest, client) = (gateway.rest(), gateway.connect().await);
    assert_eq!(names(&rest).await, ["kept-0", "kept-1", "late", "one"]);
    assert_eq!(rest.get("/aggregator/servers/kept-0").await.json(200), before);
    all_connected(&rest, &["one".to_owned()]).await;
    check_the_rest(&rest, &client).await;
    eventually("the third connection is stored", async || connections(&rest, "one").await == 3).await;
    end(gateway).await;
}

#[tokio::test]
async fn f55_what_could_not_be_removed_goes_on_and_what_came_meanwhile_is_stored_later() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let fixture = |name: &str| gateway.fixture_entry(name, &["--only", "echo"]);
    let entry = fixture("kept");
    let draft = json!({ "name": "kept", "transport_type": "STDIO",
        "connection_config": { "command": entry["command"], "args": entry["args"] } });
    rest.post("/aggregator/servers", draft).await.json(201);
    all_connected(&rest, &["kept".to_owned()]).await;
    eventually("its tool is stored", async || tool_ids(&rest, "kept").await.len() == 1).await;

    fill_the_disk(&gateway);
    check_refused(&rest.delete("/aggregator/servers/kept").await);
    gateway.rewrite_config(&json!({ "mcpServers": { "new": fixture("new") } }));
    eventually("the new one is there", async || names(&rest).await == ["kept", "new"]).await;
    all_connected(&rest, &["kept".to_owned(), "new".to_owned()]).await;
    let id = rest.get("/aggregator/servers/new").await.json(200)["id"].clone();

    processes::limit_file_size(gateway.pid(), None);
    let other = json!({ "command": "true", "disabled": true });
    gateway.rewrite_config(&json!({ "mcpServers": { "new": fixture("new"), "other": other } }));
    eventually("its tool is stored", async || tool_ids(&rest, "new").await.len() == 1).await;
    assert_eq!(rest.get("/aggregator/servers/new").await.json(200)["id"], id);
    end(gateway).await;
}

async fn tool_ids(rest: &Rest, server: &str) -> Vec<String> {
    let tools = rest.get(&format!("/aggregator/servers/{server}/tools")).await.json(200);
    tools.as_array().unwrap().iter().map(|tool| tool["id"].to_string()).collect()
}
