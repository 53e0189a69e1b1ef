//! BR-003, BR-004, BR-009: what a server offers is discovered, named after it, stored and shown.

use super::registration::is_moment;
use super::{call, call_text, connected, eventually, one, registered, server, stdio, tool, tools, with};
use portolan_testkit::{Client, Gateway, Rest};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The ids of a server's tools, by their own names.
async fn ids(rest: &Rest, key: &str) -> HashMap<String, String> {
    let all = tools(rest, key).await;
    all.iter().map(|tool| (text(&tool["original_name"]), text(&tool["id"]))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

#[tokio::test]
async fn br_003_each_tool_is_stored_under_its_servers_name_with_every_field() {
    let (_gateway, rest) = one(&["--only", "echo,test_sampling"]).await;
    let answer = rest.get("/aggregator/servers/one/tools").await;
    assert_eq!(answer.header("x-total-count"), Some("2"));
    let shown = answer.json(200);
    assert_eq!(shown.as_array().unwrap().len(), 2);
    // In the order of the server's own list.
    let echo = &shown[1];
    let id = server(&rest, "one").await["id"].clone();
    for (field, value) in [
        ("name", json!("one.echo")),
        ("original_name", json!("echo")),
        ("description", json!("Returns its arguments as JSON text")),
        ("input_schema", json!({ "type": "object", "additionalProperties": true })),
        ("server_id", id),
        ("server_name", json!("one")),
        ("enabled", json!(true)),
        ("available", json!(true)),
        ("changed_at", Value::Null),
    ] {
        assert_eq!(echo[field], value, "{field} in {echo}");
    }
    assert!(!text(&echo["id"]).is_empty() && !text(&echo["fingerprint"]).is_empty(), "{echo}");
    is_moment(&echo["first_seen_at"]);
    assert_eq!(shown[0]["input_schema"]["required"], json!(["prompt"]));
    assert_eq!(rest.get("/aggregator/tools").await.json(200), shown, "all tools are those of one server");
    let id = text(&server(&rest, "one").await["id"]);
    assert_eq!(rest.get(&format!("/aggregator/servers/{id}/tools")).await.json(200), shown);
}

#[tokio::test]
async fn br_004_ec_009_tools_are_there_at_once_and_wait_for_no_classification() {
    let (_gateway, rest) = one(&["--tools", "60"]).await;
    let all = tools(&rest, "one").await;
    assert_eq!(all.len(), 60);
    for tool in &all {
        assert_eq!(tool["is_classified"], false, "{tool}");
        assert_eq!((&tool["skill_ids"], &tool["primary_skill_id"]), (&json!([]), &Value::Null));
        assert_eq!(tool["available"], true, "unclassified tools can be used");
    }
    let state = rest.get("/aggregator/state").await.json(200);
    assert_eq!((&state["classified_tools"], &state["unclassified_tools"]), (&json!(0), &json!(60)));
    call(&rest, "one.tool_0059", json!({ "query": "q" })).await.json(200);
}

#[tokio::test]
async fn br_003_a_server_without_tools_is_connected_with_none_and_warned_of() {
    let (gateway, rest) = one(&["--only", "nothing"]).await;
    let shown = server(&rest, "one").await;
    assert_eq!((&shown["status"], &shown["tool_count"]), (&json!("CONNECTED"), &json!(0)));
    assert_eq!(tools(&rest, "one").await, Vec::<Value>::new());
    let warned = |line: &String| line.contains("WARN") && line.contains("no tools") && line.contains("one");
    gateway.stderr().wait_for("a warning", warned).await;
}

#[tokio::test]
async fn br_003_a_tool_that_is_listed_twice_is_one_and_the_last_wins() {
    let (_gateway, rest) = one(&["--only", "twin", "--duplicate-tools"]).await;
    let all = tools(&rest, "one").await;
    assert_eq!((all.len(), server(&rest, "one").await["tool_count"].as_u64()), (1, Some(1)), "{all:?}");
    assert_eq!(all[0]["description"], "the second of two");
}

#[tokio::test]
async fn br_003_only_the_difference_is_applied_when_tools_change() {
    let (_gateway, rest) = one(&["--faults"]).await;
    let events = rest.events(None).await;
    let before = ids(&rest, "one").await;
    let count = server(&rest, "one").await["tool_count"].as_u64().unwrap();
    let change = json!({ "add": ["new_one", "new_two"], "remove": ["echo"] });
    call_text(&rest, "one.change_tools", change).await;
    let told = events.wait_for_event("tools.changed").await;
    let told: Value = serde_json::from_str(&told.data).unwrap();
    assert_eq!((&told["added"], &told["changed"], &told["removed"]), (&json!(2), &json!(0), &json!(1)));
    assert_eq!((&told["tool_count"], &told["server_name"]), (&json!(count + 1), &json!("one")));
    let mut after = ids(&rest, "one").await;
    assert_eq!(server(&rest, "one").await["tool_count"], count + 1);
    for new in ["new_one", "new_two"] {
        let id = after.remove(new).unwrap();
        assert!(!before.values().any(|old| *old == id));
    }
    let mut unchanged = before.clone();
    unchanged.remove("echo");
    assert_eq!(after, unchanged, "the others keep their ids");
    call(&rest, "one.echo", json!({})).await.problem(404, "TOOL_NOT_FOUND");
    assert_eq!(call_text(&rest, "one.new_one", json!({})).await, r#"{"arguments":{},"name":"new_one"}"#);
}

#[tokio::test]
async fn a_refresh_is_202_and_asks_the_server_again() {
    let (_gateway, rest) = one(&["--changing-tools"]).await;
    let before = ids(&rest, "one").await;
    let answer = rest.post_nothing("/aggregator/servers/one/tools/refresh").await.json(202);
    assert_eq!(answer, json!({ "status": "CONNECTED", "message": "Tool discovery initiated" }));
    let after = eventually("the list is another", async || {
        Some(ids(&rest, "one").await).filter(|now| *now != before)
    })
    .await;
    assert_eq!(after["echo"], before["echo"]);
    assert!(before.contains_key("generation_0") && !after.contains_key("generation_0"), "{after:?}");
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    let answer = rest.post_nothing("/aggregator/servers/one/tools/refresh").await;
    let problem = answer.problem(409, "SERVER_NOT_CONNECTED");
    assert_eq!((&problem["server"], &problem["server_status"]), (&json!("one"), &json!("DISCONNECTED")));
}

#[tokio::test]
async fn br_009_the_same_tool_of_two_servers_is_two_tools() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for name in ["a-server", "b-server"] {
        connected(&rest, stdio(&gateway, name, &["--only", "echo"])).await;
    }
    let all = rest.get("/aggregator/tools").await.json(200);
    let shown: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (text(&tool["name"]), text(&tool["server_name"])))
        .collect();
    let expected = ["a-server", "b-server"].map(|server| (format!("{server}.echo"), server.to_owned()));
    assert_eq!(shown, expected);
    assert_ne!(all[0]["id"], all[1]["id"]);
    assert_ne!(all[0]["server_id"], all[1]["server_id"]);
    for name in ["a-server", "b-server"] {
        call_text(&rest, &format!("{name}.echo"), json!({ "for": name })).await;
        let calls = gateway.journal(name).calls("echo");
        assert_eq!((calls.len(), &calls[0]["params"]["arguments"]["for"]), (1, &json!(name)));
    }
    let client = gateway.connect().await;
    assert_eq!(client.tool_names().await, ["a-server.echo", "b-server.echo"]);
}

#[tokio::test]
async fn ec_002_only_the_first_dot_separates() {
    let (_gateway, rest) = one(&["--faults", "--odd-names"]).await;
    let shown = tool(&rest, "one", "with.dots.inside").await;
    assert_eq!(shown["name"], "one.with.dots.inside");
    for name in ["one.with.dots.inside", "one:with.dots.inside", "with.dots.inside"] {
        let said = call_text(&rest, name, json!({ "n": 1 })).await;
        assert_eq!(said, r#"{"arguments":{"n":1},"name":"with.dots.inside"}"#, "{name}");
    }
    for odd in [
        "with:colons:inside",
        "with spaces inside",
        "with/slashes/inside",
        "with🦀emoji",
        "ünïcödé",
        "UPPER",
        "upper",
    ] {
        let said = call_text(&rest, &format!("one.{odd}"), json!({})).await;
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["name"], odd);
    }
}

#[tokio::test]
async fn ec_006_a_server_with_many_tools_is_discovered_listed_and_paged_through() {
    let (gateway, rest) = one(&["--tools", "650", "--pages", "100"]).await;
    let shown = server(&rest, "one").await;
    assert_eq!(shown["tool_count"], 650);
    let mut seen = Vec::new();
    for offset in [0, 300, 600, 900] {
        let answer = rest.get(&format!("/aggregator/servers/one/tools?limit=300&offset={offset}")).await;
        assert_eq!(answer.header("x-total-count"), Some("650"));
        seen.extend(answer.json(200).as_array().unwrap().iter().map(|tool| text(&tool["original_name"])));
    }
    let expected: Vec<String> = (0..650).map(|number| format!("tool_{number:04}")).collect();
    assert_eq!(seen, expected);
    let default = rest.get("/aggregator/tools").await.json(200);
    assert_eq!(default.as_array().unwrap().len(), 100, "a page unless somebody says else");
    assert_eq!(gateway.connect().await.tool_names().await.len(), 650);
    call(&rest, "one.tool_0649", json!({ "query": "q" })).await.json(200);
}

#[tokio::test]
async fn patterns_say_which_tools_are_offered() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let patterns = json!({ "allow": ["tool_000?"], "deny": ["*5"] });
    let draft = with(stdio(&gateway, "one", &["--tools", "20"]), json!({ "tools": patterns }));
    connected(&rest, draft.clone()).await;
    assert_eq!(tools(&rest, "one").await.len(), 9);
    call(&rest, "one.tool_0005", json!({})).await.problem(404, "TOOL_NOT_FOUND");
    call(&rest, "one.tool_0010", json!({})).await.problem(404, "TOOL_NOT_FOUND");
    rest.patch("/aggregator/servers/one", json!({ "tools": { "deny": [] } })).await.json(200);
    rest.post_nothing("/aggregator/servers/one/connect?wait=true").await.json(200);
    assert_eq!(tools(&rest, "one").await.len(), 20);
    let wrong = with(draft, json!({ "name": "two", "tools": { "alow": [] } }));
    let answer = rest.post("/aggregator/servers", wrong).await;
    assert_eq!(answer.wrong_fields(), ["body.tools.alow"]);
    registered(&rest, with(stdio(&gateway, "two", &[]), json!({ "tools": null }))).await;
}
