//! Sessions behind: shared by clients that declare the same, apart for those that do not.

use super::fronts::everything;
use super::{Answering, Form};
use crate::kit::{echoes, listed};
use portolan_testkit::{Client, Gateway, HttpClient, Journal, ModernClient, bin};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What the sessions of a server declared, in the order of their handshakes.
fn declared(journal: &Journal) -> Vec<Value> {
    journal.of("initialize").iter().map(|line| line["params"]["capabilities"].clone()).collect()
}

/// The sessions on which a tool was called.
fn sessions(journal: &Journal, tool: &str) -> BTreeSet<String> {
    journal.calls(tool).iter().map(|call| call["session"].to_string()).collect()
}

/// Has a client call something that shows what its session declared.
async fn sees(client: &impl Client, expected: &Value) {
    let text = client.call_text("one.capabilities", json!({})).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *expected);
}

fn with(capabilities: &Value) -> portolan_testkit::Profile {
    Answering::named("somebody", capabilities.clone()).profile
}

#[tokio::test]
async fn clients_that_declare_the_same_share_a_session_over_http_and_others_have_their_own() {
    let behind = Form::HttpLegacy.serve(&[]).await;
    let url = behind.gateway.url();
    let (one, other) = (json!({ "elicitation": {} }), json!({ "sampling": {} }));
    let mut clients = Vec::new();
    for capabilities in [&one, &one, &other, &one, &other] {
        let client = HttpClient::connect_as(&url, with(capabilities)).await;
        sees(&client, capabilities).await;
        clients.push(client);
    }
    // The order of keys says nothing.
    let twice = r#"{"sampling":{},"elicitation":{}}"#;
    let both: Value = serde_json::from_str(twice).unwrap();
    for _ in 0..2 {
        sees(&HttpClient::connect_as(&url, with(&both)).await, &both).await;
    }
    let plain = behind.gateway.connect().await;
    sees(&plain, &json!({})).await;
    assert_eq!(declared(&behind.journal), [json!({}), one, other, both]);
    assert_eq!(sessions(&behind.journal, "capabilities").len(), 4);
}

#[tokio::test]
async fn clients_of_either_era_that_declare_the_same_share_a_session_over_http() {
    let behind = Form::HttpLegacy.serve(&[]).await;
    let capabilities = json!({ "elicitation": {} });
    let old = HttpClient::connect_as(&behind.gateway.url(), with(&capabilities)).await;
    let new = ModernClient::with(&behind.gateway.url(), with(&capabilities));
    for _ in 0..3 {
        sees(&old, &capabilities).await;
        sees(&new, &capabilities).await;
    }
    assert_eq!(declared(&behind.journal), [json!({}), capabilities]);
}

#[tokio::test]
async fn roots_are_never_shared() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::Sse] {
        let behind = form.serve(&[]).await;
        let capabilities = json!({ "roots": {} });
        let mut clients = Vec::new();
        for name in ["a", "b"] {
            let who = Answering::named(name, capabilities.clone());
            let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
            who.is_asked(&client, "roots", &format!("first-{name}")).await;
            who.is_asked(&client, "roots", &format!("second-{name}")).await;
            clients.push((who, client));
        }
        for (who, client) in &clients {
            who.is_asked(client, "roots", "again").await;
        }
        assert_eq!(declared(&behind.journal), [json!({}), capabilities.clone(), capabilities], "{form:?}");
    }
}

#[tokio::test]
async fn that_roots_have_changed_is_told_on_the_clients_own_session_and_on_no_other() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::Sse] {
        let behind = form.serve(&[]).await;
        let mut clients = Vec::new();
        for name in ["a", "b"] {
            let who = Answering::named(name, json!({ "roots": { "listChanged": true } }));
            let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
            who.is_asked(&client, "roots", name).await;
            clients.push(client);
        }
        let word = "notifications/roots/list_changed";
        clients[1].notify(word, Value::Null).await;
        behind.journal.wait_for_method(word).await;
        echoes(&clients[0], "one.echo").await;
        echoes(&clients[1], "one.echo").await;
        let told = behind.journal.of(word);
        let own = behind.journal.calls("who_asks");
        let own = own.iter().find(|call| call["params"]["arguments"]["tag"] == "b").unwrap();
        assert_eq!((told.len(), &told[0]["session"]), (1, &own["session"]), "{form:?}");
    }
}

#[tokio::test]
async fn an_entry_may_want_one_session_for_all() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::Sse] {
        let behind = form.serve_as(&[], json!({ "session": "shared" }), Gateway::builder()).await;
        for capabilities in [json!({}), everything(), json!({ "sampling": {} })] {
            sees(&HttpClient::connect_as(&behind.gateway.url(), with(&capabilities)).await, &json!({})).await;
            sees(&ModernClient::with(&behind.gateway.url(), with(&capabilities)), &json!({})).await;
        }
        assert_eq!(declared(&behind.journal), [json!({})], "{form:?}");
    }
}

#[tokio::test]
async fn an_entry_may_want_a_session_for_each_client() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::Sse] {
        let behind = form.serve_as(&[], json!({ "session": "per_client" }), Gateway::builder()).await;
        let capabilities = json!({ "elicitation": {} });
        let mut clients = Vec::new();
        for _ in 0..3 {
            let client = HttpClient::connect_as(&behind.gateway.url(), with(&capabilities)).await;
            sees(&client, &capabilities).await;
            clients.push(client);
        }
        for client in &clients {
            sees(client, &capabilities).await;
        }
        let own = vec![capabilities; 3];
        assert_eq!(declared(&behind.journal), [vec![json!({})], own].concat(), "{form:?}");
    }
}

#[tokio::test]
async fn a_session_of_one_client_ends_with_the_client() {
    for form in [Form::StdioLegacy, Form::HttpLegacy] {
        let behind = form.serve(&[]).await;
        let who = Answering::named("a", json!({ "roots": {} }));
        let client = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
        who.is_asked(&client, "roots", "once").await;
        client.delete().await;
        let end = if form == Form::StdioLegacy { "eof" } else { "delete" };
        behind.journal.wait_for(end, |journal| !journal.events(end).is_empty()).await;
        echoes(&behind.gateway.connect().await, "one.echo").await;
    }
}

#[tokio::test]
async fn a_program_that_cannot_run_twice_serves_everybody_by_the_session_that_all_share() {
    let builder = Gateway::builder();
    let (lock, journal) = (builder.directory().join("lock"), builder.journal("one"));
    let script = format!(
        "mkdir {} 2>/dev/null || exit 1; exec {} --faults --journal {}",
        lock.display(),
        bin("portolan-fixture").display(),
        journal.path().display()
    );
    let gateway =
        builder.server("one", json!({ "command": "/bin/sh", "args": ["-c", script] })).serve().await;
    listed(&gateway.connect().await, &["one"]).await;
    let who = Answering::everything("a");
    let old = HttpClient::connect_as(&gateway.url(), who.profile.clone()).await;
    let new = ModernClient::with(&gateway.url(), who.profile.clone());
    echoes(&old, "one.echo").await;
    echoes(&new, "one.echo").await;
    sees(&old, &json!({})).await;
    // On that session nobody is known to be there to ask; a bold server may, while only one client calls.
    let text = old.call_text("one.ask_elicitation", json!({})).await;
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen["result"], who.says("elicitation", "untagged"), "{text}");
    assert_eq!(journal.starts(), 1);
    let other = HttpClient::connect_as(&gateway.url(), who.profile.clone()).await;
    echoes(&other, "one.echo").await;
}

#[tokio::test]
async fn a_server_that_lists_by_what_is_declared_is_listed_and_called_so() {
    for form in Form::LASTING {
        let behind = form.serve(&["--capability-tools"]).await;
        let (some, none) = (json!({ "elicitation": {} }), json!({}));
        let tool = "one.only_with_elicitation".to_owned();
        for (capabilities, has_it) in [(&some, true), (&none, false), (&json!({ "sampling": {} }), false)] {
            let old = HttpClient::connect_as(&behind.gateway.url(), with(capabilities)).await;
            let new = ModernClient::with(&behind.gateway.url(), with(capabilities));
            sees(&old, capabilities).await;
            sees(&new, capabilities).await;
            if has_it {
                // What a session of its own lists comes with that session.
                old.wait_for_tools(|names| names.contains(&tool)).await;
                new.wait_for_tools(|names| names.contains(&tool)).await;
                echoes_its_name(&old, &tool).await;
                echoes_its_name(&new, &tool).await;
            } else {
                assert!(!old.tool_names().await.contains(&tool), "{form:?}: {capabilities}");
                assert!(!new.tool_names().await.contains(&tool), "{form:?}: {capabilities}");
            }
        }
    }
}

async fn echoes_its_name(client: &impl Client, tool: &str) {
    let text = client.call_text(tool, json!({})).await;
    assert!(text.contains("only_with_elicitation"), "{text}");
}

#[tokio::test]
async fn a_modern_server_is_shown_the_capabilities_of_each_request_on_one_connection() {
    for form in [Form::StdioModern, Form::HttpModern] {
        let behind = form.serve(&[]).await;
        for capabilities in [json!({}), json!({ "elicitation": {} }), everything()] {
            let old = HttpClient::connect_as(&behind.gateway.url(), with(&capabilities)).await;
            let new = ModernClient::with(&behind.gateway.url(), with(&capabilities));
            sees(&old, &capabilities).await;
            sees(&new, &capabilities).await;
        }
        assert_eq!(behind.journal.starts(), 1, "{form:?}");
        assert!(!behind.journal.saw("initialize"), "{form:?}");
    }
}

#[tokio::test]
async fn more_clients_than_sessions_wait_their_turn_and_all_are_asked() {
    // Each has roots, so each has a process of its own while it calls; there are at most eight.
    let behind = Form::StdioLegacy.serve(&[]).await;
    let callers = (0..12).map(|n| {
        let url = behind.gateway.url();
        tokio::spawn(async move {
            let who = Answering::named(&format!("c{n}"), json!({ "roots": {} }));
            let client = HttpClient::connect_as(&url, who.profile.clone()).await;
            for round in 0..3 {
                who.is_asked(&client, "roots", &format!("c{n}-{round}")).await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
}
