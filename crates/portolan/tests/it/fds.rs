//! Out of descriptors: accepting pauses, people are told, and it goes on by itself afterwards.

use crate::kit::{echoes, listed, until};
use portolan_testkit::{Gateway, HttpClient, bin, processes};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use tokio::net::TcpStream;

#[tokio::test]
async fn f62_without_descriptors_accepting_pauses_and_recovers_without_a_restart() {
    let builder = Gateway::builder().fixture("one", &["--faults"]);
    let script = builder.directory().join("limited.sh");
    let text = format!("#!/bin/sh\nulimit -n 64\nexec {} \"$@\"\n", bin("portolan").display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let gateway = builder.program(script).serve().await;
    let client = gateway.connect().await;
    listed(&client, &["one"]).await;
    let mut held = Vec::new();
    for _ in 0..100 {
        // The backlog takes those that are not accepted any more.
        held.push(TcpStream::connect(gateway.address()).await.unwrap());
    }
    let told = gateway.stderr_contains("no connection can be accepted").await;
    assert!(told.contains("open files"), "{told}");
    // Who is in already is served on, and a server that needs descriptors to start says what it lacks.
    echoes(&client, "one.echo").await;
    let mut config = json!({ "mcpServers": { "one": gateway.fixture_entry("one", &["--faults"]) } });
    config["mcpServers"]["two"] = gateway.fixture_entry("two", &[]);
    gateway.rewrite_config(&config);
    echoes(&client, "one.echo").await;
    held.clear();
    let late = HttpClient::connect(&gateway.url()).await;
    echoes(&late, "one.echo").await;
    listed(&late, &["one", "two"]).await;
    echoes(&late, "two.echo").await;
    until("the descriptors are given back", || processes::open_fds(gateway.pid()) < 40).await;
}
