//! Which of the two eras a server speaks: found out without harm to it, and remembered.

use crate::kit::{echoes, listed, ready};
use portolan_testkit::{Client, Fixture, Gateway, GatewayBuilder, HttpClient, Journal, ModernClient};
use serde_json::json;

const LEGACY: Option<&str> = Some("2025-11-25");
/// Spoken without a handshake.
const MODERN: Option<&str> = None;

/// The revision that the handshake agreed on, if there was one.
fn handshake(journal: &Journal) -> Option<String> {
    let first = journal.of("initialize").into_iter().next()?;
    Some(first["params"]["protocolVersion"].as_str().unwrap().to_owned())
}

#[track_caller]
fn spoke(journal: &Journal, expected: Option<&str>, what: &str) {
    assert_eq!(handshake(journal).as_deref(), expected, "{what}");
    let calls = journal.of("tools/call");
    let key = "io.modelcontextprotocol/protocolVersion";
    let stamped = calls.iter().filter(|call| call["params"]["_meta"].get(key).is_some()).count();
    let expected = if expected.is_some() { 0 } else { calls.len() };
    assert_eq!(stamped, expected, "{what}: requests that say their revision, of {}", calls.len());
}

/// Both eras of client are served.
async fn serves(gateway: &Gateway) {
    let client = gateway.connect().await;
    listed(&client, &["one"]).await;
    echoes(&client, "one.echo").await;
    echoes(&ModernClient::new(&gateway.url()), "one.echo").await;
}

/// A try to connect that ends soon enough for a test, and with it the patience with a server that says nothing.
fn hurried() -> GatewayBuilder {
    Gateway::builder().env("PORTOLAN_LIMITS_CONNECT_TIMEOUT", "6s")
}

/// What a server over stdio may do with the question, and what is spoken with it then.
const OVER_STDIO: [(&[&str], Option<&str>, usize); 6] = [
    (&["--probe", "answer"], LEGACY, 1),
    (&["--probe", "exit"], LEGACY, 2),
    (&["--probe", "mute"], LEGACY, 1),
    (&["--start-delay-ms", "700"], LEGACY, 1),
    (&["--era", "modern"], MODERN, 1),
    (&["--era", "dual"], MODERN, 1),
];

#[tokio::test]
async fn f26_a_server_over_stdio_is_connected_whatever_it_makes_of_the_question() {
    for (flags, expected, starts) in OVER_STDIO {
        let gateway = hurried().fixture("one", flags).serve().await;
        serves(&gateway).await;
        let journal = gateway.journal("one");
        spoke(&journal, expected, &format!("{flags:?}"));
        assert_eq!(journal.starts(), starts, "{flags:?}");
    }
}

#[tokio::test]
async fn f26_a_slow_starter_that_also_exits_or_is_mute_is_connected_too() {
    for probe in ["exit", "mute"] {
        let flags = ["--probe", probe, "--start-delay-ms", "400"];
        let gateway = hurried().fixture("one", &flags).serve().await;
        serves(&gateway).await;
        spoke(&gateway.journal("one"), LEGACY, probe);
    }
}

#[tokio::test]
async fn a_modern_server_that_starts_slower_than_the_patience_is_still_spoken_to_in_its_era() {
    let flags = ["--era", "modern", "--start-delay-ms", "2500"];
    let gateway = hurried().fixture("one", &flags).serve().await;
    serves(&gateway).await;
    let journal = gateway.journal("one");
    let calls = journal.of("tools/call");
    let key = "io.modelcontextprotocol/protocolVersion";
    assert!(calls.iter().all(|call| call["params"]["_meta"][key] == "2026-07-28"), "{calls:?}");
}

#[tokio::test]
async fn a_server_over_http_is_spoken_to_in_its_era() {
    for (flags, expected) in [
        (&[][..], LEGACY),
        (&["--stateless"], LEGACY),
        (&["--json"], LEGACY),
        (&["--era", "modern"], MODERN),
        (&["--era", "modern", "--json"], MODERN),
        (&["--era", "dual"], MODERN),
        (&["--era", "dual", "--stateless"], MODERN),
    ] {
        let fixture = Fixture::http(flags).await;
        for mut entry in [fixture.entry(), json!({ "url": fixture.url() })] {
            entry["portolan"] = json!({});
            let gateway = hurried().server("one", entry).serve().await;
            serves(&gateway).await;
            spoke(fixture.journal(), expected, &format!("{flags:?}"));
        }
    }
}

#[tokio::test]
async fn a_server_over_sse_is_never_asked_for_the_newer_era() {
    let fixture = Fixture::sse(&[]).await;
    for entry in [fixture.entry(), json!({ "url": fixture.url() })] {
        let gateway = hurried().server("one", entry).serve().await;
        serves(&gateway).await;
    }
    assert!(!fixture.journal().saw("server/discover"));
    spoke(fixture.journal(), LEGACY, "sse");
}

#[tokio::test]
async fn f25_an_older_revision_is_spoken_with_a_server_that_has_no_newer_one() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let gateway = hurried().fixture("one", &["--revision", revision]).serve().await;
        serves(&gateway).await;
        let fixture = Fixture::http(&["--revision", revision]).await;
        let gateway = hurried().server("one", fixture.entry()).serve().await;
        serves(&gateway).await;
    }
}

/// Starts the gateway again in its folder, and gives what the server saw of that.
async fn second_start(gateway: Gateway, journal: &Journal) -> (Gateway, Vec<String>, usize) {
    let stopped = gateway.stop().await;
    // What the first start said in the end is its own.
    let (lines, starts) = (journal.lines().len(), journal.starts());
    let gateway = stopped.serve().await;
    serves(&gateway).await;
    let seen = journal.lines().split_off(lines);
    let methods = seen.iter().filter_map(|line| line["method"].as_str().map(str::to_owned)).collect();
    (gateway, methods, journal.starts() - starts)
}

#[tokio::test]
async fn what_was_found_out_of_a_server_over_stdio_is_remembered_by_the_next_start() {
    for (flags, expected, _) in OVER_STDIO {
        let gateway = hurried().fixture("one", flags).serve().await;
        serves(&gateway).await;
        let journal = gateway.journal("one");
        let (_gateway, methods, starts) = second_start(gateway, &journal).await;
        assert_eq!(starts, 1, "{flags:?}: {methods:?}");
        let (first, other) = match expected {
            LEGACY => ("initialize", "server/discover"),
            _ => ("server/discover", "initialize"),
        };
        assert_eq!(methods.first().map(String::as_str), Some(first), "{flags:?}: {methods:?}");
        assert!(!methods.iter().any(|method| method == other), "{flags:?}: {methods:?}");
    }
}

#[tokio::test]
async fn what_was_found_out_of_a_server_over_http_is_remembered_by_the_next_start() {
    for flags in [&[][..], &["--stateless"]] {
        let fixture = Fixture::http(flags).await;
        let gateway = hurried().server("one", fixture.entry()).serve().await;
        serves(&gateway).await;
        let (_gateway, methods, _) = second_start(gateway, fixture.journal()).await;
        assert!(!methods.iter().any(|method| method == "server/discover"), "{flags:?}: {methods:?}");
    }
}

#[tokio::test]
async fn a_server_that_has_changed_its_era_since_is_spoken_to_in_the_new_one() {
    for (before, after, expected) in [
        (&["--era", "legacy"], &["--era", "modern"], MODERN),
        (&["--era", "modern"], &["--era", "legacy"], LEGACY),
    ] {
        // The same command line, by which the server is known, and another server behind it.
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("server.sh");
        let builder = hurried();
        let journal = builder.journal("one");
        let write = |flags: &[&str]| {
            let fixture = portolan_testkit::bin("portolan-fixture");
            let flags = flags.join(" ");
            let journal = journal.path().display().to_string();
            let text = format!("exec {} --journal {journal} {flags}\n", fixture.display());
            std::fs::write(&script, text).unwrap();
        };
        write(before);
        let entry = json!({ "command": "/bin/sh", "args": [script] });
        let gateway = builder.server("one", entry).serve().await;
        serves(&gateway).await;
        write(after);
        let (_gateway, methods, _) = second_start(gateway, &journal).await;
        let has = |method: &str| methods.iter().any(|seen| seen == method);
        assert!(has("tools/call"), "{before:?} to {after:?}: {methods:?}");
        let last = journal.of("tools/call").pop().unwrap();
        let is_stamped = last["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some();
        assert_eq!(is_stamped, expected == MODERN, "{before:?} to {after:?}: {last}");
    }
}

#[tokio::test]
async fn a_server_that_restarts_is_not_asked_again() {
    let (gateway, client) = ready(hurried().fixture("one", &["--faults", "--probe", "exit"]), &["one"]).await;
    let journal = gateway.journal("one");
    assert_eq!(journal.starts(), 2);
    client.try_call("one.crash", json!({})).await.unwrap_or_default();
    journal.wait_for("another start", |journal| journal.starts() > 2).await;
    echoes(&client, "one.echo").await;
    assert_eq!((journal.starts(), journal.of("server/discover").len()), (3, 1));
    let other = HttpClient::connect(&gateway.url()).await;
    echoes(&other, "one.echo").await;
}
