//! Clients of 2026-07-28 that declare the extension, at servers of either era.

use super::{EXTENSION, NEWER, OLDER, RELATED, ask, asked, declaring, of, refused, seen, text};
use crate::bridge::{Behind, Form};
use portolan_testkit::{Client as _, HttpClient, Modern as _, ModernClient, Profile};
use serde_json::{Value, json};

fn client(behind: &Behind) -> ModernClient {
    ModernClient::with(&behind.gateway.url(), declaring())
}

/// Calls a tool that becomes a task: its id, as the client knows it.
async fn created(client: &ModernClient, name: &str, arguments: Value) -> String {
    let result = ask(client, "tools/call", json!({ "name": name, "arguments": arguments })).await;
    assert_eq!(result["resultType"], "task", "{result}");
    for (present, absent) in [("ttlMs", "ttl"), ("pollIntervalMs", "pollInterval"), ("status", "task")] {
        assert!(result.get(present).is_some() && result.get(absent).is_none(), "{present}: {result}");
    }
    result["taskId"].as_str().unwrap().to_owned()
}

fn is_over(task: &Value) -> bool {
    ["completed", "failed", "cancelled"].iter().any(|status| task["status"] == *status)
}

#[tokio::test]
async fn tasks_of_a_server_of_the_same_era_pass_with_their_ids_in_both_directions() {
    for form in NEWER {
        let behind = form.serve(&[]).await;
        let client = client(&behind);
        let id = created(&client, "one.confirm_delete", json!({ "filename": "f" })).await;
        let own = id.strip_prefix("one~").unwrap_or_else(|| panic!("{form:?}: {id}"));
        let task = seen(&client, &id, |task| task["status"] == "input_required").await;
        assert_eq!(task["inputRequests"]["confirm"]["method"], "elicitation/create", "{form:?} {task}");
        let answers = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
        let told = ask(&client, "tasks/update", json!({ "taskId": id, "inputResponses": answers })).await;
        assert_eq!((&told["resultType"], told.get("taskId")), (&json!("complete"), None), "{form:?} {told}");
        let task = seen(&client, &id, is_over).await;
        assert_eq!((&task["taskId"], text(&task["result"])), (&json!(id), "Deleted f"), "{form:?} {task}");
        let acknowledged = ask(&client, "tasks/cancel", of(&id)).await;
        assert!(acknowledged.get("taskId").is_none(), "{form:?} {acknowledged}");
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            for seen in behind.journal.of(method) {
                assert_eq!(seen["params"]["taskId"], own, "{form:?} {method}");
                let header = (form == Form::HttpModern).then_some(own);
                assert_eq!(seen["headers"]["mcp-name"].as_str(), header, "{form:?} {method}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_of_an_older_server_that_has_to_be_a_task_is_one() {
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let client = client(&behind);
        let id = created(&client, "one.failing_job", json!({})).await;
        assert!(id.starts_with("one~"), "{form:?}: {id}");
        let task = seen(&client, &id, is_over).await;
        // A tool's own error is a failure there, and a result here.
        assert_eq!(
            (&task["status"], &task["result"]["isError"]),
            (&json!("completed"), &json!(true)),
            "{task}"
        );
        assert!(task["result"]["_meta"].get(RELATED).is_none(), "{form:?} {task}");
        assert_eq!(
            (&task["taskId"], &task["resultType"]),
            (&json!(id), &json!("complete")),
            "{form:?} {task}"
        );
        for _ in 0..2 {
            let acknowledged = ask(&client, "tasks/cancel", of(&id)).await;
            assert_eq!(acknowledged["resultType"], "complete", "{form:?} {acknowledged}");
            assert!(acknowledged.get("taskId").is_none(), "{form:?} {acknowledged}");
        }
        assert_eq!(ask(&client, "tasks/get", of(&id)).await["result"], task["result"], "{form:?}");
        for method in ["tasks/get", "tasks/cancel"] {
            refused(&client, method, of("one~nothing"), -32602).await;
        }
        let update = json!({ "taskId": "one~nothing", "inputResponses": {} });
        refused(&client, "tasks/update", update, -32602).await;
        assert_eq!(behind.journal.executions("failing_job"), 1, "{form:?}");
    }
}

#[tokio::test]
async fn what_an_older_server_asks_before_the_task_is_asked_before_the_task() {
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let client = client(&behind);
        let id = created(&client, "one.test_tool_with_task", json!({})).await;
        let task = seen(&client, &id, is_over).await;
        assert_eq!(text(&task["result"]), "Done for Ada", "{form:?}");
        assert_eq!(client.profile().asked().len(), 1, "{form:?}");
        assert_eq!(behind.journal.executions("test_tool_with_task"), 1, "{form:?}");
    }
}

#[tokio::test]
async fn what_an_older_servers_task_asks_is_in_the_task() {
    let behind = Form::HttpLegacy.serve(&[]).await;
    let profile = asked(json!({ "elicitation": {} }));
    let older = HttpClient::connect_as(&behind.gateway.url(), profile.clone()).await;
    let newer = client(&behind);
    let params = json!({ "name": "one.multi_input", "arguments": {}, "task": {} });
    let id = ask(&older, "tools/call", params).await["task"]["taskId"].as_str().unwrap().to_owned();
    let asks = |count: usize| {
        move |task: &Value| task["inputRequests"].as_object().is_some_and(|all| all.len() == count)
    };
    let task = seen(&newer, &id, asks(2)).await;
    assert_eq!(task["status"], "input_required", "{task}");
    let requests = task["inputRequests"].as_object().unwrap();
    for request in requests.values() {
        assert_eq!(request["params"]["_meta"][RELATED]["taskId"], id, "{task}");
    }
    for (number, key) in requests.keys().enumerate() {
        seen(&newer, &id, asks(2 - number)).await;
        let answers = json!({ key: { "action": "accept", "content": { "name": "Ada" } }, "other": {} });
        ask(&newer, "tasks/update", json!({ "taskId": id, "inputResponses": answers })).await;
    }
    let task = seen(&newer, &id, is_over).await;
    assert_eq!(text(&task["result"]), r#"{"name":"Ada"} and {"name":"Ada"}"#, "{task}");
    assert!(profile.asked().is_empty(), "who answers is who was asked");
}

#[tokio::test]
async fn whoever_has_not_declared_the_extension_cannot_ask_about_tasks() {
    for form in [Form::StdioLegacy, Form::HttpModern] {
        let behind = form.serve(&[]).await;
        let client = ModernClient::with(&behind.gateway.url(), Profile::default());
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let exchange = client.exchange(method, json!({ "taskId": "one~1", "inputResponses": {} })).await;
            assert_eq!(
                (exchange.status, &exchange.reply["error"]["code"]),
                (400, &json!(-32021)),
                "{method}"
            );
            let required = &exchange.reply["error"]["data"]["requiredCapabilities"];
            assert_eq!(*required, json!({ "extensions": { EXTENSION: {} } }), "{method}");
        }
        let listen = json!({ "notifications": { "taskIds": ["one~1"] } });
        let exchange = client.exchange("subscriptions/listen", listen).await;
        assert_eq!((exchange.status, &exchange.reply["error"]["code"]), (400, &json!(-32021)), "{form:?}");
        // What only older revisions have.
        for method in ["tasks/result", "tasks/list"] {
            let exchange = self::client(&behind).exchange(method, of("one~1")).await;
            assert_eq!(
                (exchange.status, &exchange.reply["error"]["code"]),
                (404, &json!(-32601)),
                "{method}"
            );
        }
    }
}

#[tokio::test]
async fn the_header_and_the_body_name_the_same_task() {
    let behind = Form::HttpModern.serve(&[]).await;
    let id = created(&client(&behind), "one.slow_compute", json!({ "seconds": 60 })).await;
    for (header, method) in [("one~other", "tasks/get"), ("", "tasks/cancel")] {
        let wrong = client(&behind).header("mcp-name", header);
        let exchange = wrong.exchange(method, of(&id)).await;
        assert_eq!((exchange.status, &exchange.reply["error"]["code"]), (400, &json!(-32020)), "{method}");
    }
    assert_eq!(client(&behind).ask("tasks/get", of(&id)).await["result"]["status"], "working");
}
