//! Portolans behind Portolans: chains work, circles are refused, and nothing multiplies.

use crate::kit::{echoes, listed, ready, tool_error, until};
use portolan_testkit::{Client, Gateway, bin, processes};
use serde_json::{Value, json};
use std::path::Path;

fn with(gateway: &Gateway, own: &str, more: &[(&str, Value)]) -> Value {
    let mut config = json!({ "mcpServers": { own: gateway.fixture_entry(own, &[]) } });
    for (name, entry) in more {
        config["mcpServers"][*name] = entry.clone();
    }
    config
}

#[tokio::test]
async fn f45_a_gateway_that_is_registered_in_itself_refuses_itself_on_every_transport() {
    let (gateway, client) = ready(Gateway::builder().fixture("own", &[]), &["own"]).await;
    let before = client.tool_names().await;
    let entries = [
        ("itself", json!({ "type": "http", "url": gateway.url() })),
        ("guessed", json!({ "url": gateway.url() })),
        ("older", json!({ "type": "sse", "url": gateway.url_of("/sse") })),
        ("part", json!({ "type": "http", "url": gateway.server_url("own") })),
    ];
    gateway.rewrite_config(&with(&gateway, "own", &entries));
    for (name, _) in &entries {
        let is_refused = |line: &String| line.contains("not connected") && line.contains(name);
        gateway.stderr().wait_for(name, is_refused).await;
        let error = tool_error(&client, &format!("{name}.anything"), json!({})).await;
        assert!(error.contains("itself"), "{error}");
    }
    assert_eq!(client.tool_names().await, before);
    echoes(&client, "own.echo").await;
}

#[tokio::test]
async fn f45_two_gateways_that_are_registered_in_each_other_do_not_multiply_their_tools() {
    let (a, at_a) = ready(Gateway::builder().fixture("left", &["--only", "echo"]), &["left"]).await;
    let (b, at_b) = ready(Gateway::builder().fixture("right", &["--only", "echo"]), &["right"]).await;
    let entry = |gateway: &Gateway| json!({ "type": "http", "url": gateway.url() });
    // Both at once, so that neither can know of the other beforehand.
    let mut config = json!({ "mcpServers": { "left": a.fixture_entry("left", &["--only", "echo"]) } });
    config["mcpServers"]["b"] = entry(&b);
    a.rewrite_config(&config);
    let mut config = json!({ "mcpServers": { "right": b.fixture_entry("right", &["--only", "echo"]) } });
    config["mcpServers"]["a"] = entry(&a);
    b.rewrite_config(&config);
    let is_circle = |line: &String| line.contains("leads back") || line.contains("itself");
    let told = || a.stderr().all().iter().any(is_circle) || b.stderr().all().iter().any(is_circle);
    until("one of them has noticed", told).await;
    let nested = |names: &[String]| names.iter().any(|n| n.contains("a.b.") || n.contains("b.a."));
    for _ in 0..20 {
        let (left, right) = (at_a.tool_names().await, at_b.tool_names().await);
        assert!(
            left.len() <= 2 && right.len() <= 2 && !nested(&left) && !nested(&right),
            "{left:?} {right:?}"
        );
    }
    echoes(&at_a, "left.echo").await;
    echoes(&at_b, "right.echo").await;
}

/// How many Portolans of this test are alive, watchdogs apart.
fn portolans(directory: &Path) -> usize {
    let program = bin("portolan");
    let is_portolan = |process: &processes::Process| process.command.starts_with(program.to_str().unwrap());
    processes::mentioning(directory.to_str().unwrap()).iter().filter(|process| is_portolan(process)).count()
}

fn starts(config: &Path) -> Value {
    json!({ "command": bin("portolan"), "args": ["--config", config] })
}

#[tokio::test]
async fn f45_a_configuration_that_starts_itself_is_no_fork_bomb() {
    let builder = Gateway::builder().fixture("own", &[]);
    let config = builder.directory().join("portolan.json");
    let directory = builder.directory().to_owned();
    let (gateway, client) = ready(builder.server("me", starts(&config)), &["own"]).await;
    let error = tool_error(&client, "me.anything", json!({})).await;
    assert!(error.contains("which would go on for ever"), "{error}");
    assert!(portolans(&directory) <= 2);
    let told = gateway.stderr_contains("not connected").await;
    assert!(told.contains("which would go on for ever"), "{told}");
    echoes(&client, "own.echo").await;
}

#[tokio::test]
async fn f45_two_configurations_that_start_each_other_are_no_fork_bomb() {
    let builder = Gateway::builder().fixture("own", &[]);
    let (first, second) =
        (builder.directory().join("portolan.json"), builder.directory().join("second.json"));
    std::fs::write(&second, json!({ "mcpServers": { "back": starts(&first) } }).to_string()).unwrap();
    let directory = builder.directory().to_owned();
    let (_gateway, client) = ready(builder.server("there", starts(&second)), &["own"]).await;
    // The second comes up; what it has behind it is refused.
    let error = client.try_call("there.back:anything", json!({})).await;
    assert!(error.is_err() || error.unwrap()["isError"] == true);
    assert!(portolans(&directory) <= 3, "the first, the second, and a try of the third");
    echoes(&client, "own.echo").await;
}

#[tokio::test]
async fn f45_a_long_chain_of_configurations_ends() {
    let builder = Gateway::builder().fixture("own", &[]);
    let path = |n: usize| builder.directory().join(format!("chain-{n}.json"));
    for n in 0..20 {
        std::fs::write(path(n), json!({ "mcpServers": { "next": starts(&path(n + 1)) } }).to_string())
            .unwrap();
    }
    let directory = builder.directory().to_owned();
    let first = starts(&path(0));
    let (_gateway, client) = ready(builder.server("next", first), &["own"]).await;
    let last_is_told = || portolans(&directory) >= 8;
    until("the chain has grown", last_is_told).await;
    for _ in 0..20 {
        let alive = portolans(&directory);
        assert!(alive <= 10, "{alive} Portolans");
        echoes(&client, "own.echo").await;
    }
}

#[tokio::test]
async fn a_chain_without_a_circle_works() {
    let builder = Gateway::builder();
    let (middle, journal) =
        (builder.directory().join("middle.json"), builder.directory().join("leaf.journal"));
    let leaf = json!({ "command": bin("portolan-fixture"), "args": ["--faults", "--journal", journal] });
    std::fs::write(&middle, json!({ "mcpServers": { "leaf": leaf } }).to_string()).unwrap();
    let (over_pipe, at_pipe) = ready(builder.server("mid", starts(&middle)), &["mid"]).await;
    let names = at_pipe.wait_for_tools(|names| names.iter().any(|name| name.ends_with("echo"))).await;
    let name = names.iter().find(|name| name.ends_with("echo")).unwrap();
    echoes(&at_pipe, name).await;
    // A third one in front of it, over HTTP.
    let entry = json!({ "type": "http", "url": over_pipe.url() });
    let (_top, at_top) = ready(Gateway::builder().server("top", entry), &["top"]).await;
    let wanted = format!("top.{name}");
    at_top.wait_for_tools(|names| names.contains(&wanted)).await;
    echoes(&at_top, &wanted).await;
    at_top.call(&wanted.replace("echo", "change_tools"), json!({ "add": ["fresh"] })).await;
    at_top.wait_for_tools(|names| names.iter().any(|name| name.ends_with("fresh"))).await;
    listed(&at_top, &["top"]).await;
}
