//! Tasks between the eras: every client gets what it can make something of, from servers with either form of them.

mod declaring;
mod hearing;
mod older;
mod unknowing;

use crate::bridge::Form;
use portolan_testkit::{Client, Profile};
use serde_json::{Value, json};
use std::time::Duration;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The forms of servers that keep tasks between two requests.
const OLDER: [Form; 3] = [Form::StdioLegacy, Form::HttpLegacy, Form::Sse];
const NEWER: [Form; 2] = [Form::StdioModern, Form::HttpModern];

/// Somebody who confirms and names everything, and says with each answer to which task it belongs.
fn asked(capabilities: Value) -> Profile {
    Profile::named("asked").capabilities(capabilities).answer_with("elicitation/create", |params| {
        let content = json!({ "confirm": true, "name": "Ada" });
        json!({ "action": "accept", "content": content, "_meta": { RELATED: params["_meta"][RELATED] } })
    })
}

/// Declares the extension and that it can be asked.
fn declaring() -> Profile {
    asked(json!({ "elicitation": {}, "extensions": { EXTENSION: {} } }))
}

/// Sends a request that must succeed: its result.
async fn ask(client: &impl Client, method: &str, params: Value) -> Value {
    let mut reply = client.ask(method, params).await;
    assert!(reply.get("result").is_some(), "{method} failed: {reply}");
    reply["result"].take()
}

/// Sends a request that must fail with this code.
async fn refused(client: &impl Client, method: &str, params: Value, code: i64) -> Value {
    let mut reply = client.ask(method, params).await;
    assert_eq!(reply["error"]["code"], code, "{method}: {reply}");
    reply["error"].take()
}

fn of(id: &str) -> Value {
    json!({ "taskId": id })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// Looks at a task until it is so.
async fn seen(client: &impl Client, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let look = async {
        loop {
            let task = ask(client, "tasks/get", of(id)).await;
            if is_so(&task) {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let looked = tokio::time::timeout(portolan_testkit::DEADLINE, look).await;
    looked.unwrap_or_else(|_| panic!("{id} is not what it should be"))
}

/// The capabilities that a client of this revision is shown.
async fn capabilities(url: &str, revision: &str) -> Value {
    if revision == "2026-07-28" {
        let client = portolan_testkit::ModernClient::new(url);
        return ask(&client, "server/discover", Value::Null).await["capabilities"].clone();
    }
    let client = portolan_testkit::HttpClient::new(url).profile(Profile::default().revision(revision));
    client.initialize().await.result()["capabilities"].clone()
}

#[tokio::test]
async fn tasks_are_declared_in_the_form_of_the_client_wherever_a_server_has_either() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::StdioModern, Form::HttpModern] {
        let behind = form.serve(&[]).await;
        for url in [behind.gateway.url(), behind.gateway.server_url("one")] {
            let older = capabilities(&url, "2025-11-25").await;
            assert_eq!(older["tasks"]["requests"], json!({ "tools": { "call": {} } }), "{form:?} {older}");
            assert_eq!(older["tasks"].get("list").is_some(), !form.is_modern(), "{form:?} {older}");
            assert!(older["extensions"].get(EXTENSION).is_none(), "{form:?} {older}");
            let newer = capabilities(&url, "2026-07-28").await;
            assert_eq!(newer["extensions"][EXTENSION], json!({}), "{form:?} {newer}");
            assert!(newer.get("tasks").is_none(), "{form:?} {newer}");
            let oldest = capabilities(&url, "2025-06-18").await;
            assert!(oldest.get("tasks").is_none(), "{form:?} {oldest}");
        }
    }
}

#[tokio::test]
async fn tasks_are_not_declared_where_no_server_has_any() {
    for form in [Form::StdioLegacy, Form::HttpModern] {
        let behind = form.serve(&["--without", "tasks"]).await;
        for url in [behind.gateway.url(), behind.gateway.server_url("one")] {
            assert!(capabilities(&url, "2025-11-25").await.get("tasks").is_none(), "{form:?}");
            let newer = capabilities(&url, "2026-07-28").await;
            assert!(newer["extensions"].get(EXTENSION).is_none(), "{form:?} {newer}");
        }
        let alone = behind.gateway.connect_to("one").await;
        refused(&alone, "tasks/get", of("1"), -32601).await;
        refused(&behind.gateway.connect().await, "tasks/get", of("one~1"), -32602).await;
    }
}

#[tokio::test]
async fn what_can_be_a_task_is_said_to_those_who_go_by_it_whatever_the_server_says() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::StdioModern, Form::HttpModern] {
        let behind = form.serve(&[]).await;
        for (url, prefix) in [(behind.gateway.url(), "one."), (behind.gateway.server_url("one"), "")] {
            let support = async |revision: &str, tool: &str| {
                let profile = Profile::default().revision(revision);
                let tools = if revision == "2026-07-28" {
                    portolan_testkit::ModernClient::with(&url, profile).ask("tools/list", json!({})).await
                } else {
                    let client = portolan_testkit::HttpClient::connect_as(&url, profile).await;
                    client.ask("tools/list", json!({})).await
                };
                let name = format!("{prefix}{tool}");
                let tools = tools["result"]["tools"].as_array().unwrap();
                let tool = tools.iter().find(|listed| listed["name"] == name.as_str());
                tool.unwrap_or_else(|| panic!("{form:?}: no {name}")).get("execution").cloned()
            };
            let told = |word: &str| Some(json!({ "taskSupport": word }));
            let of_modern = form.is_modern().then(|| json!({ "taskSupport": "optional" }));
            assert_eq!(support("2025-11-25", "echo").await, of_modern, "{form:?}");
            let required = if form.is_modern() { told("optional") } else { told("required") };
            assert_eq!(support("2025-11-25", "failing_job").await, required, "{form:?}");
            for revision in ["2025-06-18", "2026-07-28"] {
                assert_eq!(support(revision, "failing_job").await, None, "{form:?} {revision}");
            }
        }
        let without = form.serve(&["--without", "tasks"]).await;
        let tools = without.gateway.connect().await.ask("tools/list", json!({})).await;
        assert!(!tools.to_string().contains("taskSupport"), "{form:?}");
    }
}
