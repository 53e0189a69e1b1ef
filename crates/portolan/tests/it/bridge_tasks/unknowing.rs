//! Clients that know nothing of tasks: they get their answers, however those come about.

use super::{EXTENSION, NEWER, OLDER, asked, text};
use crate::bridge::Form;
use portolan_testkit::{Client, Gateway, HttpClient, ModernClient, Profile};
use serde_json::{Value, json};

/// How often something is tried that has to be quicker than the fixture's job, which takes a third of a second.
const TRIES: usize = 20;

fn unknowing(revision: &str) -> Profile {
    asked(json!({ "elicitation": {} })).revision(revision)
}

/// What has to be a task, and asks first.
async fn answered(client: &impl Client, what: &str) {
    let result = client.call("one.failing_job", json!({})).await;
    assert_eq!((&result["isError"], result.get("task")), (&json!(true), None), "{what} {result}");
    assert!(result.get("_meta").is_none_or(|meta| !meta.to_string().contains("task")), "{what} {result}");
    assert_eq!(client.call_text("one.test_tool_with_task", json!({})).await, "Done for Ada", "{what}");
}

#[tokio::test]
async fn a_tool_that_has_to_be_a_task_is_answered_like_any_other() {
    for form in OLDER.into_iter().chain(NEWER) {
        let behind = form.serve(&[]).await;
        for revision in ["2025-03-26", "2025-11-25"] {
            let client = HttpClient::connect_as(&behind.gateway.url(), unknowing(revision)).await;
            answered(&client, &format!("{form:?} {revision}")).await;
        }
        for call in behind.journal.calls("failing_job") {
            let is_task = call["params"]["task"].is_object();
            assert_eq!(is_task, !form.is_modern(), "{form:?}: {call}");
        }
        assert_eq!(behind.journal.saw("tasks/result"), !form.is_modern(), "{form:?}");
    }
}

#[tokio::test]
async fn a_newer_client_is_answered_by_an_older_server_and_told_by_a_newer_one_what_it_lacks() {
    for form in OLDER.into_iter().chain(NEWER) {
        let behind = form.serve(&[]).await;
        let client = ModernClient::with(&behind.gateway.url(), unknowing("2026-07-28"));
        if !form.is_modern() {
            answered(&client, &format!("{form:?}")).await;
            continue;
        }
        let error = client.try_call("one.failing_job", json!({})).await.unwrap_err();
        assert_eq!(error["code"], -32021, "{form:?} {error}");
        let required = &error["data"]["requiredCapabilities"]["extensions"];
        assert_eq!(*required, json!({ EXTENSION: {} }), "{form:?} {error}");
    }
}

#[tokio::test]
async fn without_mcp_it_is_the_same() {
    for form in [Form::StdioLegacy, Form::HttpModern] {
        let behind = form.serve(&[]).await;
        let body = json!({ "name": "one.failing_job", "arguments": {} });
        let answer = behind.gateway.rest().post("/tools/call", body).await.json(200);
        assert_eq!((&answer["isError"], text(&answer)), (&json!(true), "The job failed, as it always does"));
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_takes_its_task_along() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::StdioModern, Form::HttpModern] {
        let behind = form.serve(&[]).await;
        let client = HttpClient::connect(&behind.gateway.url()).await;
        let method = if form.is_modern() { "tasks/get" } else { "tasks/result" };
        for number in 0..TRIES {
            let id = format!("\"c{number}\"");
            let asked = behind.journal.of(method).len();
            let params = json!({ "name": "one.failing_job", "arguments": {} });
            let (caller, call_id) = (client.clone(), id.clone());
            let call = tokio::spawn(async move { caller.start(&call_id, "tools/call", params).await });
            behind.journal.wait_for("the task", |journal| journal.of(method).len() > asked).await;
            let id: Value = serde_json::from_str(&id).unwrap();
            client.notify("notifications/cancelled", json!({ "requestId": id })).await;
            // Whether the task or the wish was first, something comes of it.
            let over =
                |journal: &portolan_testkit::Journal| journal.saw("tasks/cancel") || call.is_finished();
            behind.journal.wait_for("the end", over).await;
            call.abort();
            if behind.journal.saw("tasks/cancel") {
                break;
            }
        }
        assert!(behind.journal.saw("tasks/cancel"), "{form:?}");
    }
}

#[tokio::test]
async fn a_task_that_takes_longer_than_a_call_may_is_given_up_and_ended() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::StdioModern, Form::HttpModern] {
        let behind = form.serve_as(&[], json!({ "timeout": "100ms" }), Gateway::builder()).await;
        let client = HttpClient::connect(&behind.gateway.url()).await;
        let mut error = Value::Null;
        for _ in 0..TRIES {
            if let Err(timed_out) = client.try_call("one.failing_job", json!({})).await {
                error = timed_out;
                break;
            }
        }
        assert_eq!(
            (&error["code"], &error["data"]["timeout_ms"]),
            (&json!(-32603), &json!(100)),
            "{form:?} {error}"
        );
        behind.journal.wait_for_method("tasks/cancel").await;
    }
}
