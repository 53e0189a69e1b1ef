//! Lists that change: every kind of client hears of every kind of list.

use super::scripted::{self, Scripted};
use super::{Form, Front};
use crate::kit::listed;
use futures_util::{StreamExt as _, stream};
use portolan_testkit::{Client, Gateway, HttpClient, ModernClient, ModernStdio, Profile, Record, SseClient};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

const KINDS: [&str; 3] = ["tools", "prompts", "resources"];

fn all_kinds() -> Value {
    json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true })
}

fn list_changed(kind: &str) -> String {
    format!("notifications/{kind}/list_changed")
}

async fn hears(record: &Record<Value>, from: usize, method: &str, what: &str) {
    record.wait_after(from, &format!("{what}: {method}"), |message| message["method"] == method).await;
}

/// The call that changes a list of this kind.
async fn change(client: &impl Client, kind: &str) {
    client.call(&format!("one.test_trigger_{}_change", kind.trim_end_matches('s')), json!({})).await;
}

/// The call that only says so.
async fn pretend(client: &impl Client, kind: &str) {
    client.call("one.flood", json!({ "count": 1, "method": list_changed(kind) })).await;
}

#[tokio::test]
async fn a_changed_list_of_each_kind_is_told_to_clients_of_either_era_over_http_and_sse() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let client = behind.gateway.connect().await;
        let old = HttpClient::connect(&behind.gateway.url()).await;
        let own = HttpClient::connect(&behind.gateway.server_url("one")).await;
        let (stream, own_stream) = (old.open_get_stream().await, own.open_get_stream().await);
        let sse = SseClient::connect(&behind.gateway.url_of("/sse")).await;
        let new = ModernClient::new(&behind.gateway.url()).listen("1", all_kinds()).await;
        let own_new = ModernClient::new(&behind.gateway.server_url("one")).listen("1", all_kinds()).await;
        let records = [
            ("http", &*stream.messages),
            ("one server over http", &*own_stream.messages),
            ("sse", sse.messages()),
            ("modern", &*new.messages),
            ("one server in modern", &*own_new.messages),
        ];
        for kind in KINDS {
            let from: Vec<usize> = records.iter().map(|(_, record)| record.len()).collect();
            change(&client, kind).await;
            for ((who, record), from) in records.iter().zip(&from) {
                hears(record, *from, &list_changed(kind), &format!("{form:?}, {who}")).await;
            }
            // Without any difference as well: only the server knows what it means by it.
            let from: Vec<usize> = records.iter().map(|(_, record)| record.len()).collect();
            pretend(&client, kind).await;
            for ((who, record), from) in records.iter().zip(&from) {
                hears(record, *from, &list_changed(kind), &format!("{form:?}, {who}, no difference")).await;
            }
        }
    }
}

#[tokio::test]
async fn a_changed_list_of_each_kind_is_told_over_stdio_in_either_era() {
    for form in Form::ALL {
        let (_behind, pipes) = form.over_stdio(&["--faults"], Profile::default()).await;
        pipes.initialize().await;
        listed(&pipes, &["one"]).await;
        let client = ModernStdio::over(pipes, Profile::default());
        client.listen("\"l\"", all_kinds()).await;
        let key = "io.modelcontextprotocol/subscriptionId";
        for kind in KINDS {
            for is_real in [true, false] {
                let from = client.pipes.messages().len();
                if is_real {
                    change(&client, kind).await;
                } else {
                    pretend(&client, kind).await;
                }
                for is_modern in [true, false] {
                    let is_it = |message: &Value| {
                        message["method"] == list_changed(kind)
                            && (message["params"]["_meta"][key] == "l") == is_modern
                    };
                    let what = format!("{form:?}: {kind}, modern {is_modern}, real {is_real}");
                    client.pipes.messages().wait_after(from, &what, is_it).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn whoever_hears_of_a_changed_list_and_asks_for_it_sees_the_change() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        let old = behind.gateway.connect().await;
        let stream = old.open_get_stream().await;
        let new = ModernClient::new(&behind.gateway.url());
        for (kind, name) in [
            ("tools", "one.triggered_tool"),
            ("prompts", "one.triggered_prompt"),
            ("resources", "test://triggered"),
        ] {
            let from = stream.messages.len();
            change(&old, kind).await;
            hears(&stream.messages, from, &list_changed(kind), &format!("{form:?}")).await;
            let method = format!("{kind}/list");
            let key = if kind == "resources" { "uri" } else { "name" };
            for reply in [old.ask(&method, json!({})).await, new.ask(&method, json!({})).await] {
                let list = reply["result"][kind].as_array().unwrap().clone();
                assert!(
                    list.iter().any(|entry| entry[key] == name),
                    "{form:?}: {kind} after the word: {reply}"
                );
            }
        }
    }
}

/// A server of 2026-07-28 that has one more tool from the moment on that it is listened to, and says so to nobody: when
/// that happened nobody listened yet.
async fn late_starter() -> Scripted {
    let is_listened_to = AtomicBool::new(false);
    Scripted::start(move |message| {
        let Some(id) = message.get("id").cloned() else { return scripted::accepted() };
        match message["method"].as_str() {
            Some("server/discover") => scripted::result(&id, scripted::discovered()),
            Some("tools/list") => {
                let names: &[&str] =
                    if is_listened_to.load(Ordering::Relaxed) { &["early", "late"] } else { &["early"] };
                scripted::result(&id, scripted::tools(names))
            }
            Some("subscriptions/listen") => {
                is_listened_to.store(true, Ordering::Relaxed);
                let params = json!({ "notifications": message["params"]["notifications"],
                    "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
                let method = "notifications/subscriptions/acknowledged";
                let acknowledged = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                scripted::events(stream::once(async { acknowledged }).chain(stream::pending()))
            }
            _ => scripted::no_such_method(&id),
        }
    })
    .await
}

#[tokio::test]
async fn what_changed_before_the_server_was_listened_to_is_not_missed() {
    let server = late_starter().await;
    let gateway = Gateway::builder().server("one", server.entry()).serve().await;
    let client = gateway.connect().await;
    client.wait_for_tools(|names| names.iter().any(|name| name == "one.late")).await;
}

#[tokio::test]
async fn f39_a_server_whose_tools_change_with_every_look_is_told_of_and_never_torn() {
    for form in Form::ALL {
        let behind = form.serve(&["--changing-tools", "--faults"]).await;
        for front in Front::ALL {
            let client = front.connect(&behind, Profile::default()).await;
            for _ in 0..5 {
                client.call("one.change_tools", json!({})).await;
                let names = client.tool_names().await;
                let generations: Vec<&String> =
                    names.iter().filter(|name| name.contains("generation_")).collect();
                assert_eq!(generations.len(), 1, "{form:?} {front:?}: {generations:?}");
                assert!(names.iter().any(|name| name == "one.echo"), "{form:?} {front:?}");
            }
        }
    }
}
