//! Names as clients see them and as they are taken back.

use crate::kit::{echoes, listed, one, ready, refused, tool_error};
use portolan_testkit::{Client, Gateway, HttpClient, Profile, SseClient};
use serde_json::json;

/// The one tool of one server, as this client is shown it over HTTP.
async fn shown(gateway: &Gateway, client: &str) -> Vec<String> {
    HttpClient::connect_as(&gateway.url(), Profile::named(client)).await.tool_names().await
}

#[tokio::test]
async fn auto_is_dots_over_http_colons_over_stdio_and_safe_for_those_who_need_it() {
    let (gateway, client) = one(&["--only", "echo"]).await;
    assert_eq!(client.tool_names().await, ["one.echo"]);
    for name in ["claude-ai", "Cursor", "Visual Studio Code", "codex-mcp-client"] {
        assert_eq!(shown(&gateway, name).await, ["one__echo"], "{name}");
    }
    let old = SseClient::connect(&gateway.url_of("/sse")).await;
    assert_eq!(old.tool_names().await, ["one.echo"]);
    for (name, expected) in [("testkit", "one:echo"), ("claude-ai", "one__echo")] {
        let builder = Gateway::builder().fixture("one", &["--only", "echo"]);
        let (_gateway, stdio) = builder.stdio(Profile::named(name));
        stdio.initialize().await;
        assert_eq!(listed(&stdio, &["one"]).await, [expected]);
    }
}

#[tokio::test]
async fn names_says_one_style_for_everybody() {
    for (style, expected) in [("dot", "one.echo"), ("colon", "one:echo"), ("safe", "one__echo")] {
        let builder = Gateway::builder().fixture("one", &["--only", "echo"]).arg("--names").arg(style);
        let (gateway, client) = ready(builder, &["one"]).await;
        assert_eq!(client.tool_names().await, [expected]);
        assert_eq!(shown(&gateway, "claude-ai").await, [expected]);
        let builder = Gateway::builder().fixture("one", &["--only", "echo"]).arg("--names").arg(style);
        let (_gateway, stdio) = builder.stdio(Profile::default());
        stdio.initialize().await;
        assert_eq!(listed(&stdio, &["one"]).await, [expected]);
    }
}

#[tokio::test]
async fn br_005_every_style_is_taken_on_every_call_whatever_the_client_was_shown() {
    let builder = Gateway::builder().fixture("one", &[]).fixture("two", &["--tools-prefix", "p_"]);
    let (gateway, dots) = ready(builder, &["one", "two"]).await;
    let safes = HttpClient::connect_as(&gateway.url(), Profile::named("claude-ai")).await;
    let old = SseClient::connect(&gateway.url_of("/sse")).await;
    for name in ["one.echo", "one:echo", "one__echo", "echo"] {
        echoes(&dots, name).await;
        echoes(&safes, name).await;
        echoes(&old, name).await;
    }
    assert_eq!(gateway.journal("one").executions("echo"), 12);
    assert_eq!(gateway.journal("two").executions("p_echo"), 0);
    let alone = gateway.connect_to("one").await;
    for name in ["echo", "one.echo", "one:echo", "one__echo"] {
        echoes(&alone, name).await;
    }
}

#[tokio::test]
async fn br_009_a_bare_name_of_two_servers_is_ambiguous_and_the_error_names_both() {
    let builder = Gateway::builder().fixture("one", &[]).fixture("two", &[]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let error = refused(&client, "echo", json!({}), -32602).await;
    assert_eq!(error["data"]["candidates"], json!(["one.echo", "two.echo"]), "{error}");
    let error = refused(&client, "no_such_tool", json!({}), -32602).await;
    assert!(error["message"].as_str().unwrap().contains("Unknown tool: no_such_tool"), "{error}");
    for name in ["one.no_such_tool", "three.echo", "ONE.echo", "one", "", ".", "one.", "one__"] {
        refused(&client, name, json!({}), -32602).await;
    }
    for server in ["one", "two"] {
        assert_eq!(gateway.journal(server).of("tools/call").len(), 0);
    }
}

#[tokio::test]
async fn ec_002_only_the_first_separator_splits() {
    let builder = Gateway::builder()
        .fixture("one", &["--tools-prefix", "repo.", "--only", "echo"])
        .fixture("two", &["--tools-prefix", "one.repo:", "--only", "echo"]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    assert_eq!(client.tool_names().await, ["one.repo.echo", "two.one.repo:echo"]);
    echoes(&client, "one.repo.echo").await;
    echoes(&client, "one:repo.echo").await;
    echoes(&client, "two.one.repo:echo").await;
    assert_eq!(gateway.journal("one").executions("repo.echo"), 2);
    assert_eq!(gateway.journal("two").executions("one.repo:echo"), 1);
}

#[tokio::test]
async fn t20_a_servers_tool_never_takes_over_a_built_in_name() {
    let (gateway, client) = one(&["--faults"]).await;
    let built_in = ["search_tools", "call_tool", "mcp__proxy__aggregator__query", "query_mcp_connector"];
    client.call("one.change_tools", json!({ "add": built_in })).await;
    client.wait_for_tools(|names| names.iter().any(|name| name == "one.search_tools")).await;
    for name in built_in {
        // By itself it means Portolan's own, and never the server's.
        match name {
            "mcp__proxy__aggregator__query" => drop(refused(&client, name, json!({}), -32602).await),
            _ => drop(tool_error(&client, name, json!({})).await),
        }
        assert_eq!(gateway.journal("one").executions(name), 0);
        client.call(&format!("one.{name}"), json!({})).await;
        assert_eq!(gateway.journal("one").executions(name), 1);
    }
}

#[tokio::test]
async fn names_of_other_programs_are_made_usable() {
    let entry = json!({ "command": portolan_testkit::bin("portolan-fixture"), "args": ["--only", "echo"] });
    let builder = Gateway::builder().config(json!({ "servers": { "My Server!": entry } }));
    let (_gateway, client) = ready(builder, &["my-server"]).await;
    assert_eq!(client.tool_names().await, ["my-server.echo"]);
}
