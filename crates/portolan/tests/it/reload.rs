//! The configuration changes while the gateway runs: only what changed is touched.

use crate::kit::{echoes, listed, one, pid_of, ready, refused, tool_error};
use portolan_testkit::{Client, Fixture, Gateway, HttpClient, processes};
use serde_json::{Value, json};

/// A configuration of fixtures with `--faults`, each with these extra flags.
fn of(gateway: &Gateway, servers: &[(&str, &[&str])]) -> Value {
    let mut config = json!({ "mcpServers": {} });
    for (name, flags) in servers {
        let flags = [&["--faults"], *flags].concat();
        config["mcpServers"][*name] = gateway.fixture_entry(name, &flags);
    }
    config
}

#[tokio::test]
async fn f67_a_broken_file_changes_nothing_and_a_good_one_touches_only_what_changed() {
    let builder = Gateway::builder().fixture("keeps", &["--faults"]).fixture("changes", &["--faults"]);
    let (gateway, client) =
        ready(builder.fixture("goes", &["--faults"]), &["keeps", "changes", "goes"]).await;
    let (keeps, changes, goes) =
        (pid_of(&client, "keeps").await, pid_of(&client, "changes").await, pid_of(&client, "goes").await);
    gateway.rewrite_config_text("{\n  \"mcpServers\": {\n    \"keeps\": oops\n  }\n}");
    let told = gateway.stderr_contains("what was running goes on").await;
    assert!(told.contains("invalid_json") && told.contains("(3:"), "{told}");
    gateway.rewrite_config(&json!({ "mcpServers": { "keeps": { "command": 7 } } }));
    gateway.stderr_contains("invalid_schema").await;
    for (server, before) in [("keeps", keeps), ("changes", changes), ("goes", goes)] {
        assert_eq!(pid_of(&client, server).await, before, "{server}");
    }
    let listener = client.open_get_stream().await;
    gateway.rewrite_config(&of(
        &gateway,
        &[("keeps", &[]), ("changes", &["--tools-prefix", "p_"]), ("comes", &[])],
    ));
    listener.wait_for_method("notifications/tools/list_changed").await;
    let has = |names: &[String], name: &str| names.iter().any(|n| n == name);
    client
        .wait_for_tools(|names| {
            has(names, "comes.echo")
                && has(names, "changes.p_echo")
                && !has(names, "changes.echo")
                && !names.iter().any(|name| name.starts_with("goes."))
        })
        .await;
    processes::wait_gone(&[changes, goes]).await;
    echoes(&client, "comes.echo").await;
    echoes(&client, "changes.p_echo").await;
    refused(&client, "goes.echo", json!({}), -32602).await;
    assert_eq!(pid_of(&client, "keeps").await, keeps, "the others notice nothing");
    assert_eq!(gateway.journal("keeps").starts(), 1);
}

#[tokio::test]
async fn a_removed_server_drains_what_is_in_flight_and_takes_nothing_new() {
    let (gateway, client) = one(&["--faults"]).await;
    let server = pid_of(&client, "one").await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("one.slow", json!({ "ms": 3000 })).await }
    });
    gateway.journal("one").wait_for_executions("slow", 1).await;
    gateway.rewrite_config(&of(&gateway, &[("two", &[])]));
    client.wait_for_tools(|names| !names.iter().any(|name| name.starts_with("one."))).await;
    refused(&client, "one.echo", json!({}), -32602).await;
    assert_eq!(slow.await.unwrap(), "slept 3000 ms");
    processes::wait_gone(&[server]).await;
    assert_eq!(gateway.journal("one").events("term").len(), 0, "the end of its input was enough");
    let alone = HttpClient::new(&gateway.server_url("one"));
    assert_eq!(alone.initialize().await.status, 404, "nothing of it is left");
    listed(&client, &["two"]).await;
}

#[tokio::test]
async fn a_server_that_is_removed_and_comes_back_while_it_drains_is_there_in_the_end() {
    let (gateway, client) = one(&["--faults"]).await;
    let before = pid_of(&client, "one").await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("one.slow", json!({ "ms": 4000 })).await }
    });
    gateway.journal("one").wait_for_executions("slow", 1).await;
    gateway.rewrite_config(&json!({ "mcpServers": {} }));
    client.wait_for_tools(<[String]>::is_empty).await;
    gateway.rewrite_config(&of(&gateway, &[("one", &[])]));
    assert_eq!(slow.await.unwrap(), "slept 4000 ms");
    processes::wait_gone(&[before]).await;
    listed(&client, &["one"]).await;
    echoes(&client, "one.echo").await;
    // The old one has said its last word by now: what it said is not about the new one.
    let after = pid_of(&client, "one").await;
    assert_ne!(after, before);
    assert!(client.tool_names().await.contains(&"one.echo".to_owned()));
}

#[tokio::test]
async fn a_changed_server_lets_its_calls_end_before_it_is_replaced() {
    let (gateway, client) = one(&["--faults"]).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("one.slow", json!({ "ms": 2000 })).await }
    });
    gateway.journal("one").wait_for_executions("slow", 1).await;
    gateway.rewrite_config(&of(&gateway, &[("one", &["--name", "another"])]));
    gateway.stderr_contains("was read again and applied").await;
    // It waits, unsent, for the one that comes.
    echoes(&client, "one.echo").await;
    assert_eq!(slow.await.unwrap(), "slept 2000 ms");
    assert_eq!(gateway.journal("one").starts(), 2);
}

#[tokio::test]
async fn a_file_that_is_removed_and_written_anew_in_place_is_followed() {
    let (gateway, client) = one(&["--faults"]).await;
    let before = pid_of(&client, "one").await;
    std::fs::remove_file(gateway.config_path()).unwrap();
    gateway.stderr_contains("file_not_found").await;
    assert_eq!(pid_of(&client, "one").await, before);
    let config = of(&gateway, &[("one", &[]), ("two", &[])]);
    std::fs::write(gateway.config_path(), config.to_string()).unwrap();
    listed(&client, &["two"]).await;
    assert_eq!(pid_of(&client, "one").await, before);
}

#[tokio::test]
async fn t17_a_missing_variable_is_the_error_of_that_server_alone() {
    let builder = Gateway::builder()
        .fixture("well", &[])
        .server("needy", json!({ "command": "true", "env": { "TOKEN": "${PORTOLAN_TEST_NOT_SET}" } }));
    let (gateway, client) = ready(builder, &["well"]).await;
    let error = tool_error(&client, "needy.anything", json!({})).await;
    assert!(error.contains("PORTOLAN_TEST_NOT_SET"), "{error}");
    let mut config = of(&gateway, &[("well", &[]), ("needy", &[])]);
    config["mcpServers"]["needy"]["env"] = json!({ "TOKEN": "${PORTOLAN_TEST_NOT_SET:-fallback}" });
    gateway.rewrite_config(&config);
    listed(&client, &["needy"]).await;
    assert!(client.call_text("needy.env", json!({})).await.contains(r#""TOKEN":"fallback""#));
}

#[tokio::test]
async fn a_disabled_entry_goes_and_an_enabled_one_comes() {
    let (gateway, client) = one(&["--faults"]).await;
    let mut config = of(&gateway, &[("one", &[]), ("two", &[])]);
    config["mcpServers"]["one"]["disabled"] = json!(true);
    gateway.rewrite_config(&config);
    client
        .wait_for_tools(|names| {
            names.iter().any(|n| n == "two.echo") && !names.iter().any(|n| n.starts_with("one."))
        })
        .await;
    config["mcpServers"]["one"]["disabled"] = json!(false);
    gateway.rewrite_config(&config);
    listed(&client, &["one", "two"]).await;
}

#[tokio::test]
async fn a_remote_server_whose_entry_changes_is_met_at_its_new_address() {
    let (first, second) = (Fixture::http(&[]).await, Fixture::http(&["--tools-prefix", "p_"]).await);
    let (gateway, client) = ready(Gateway::builder().server("web", first.entry()), &["web"]).await;
    gateway.rewrite_config(&json!({ "mcpServers": { "web": second.entry() } }));
    client.wait_for_tools(|names| names.iter().any(|name| name == "web.p_echo")).await;
    echoes(&client, "web.p_echo").await;
    assert_eq!(first.journal().events("delete").len(), 1, "the old session was ended");
}
