//! What servers list: changing, odd, malformed, doubled, endless, many.

use crate::kit::{echoes, listed, one, ready, refused};
use portolan_testkit::{Client, Gateway, HttpClient, Profile, StdioClient, bin};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[tokio::test]
async fn f39_tools_that_change_with_every_look_are_swapped_whole_and_told_of_at_most_once_a_change() {
    let builder = Gateway::builder().fixture("one", &["--faults", "--changing-tools"]).fixture("two", &[]);
    let (_gateway, client) = ready(builder, &["one", "two"]).await;
    let listener = client.open_get_stream().await;
    let others = client.tool_names().await.iter().filter(|name| name.starts_with("two.")).count();
    let changes: u32 = 20;
    let changing = tokio::spawn({
        let client = client.clone();
        async move {
            for n in 0..changes {
                client.call("one.change_tools", json!({ "add": [format!("added_{n}")] })).await;
            }
        }
    });
    while !changing.is_finished() {
        let names = client.tool_names().await;
        let generations = names.iter().filter(|name| name.starts_with("one.generation_")).count();
        assert_eq!(generations, 1, "one whole list, never two halves: {names:?}");
        assert_eq!(names.iter().filter(|name| name.starts_with("two.")).count(), others);
    }
    changing.await.unwrap();
    let last = format!("one.added_{}", changes - 1);
    client.wait_for_tools(|names| names.contains(&last)).await;
    listener.wait_for_method("notifications/tools/list_changed").await;
    let told = listener.messages.all().len();
    assert!(told <= changes as usize, "told {told} times of {changes} changes");
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn a_tool_that_is_gone_is_gone_from_the_list_and_cannot_be_called() {
    let (gateway, client) = one(&["--faults"]).await;
    client.call("one.change_tools", json!({ "remove": ["echo"] })).await;
    client.wait_for_tools(|names| !names.iter().any(|name| name == "one.echo")).await;
    refused(&client, "one.echo", json!({}), -32602).await;
    assert_eq!(gateway.journal("one").executions("echo"), 0);
}

#[tokio::test]
async fn f06_a_crash_while_listing_keeps_what_was_listed_last() {
    let builder = Gateway::builder().fixture("one", &["--faults", "--crash-on-list", "2"]);
    let (gateway, client) = ready(builder, &["one"]).await;
    let before = client.tool_names().await;
    client.call("one.change_tools", json!({ "add": ["never_seen"] })).await;
    let journal = gateway.journal("one");
    while journal.starts() < 2 {
        assert_eq!(client.tool_names().await, before, "not an empty list in between");
    }
    echoes(&client, "one.echo").await;
    assert_eq!(client.tool_names().await, before);
}

/// The names that the fixture itself lists, and what it is called with.
async fn odd_names() -> Vec<String> {
    let fixture = StdioClient::connect(&bin("portolan-fixture"), &["--tools", "0", "--odd-names"]).await;
    fixture.tool_names().await
}

/// Calls a tool that answers with its own name as its server knows it.
async fn original(client: &impl Client, shown: &str) -> String {
    let seen: Value = serde_json::from_str(&client.call_text(shown, json!({ "k": 1 })).await).unwrap();
    assert_eq!(seen["arguments"], json!({ "k": 1 }));
    seen["name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn f43_odd_names_reach_their_exact_originals_in_every_style_or_are_left_out_with_a_reason() {
    let (gateway, dots) = one(&["--tools", "0", "--odd-names"]).await;
    let safes = HttpClient::connect_as(&gateway.url(), Profile::named("claude-ai")).await;
    let bare = gateway.connect_to("one").await;
    let expected: BTreeSet<String> = odd_names().await.into_iter().filter(|name| !name.is_empty()).collect();
    gateway.stderr().wait_for("the reason", |line| line.contains("its name is empty")).await;
    assert_eq!(bare.tool_names().await.into_iter().collect::<BTreeSet<_>>(), expected);
    let mut from_safe = BTreeMap::new();
    for shown in safes.tool_names().await {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(shown.len() <= 64 && shown.chars().all(is_safe), "{shown}");
        from_safe.insert(original(&safes, &shown).await, shown);
    }
    assert_eq!(from_safe.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for shown in dots.tool_names().await {
        let name = shown.strip_prefix("one.").unwrap();
        assert_eq!(original(&dots, &shown).await, name);
        // Every style is taken from every client, whatever it was shown.
        for client in [&dots, &safes] {
            assert_eq!(original(client, &format!("one:{name}")).await, name);
            assert_eq!(original(client, &format!("one.{name}")).await, name);
            assert_eq!(original(client, &from_safe[name]).await, name);
        }
        assert_eq!(original(&bare, name).await, name);
    }
}

#[tokio::test]
async fn f43_safe_names_of_two_servers_never_meet_and_stay_the_same_over_restarts() {
    let flags = ["--tools", "0", "--odd-names"];
    let mut seen = Vec::new();
    for _ in 0..2 {
        let builder =
            Gateway::builder().fixture("a", &flags).fixture("a_", &flags).arg("--names").arg("safe");
        let (_gateway, client) = ready(builder, &["a"]).await;
        let count = 2 * (odd_names().await.len() - 1);
        let names = client.wait_for_tools(|names| names.len() == count).await;
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), count);
        seen.push(names);
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn f44_tools_that_would_break_clients_are_left_out_with_a_reason_and_the_rest_stay() {
    let (gateway, client) = one(&["--bad-tools", "--only", "echo"]).await;
    let tools = client.tools().await;
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["one.echo", "one.schema_empty", "one.output_array"]);
    assert_eq!(tools[1]["inputSchema"], json!({ "type": "object" }));
    assert!(tools[2].get("outputSchema").is_none(), "{}", tools[2]);
    for reason in ["schema_null", "schema_missing", "schema_array", "no name"] {
        let is_told = |line: &String| line.contains("left out") && line.contains(reason);
        gateway.stderr().wait_for(reason, is_told).await;
    }
    echoes(&client, "one.echo").await;
    refused(&client, "one.schema_null", json!({}), -32602).await;
}

#[tokio::test]
async fn f42_the_last_of_two_tools_with_one_name_wins_and_people_are_told() {
    let (gateway, client) = one(&["--duplicate-tools", "--only", "twin"]).await;
    let tools = client.tools().await;
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(tools[0]["description"], "the second of two");
    gateway.stderr_contains("lists this name twice").await;
}

#[tokio::test]
async fn f40_a_thousand_tools_in_pages_are_one_list_in_their_order() {
    let builder = Gateway::builder()
        .fixture("b", &["--tools", "1000", "--pages", "100"])
        .fixture("a", &["--tools", "30", "--pages", "7"]);
    let (_gateway, client) = ready(builder, &["a", "b"]).await;
    let expected: Vec<String> = (0..30)
        .map(|n| format!("a.tool_{n:04}"))
        .chain((0..1000).map(|n| format!("b.tool_{n:04}")))
        .collect();
    assert_eq!(client.tool_names().await, expected);
    assert_eq!(client.tool_names().await, expected);
    assert_eq!(original(&client, "b.tool_0999").await, "tool_0999");
    let error = client.ask("tools/list", json!({ "cursor": "made up" })).await;
    assert_eq!(error["error"]["code"], -32602, "{error}");
}

#[tokio::test]
async fn f27_endless_and_repeated_cursors_end_and_the_list_says_that_it_is_partial() {
    let builder =
        Gateway::builder().fixture("endless", &["--endless-pages"]).fixture("round", &["--repeat-cursor"]);
    let (gateway, client) = ready(builder, &["endless", "round"]).await;
    echoes(&client, "endless.echo").await;
    echoes(&client, "round.echo").await;
    let list = client.ask("tools/list", json!({})).await;
    assert_eq!(list["result"]["_meta"]["portolan/partial"], json!(["endless", "round"]));
    for server in ["endless", "round"] {
        let alone = HttpClient::connect(&gateway.server_url(server)).await;
        let list = alone.ask("tools/list", json!({})).await;
        assert_eq!(list["result"]["_meta"]["portolan/partial"], json!([server]));
    }
}

#[tokio::test]
async fn t08_a_tool_that_the_entry_denies_is_neither_listed_nor_called_by_any_name() {
    let builder = Gateway::builder();
    let journal = builder.directory().join("one.journal");
    let entry = json!({ "command": bin("portolan-fixture"), "args": ["--journal", journal],
        "portolan": { "tools": { "allow": ["test_*", "echo"], "deny": ["*_simple_*"] } } });
    let (gateway, client) = ready(builder.server("one", entry), &["one"]).await;
    let names = client.tool_names().await;
    assert!(names.contains(&"one.echo".to_owned()) && names.contains(&"one.test_error_handling".to_owned()));
    assert!(!names.iter().any(|name| name.contains("simple") || name.contains("json_schema")), "{names:?}");
    let bare = gateway.connect_to("one").await;
    for name in ["one.test_simple_text", "one:test_simple_text", "one__test_simple_text", "test_simple_text"]
    {
        refused(&client, name, json!({}), -32602).await;
        refused(&bare, name, json!({}), -32602).await;
    }
    assert_eq!(gateway.journal("one").executions("test_simple_text"), 0);
}

#[tokio::test]
async fn definitions_keep_every_field_and_their_bytes() {
    let (gateway, client) = one(&[]).await;
    let fixture = StdioClient::connect::<&str>(&bin("portolan-fixture"), &[]).await;
    let mut expected = fixture.tools().await;
    let bare = gateway.connect_to("one").await;
    assert_eq!(bare.tools().await, expected);
    for tool in &mut expected {
        tool["name"] = json!(format!("one.{}", tool["name"].as_str().unwrap()));
    }
    assert_eq!(client.tools().await, expected);
    listed(&client, &["one"]).await;
}
