//! Tools as people want them shown: switched off and on, and described in other words.

use super::{call, call_text, connected, one, stdio, tool};
use portolan_testkit::{Client, Rest};
use serde_json::{Value, json};

async fn curate(rest: &Rest, name: &str, patch: Value) -> Value {
    rest.patch(&format!("/aggregator/servers/one/tools/{name}"), patch).await.json(200)
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_neither_listed_nor_called_until_it_is_on_again() {
    let (gateway, rest) = one(&["--tools", "2"]).await;
    let client = gateway.connect().await;
    let listener = client.open_get_stream().await;
    let before = tool(&rest, "one", "tool_0000").await;
    let shown = curate(&rest, "tool_0000", json!({ "enabled": false })).await;
    assert_eq!((&shown["enabled"], &shown["available"]), (&json!(false), &json!(false)));
    assert_eq!((&shown["id"], &shown["name"]), (&before["id"], &before["name"]));
    listener.wait_for_method("notifications/tools/list_changed").await;
    assert_eq!(client.tool_names().await, ["one.tool_0001"]);
    for name in ["one.tool_0000", "one:tool_0000", "one__tool_0000", "tool_0000"] {
        call(&rest, name, json!({})).await.problem(404, "TOOL_NOT_FOUND");
        client.try_call(name, json!({})).await.unwrap_err();
    }
    // Nor is it by a new session, and nor on the server's own place.
    rest.post_nothing("/aggregator/servers/one/reconnect?wait=true").await.json(200);
    let alone = gateway.connect_to("one").await;
    assert_eq!(alone.tool_names().await, ["tool_0001"]);
    alone.try_call("tool_0000", json!({})).await.unwrap_err();
    assert_eq!(gateway.journal("one").executions("tool_0000"), 0);
    curate(&rest, "tool_0000", json!({ "enabled": true })).await;
    assert_eq!(tool(&rest, "one", "tool_0000").await, before);
    assert_eq!(client.tool_names().await, ["one.tool_0000", "one.tool_0001"]);
    call(&rest, "one.tool_0000", json!({})).await.json(200);
}

#[tokio::test]
async fn a_description_of_ours_is_shown_instead_of_the_servers_and_taken_back() {
    let (gateway, rest) = one(&["--only", "echo"]).await;
    let client = gateway.connect().await;
    let own = tool(&rest, "one", "echo").await["description"].clone();
    let ours = "Says \"it\" again\u{2014}ünlike others";
    let shown = curate(&rest, "echo", json!({ "description": ours })).await;
    assert_eq!(shown["description"], ours);
    assert_eq!(client.tools().await[0]["description"], ours);
    // What is absent stays.
    curate(&rest, "echo", json!({ "enabled": true })).await;
    curate(&rest, "echo", json!({})).await;
    assert_eq!(tool(&rest, "one", "echo").await["description"], ours);
    assert_eq!(curate(&rest, "echo", json!({ "description": "" })).await["description"], own);
    assert_eq!(client.tools().await[0]["description"], own);
}

#[tokio::test]
async fn what_cannot_be_set_for_a_tool_is_refused() {
    let (gateway, rest) = one(&["--faults", "--odd-names"]).await;
    let path = "/aggregator/servers/one/tools/echo";
    for (patch, field) in [
        (json!({ "enabled": "no" }), "body.enabled"),
        (json!({ "description": "x".repeat(10_001) }), "body.description"),
        (json!({ "description": 7 }), "body.description"),
        (json!({ "name": "other" }), "body.name"),
    ] {
        assert_eq!(rest.patch(path, patch).await.wrong_fields(), [field]);
    }
    let answer = rest.patch("/aggregator/servers/one/tools/nothing", json!({ "enabled": false })).await;
    assert_eq!(answer.problem(404, "TOOL_NOT_FOUND")["detail"], "Tool not found: nothing");
    for (escaped, name) in [
        ("with%2Fslashes%2Finside", "with/slashes/inside"),
        ("with%20spaces%20inside", "with spaces inside"),
        ("with%F0%9F%A6%80emoji", "with🦀emoji"),
        ("with.dots.inside", "with.dots.inside"),
    ] {
        let shown = curate(&rest, escaped, json!({ "enabled": false })).await;
        assert_eq!(shown["original_name"], name);
    }
    call_text(&rest, "one.change_tools", json!({ "add": ["refresh"] })).await;
    super::eventually("the tool is there", async || {
        let found = super::tools(&rest, "one").await;
        found.iter().any(|tool| tool["original_name"] == "refresh").then_some(())
    })
    .await;
    // The operation beside it has the same name, and another method.
    assert_eq!(curate(&rest, "refresh", json!({ "enabled": false })).await["enabled"], false);
    connected(&rest, stdio(&gateway, "two", &[])).await;
    assert_eq!(tool(&rest, "two", "echo").await["enabled"], true, "nobody else's tool was meant");
}
