//! Servers of the configuration file beside the registered ones: watched like them, and changed only in the file.

use super::{call, call_text, connected, eventually, in_state, server, stdio, tool, tools, turns};
use crate::kit::until;
use portolan_testkit::{Client, Gateway, GatewayBuilder, Rest};
use serde_json::{Value, json};

fn written() -> GatewayBuilder {
    Gateway::builder().fixture("written", &["--only", "echo"])
}

async fn serving(builder: GatewayBuilder) -> (Gateway, Rest) {
    let gateway = builder.serve().await;
    let rest = gateway.rest();
    in_state(&rest, "written", "CONNECTED").await;
    (gateway, rest)
}

#[tokio::test]
async fn a_server_of_the_file_is_shown_and_cannot_be_changed_or_removed_here() {
    let mut builder = written();
    let mut entry = json!({ "command": "true", "disabled": true });
    entry["portolan"] = json!({ "description": "x" });
    builder = builder.server("disabled", entry);
    let (_gateway, rest) = serving(builder).await;
    let shown = server(&rest, "written").await;
    assert_eq!((&shown["source"], &shown["transport_type"]), (&json!("FILE"), &json!("STDIO")));
    assert_eq!((&shown["auto_connect"], &shown["tool_count"]), (&json!(true), &json!(1)));
    let servers = rest.get("/aggregator/servers").await.json(200);
    assert_eq!(servers.as_array().unwrap().len(), 1, "one that is disabled is none: {servers}");
    let id = shown["id"].as_str().unwrap();
    for key in ["written", id] {
        let path = format!("/aggregator/servers/{key}");
        for answer in [
            rest.patch(&path, json!({ "name": "other" })).await,
            rest.patch(&path, json!({ "description": "x" })).await,
            rest.delete(&path).await,
            rest.delete(&format!("{path}?force=true")).await,
        ] {
            let problem = answer.problem(409, "SERVER_IN_FILE");
            assert!(problem["detail"].as_str().unwrap().contains("configuration file"), "{problem}");
        }
    }
    assert_eq!(server(&rest, "written").await, shown, "nothing has happened to it");
    assert_eq!(call_text(&rest, "written.echo", json!({})).await, "{}");
}

#[tokio::test]
async fn a_server_of_the_file_is_connected_disconnected_and_refreshed_like_any_other() {
    let (gateway, rest) = serving(written()).await;
    let before = tool(&rest, "written", "echo").await;
    rest.post_nothing("/aggregator/servers/written/disconnect").await.json(200);
    assert_eq!(server(&rest, "written").await["status"], "DISCONNECTED");
    call(&rest, "written.echo", json!({})).await.problem(503, "SERVER_UNAVAILABLE");
    // The wish outlives the process, and a reload that does not concern it.
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    let mut config: Value =
        serde_json::from_str(&std::fs::read_to_string(gateway.config_path()).unwrap()).unwrap();
    config["mcpServers"]["more"] = gateway.fixture_entry("more", &[]);
    gateway.rewrite_config(&config);
    eventually("the new one is there", async || {
        (rest.get("/aggregator/servers/more").await.status == 200).then_some(())
    })
    .await;
    in_state(&rest, "more", "CONNECTED").await;
    assert_eq!(server(&rest, "written").await["status"], "DISCONNECTED");
    assert_eq!(gateway.journal("written").starts(), 1);
    rest.post_nothing("/aggregator/servers/written/connect?wait=true").await.json(200);
    assert_eq!(tool(&rest, "written", "echo").await, before);
    rest.post_nothing("/aggregator/servers/written/tools/refresh").await.json(202);
    rest.post_nothing("/aggregator/servers/written/reconnect?wait=true").await.json(200);
    assert_eq!(gateway.journal("written").starts(), 3);
}

#[tokio::test]
async fn ids_histories_and_settings_survive_a_restart_and_a_reload() {
    let (gateway, rest) = serving(Gateway::builder().fixture("written", &["--tools", "2"])).await;
    let place = "/aggregator/servers/written/tools/tool_0000";
    rest.patch(place, json!({ "enabled": false, "description": "ours" })).await.json(200);
    let (before, tools_before) = (server(&rest, "written").await, tools(&rest, "written").await);
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    let after = in_state(&rest, "written", "CONNECTED").await;
    assert_eq!((&after["id"], &after["registered_at"]), (&before["id"], &before["registered_at"]));
    assert_eq!(tools(&rest, "written").await, tools_before);
    assert_eq!(gateway.connect().await.tool_names().await, ["written.tool_0001"]);
    // Another way to reach it is no other server.
    let entry = gateway.fixture_entry("written", &["--tools", "3"]);
    gateway.rewrite_config(&json!({ "mcpServers": { "written": entry } }));
    eventually("the change is applied", async || (tools(&rest, "written").await.len() == 3).then_some(()))
        .await;
    let after = server(&rest, "written").await;
    assert_eq!(after["id"], before["id"]);
    let now = tools(&rest, "written").await;
    assert_eq!(now[..2], tools_before);
    let turns = turns(&rest, "written").await;
    assert!(turns.len() >= 5 && turns[..2] == ["CONNECTING", "CONNECTED"], "{turns:?}");
}

#[tokio::test]
async fn a_server_that_leaves_the_file_is_gone_with_all_that_belonged_to_it() {
    let (gateway, rest) = serving(written()).await;
    let before = server(&rest, "written").await;
    let entry = gateway.fixture_entry("written", &["--only", "echo"]);
    gateway.rewrite_config(&json!({ "mcpServers": {} }));
    eventually("it is gone", async || {
        (rest.get("/aggregator/servers/written").await.status == 404).then_some(())
    })
    .await;
    until("its process is gone", || gateway.fixtures().is_empty()).await;
    assert_eq!(rest.get("/aggregator/tools").await.json(200), json!([]));
    gateway.rewrite_config(&json!({ "mcpServers": { "written": entry } }));
    eventually("it is back", async || {
        (rest.get("/aggregator/servers/written").await.status == 200).then_some(())
    })
    .await;
    let after = in_state(&rest, "written", "CONNECTED").await;
    assert_ne!(after["id"], before["id"], "a new one of an old name");
    assert_eq!(turns(&rest, "written").await, ["CONNECTING", "CONNECTED"]);
}

#[tokio::test]
async fn a_server_of_the_file_with_the_name_of_a_registered_one_is_left_out_with_a_warning() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let registered = connected(&rest, stdio(&gateway, "written", &["--tools", "1"])).await;
    let entry = gateway.fixture_entry("from-file", &["--tools", "2"]);
    gateway.rewrite_config(
        &json!({ "mcpServers": { "written": entry, "other": gateway.fixture_entry("other", &[]) } }),
    );
    let warned =
        |line: &String| line.contains("WARN") && line.contains("written") && line.contains("left out");
    gateway.stderr().wait_for("a warning", warned).await;
    eventually("the rest of the file is applied", async || {
        (rest.get("/aggregator/servers/other").await.status == 200).then_some(())
    })
    .await;
    let shown = server(&rest, "written").await;
    assert_eq!((&shown["id"], &shown["source"]), (&registered["id"], &json!("REGISTERED")));
    assert_eq!(
        (&shown["status"], &shown["connected_at"]),
        (&json!("CONNECTED"), &registered["connected_at"])
    );
    assert_eq!(tools(&rest, "written").await.len(), 1);
    // The same after a start.
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    gateway.stderr().wait_for("a warning", warned).await;
    let shown = in_state(&rest, "written", "CONNECTED").await;
    assert_eq!((&shown["id"], &shown["source"]), (&registered["id"], &json!("REGISTERED")));
    assert_eq!(gateway.journal("from-file").starts(), 0);
    // Once the name is free it is the file's.
    rest.delete("/aggregator/servers/written").await.empty(204);
    eventually("the one of the file is there", async || {
        (rest.get("/aggregator/servers/written").await.status == 200).then_some(())
    })
    .await;
    assert_eq!(in_state(&rest, "written", "CONNECTED").await["source"], "FILE");
    assert_eq!(tools(&rest, "written").await.len(), 2);
}

#[tokio::test]
async fn only_the_file_reads_the_environment_and_what_it_reads_is_not_shown() {
    let builder = Gateway::builder().env("LAB_COLOUR", "ochre-7f3a");
    let mut entry = written_entry(&builder);
    entry["env"] = json!({ "COLOUR": "${LAB_COLOUR}", "PLAIN": "plain-9c1d" });
    let (_gateway, rest) = serving(builder.server("written", entry)).await;
    let env: Value = serde_json::from_str(&call_text(&rest, "written.env", json!({})).await).unwrap();
    assert_eq!((&env["COLOUR"], &env["PLAIN"]), (&json!("ochre-7f3a"), &json!("plain-9c1d")));
    let answer = rest.get("/aggregator/servers/written").await;
    assert!(!answer.body.contains("ochre-7f3a") && !answer.body.contains("plain-9c1d"), "{}", answer.body);
    let shown = answer.json(200);
    assert_eq!(shown["connection_config"]["env"], json!({ "COLOUR": "${LAB_COLOUR}", "PLAIN": "***" }));
}

fn written_entry(builder: &GatewayBuilder) -> Value {
    let journal = builder.directory().join("written.journal");
    let arguments = ["--journal", journal.to_str().unwrap(), "--faults"];
    json!({ "command": portolan_testkit::bin("portolan-fixture"), "args": arguments })
}
