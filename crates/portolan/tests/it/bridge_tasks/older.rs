//! Clients of 2025-11-25, which ask for tasks, at servers of either era.

use super::{NEWER, OLDER, RELATED, ask, asked, of, refused, seen, text};
use crate::bridge::{Behind, Form};
use portolan_testkit::{Client as _, HttpClient, Profile, SseClient};
use serde_json::{Value, json};

fn all() -> impl Iterator<Item = Form> {
    OLDER.into_iter().chain(NEWER)
}

async fn client(behind: &Behind) -> HttpClient {
    HttpClient::connect_as(&behind.gateway.url(), asked(json!({ "elicitation": {} }))).await
}

/// Calls a tool as a task: its id, as the client knows it.
pub(super) async fn created(client: &impl portolan_testkit::Client, name: &str, arguments: Value) -> String {
    let params = json!({ "name": name, "arguments": arguments, "task": { "ttl": 60_000 } });
    let result = ask(client, "tools/call", params).await;
    let task = &result["task"];
    assert_eq!(task["status"], "working", "{result}");
    for (present, absent) in
        [("ttl", "ttlMs"), ("pollInterval", "pollIntervalMs"), ("createdAt", "resultType")]
    {
        assert!(task.get(present).is_some() && task.get(absent).is_none(), "{present}: {result}");
        assert!(result.get("resultType").is_none(), "{result}");
    }
    task["taskId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_task_is_known_by_its_server_among_all_and_by_its_own_id_alone() {
    for form in all() {
        let behind = form.serve(&[]).await;
        let among_all = behind.gateway.connect().await;
        let shown = created(&among_all, "one.slow_compute", json!({ "seconds": 60 })).await;
        let own = shown.strip_prefix("one~").unwrap_or_else(|| panic!("{form:?}: {shown}"));
        let alone = behind.gateway.connect_to("one").await;
        for id in [&shown, own] {
            assert_eq!(ask(&among_all, "tasks/get", of(id)).await["taskId"], shown, "{form:?}");
            assert_eq!(ask(&alone, "tasks/get", of(id)).await["taskId"], own, "{form:?}");
        }
        let second = created(&alone, "slow_compute", json!({ "seconds": 60 })).await;
        assert!(!second.contains('~'), "{form:?}: {second}");
        for id in ["one~nothing", "nobody~1", "one~", ""] {
            refused(&among_all, "tasks/get", of(id), -32602).await;
        }
        refused(&among_all, "tasks/get", json!({}), -32602).await;
    }
}

#[tokio::test]
async fn a_client_that_asks_for_a_task_gets_one_and_its_result_later() {
    for form in all() {
        let behind = form.serve(&[]).await;
        let client = client(&behind).await;
        let id = created(&client, "one.slow_compute", json!({ "seconds": 0.1, "label": "it" })).await;
        let result = ask(&client, "tasks/result", of(&id)).await;
        assert_eq!(text(&result), "Computed it in 0.1 s", "{form:?}");
        assert_eq!(result["_meta"][RELATED]["taskId"], id, "{form:?} {result}");
        assert!(result.get("resultType").is_none(), "{form:?} {result}");
        let task = ask(&client, "tasks/get", of(&id)).await;
        assert_eq!((&task["status"], task.get("result")), (&json!("completed"), None), "{form:?} {task}");
        assert_eq!(behind.journal.executions("slow_compute"), 1, "{form:?}");
    }
}

#[tokio::test]
async fn a_task_that_fails_says_so_as_2025_11_25_has_it() {
    for form in all() {
        let behind = form.serve(&[]).await;
        let client = client(&behind).await;
        let id = created(&client, "one.failing_job", json!({})).await;
        let result = ask(&client, "tasks/result", of(&id)).await;
        assert_eq!(result["isError"], true, "{form:?} {result}");
        // A tool's own error is a failure in this revision, and a result in the next.
        assert_eq!(ask(&client, "tasks/get", of(&id)).await["status"], "failed", "{form:?}");
        let id = created(&client, "one.protocol_error_job", json!({})).await;
        let error = refused(&client, "tasks/result", of(&id), -32603).await;
        assert_eq!(error["message"], "The job broke", "{form:?} {error}");
        assert_eq!(ask(&client, "tasks/get", of(&id)).await["status"], "failed", "{form:?}");
    }
}

#[tokio::test]
async fn a_task_can_be_cancelled_once() {
    for form in all() {
        let behind = form.serve(&[]).await;
        let client = client(&behind).await;
        let id = created(&client, "one.slow_compute", json!({ "seconds": 60 })).await;
        let task = ask(&client, "tasks/cancel", of(&id)).await;
        assert_eq!((&task["status"], &task["taskId"]), (&json!("cancelled"), &json!(id)), "{form:?} {task}");
        refused(&client, "tasks/cancel", of(&id), -32602).await;
        refused(&client, "tasks/result", of(&id), -32602).await;
    }
}

#[tokio::test]
async fn what_a_task_asks_reaches_its_client_by_the_id_that_the_client_knows_and_comes_back_by_the_servers_own()
 {
    for form in all() {
        let behind = form.serve(&[]).await;
        let profile = asked(json!({ "elicitation": {} }));
        let questions = profile.asked().clone();
        let client = HttpClient::connect_as(&behind.gateway.url(), profile).await;
        let id = created(&client, "one.confirm_delete", json!({ "filename": "f" })).await;
        seen(&client, &id, |task| task["status"] == "input_required").await;
        let result = ask(&client, "tasks/result", of(&id)).await;
        assert_eq!(text(&result), "Deleted f", "{form:?}");
        assert_eq!(questions.len(), 1, "{form:?}: {:?}", questions.all());
        if form.is_modern() {
            let told = behind.journal.of("tasks/update");
            assert_eq!(told[0]["params"]["inputResponses"]["confirm"]["action"], "accept", "{form:?}");
            continue;
        }
        assert_eq!(questions.all()[0]["params"]["_meta"][RELATED]["taskId"], id, "{form:?}");
        let own = id.strip_prefix("one~").unwrap();
        let answers = behind.journal.messages();
        let is_answer = |line: &Value| line["result"]["_meta"][RELATED]["taskId"] == own;
        assert!(answers.iter().any(is_answer), "{form:?}: {answers:?}");
    }
}

#[tokio::test]
async fn a_task_is_found_again_while_others_who_declare_the_same_have_calls_running() {
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let [one, other] = [client(&behind).await, client(&behind).await];
        let id = created(&one, "one.slow_compute", json!({ "seconds": 60 })).await;
        let calling = tokio::spawn(async move {
            let arguments = json!({ "seconds": 60, "label": "other" });
            other.start_call("one.slow_compute", arguments).await
        });
        behind.journal.wait_for_executions("slow_compute", 2).await;
        assert_eq!(ask(&one, "tasks/get", of(&id)).await["status"], "working", "{form:?}");
        assert_eq!(ask(&one, "tasks/cancel", of(&id)).await["status"], "cancelled", "{form:?}");
        calling.abort();
    }
}

#[tokio::test]
async fn several_questions_of_a_task_are_asked_once_each() {
    for form in all() {
        let behind = form.serve(&[]).await;
        let client = client(&behind).await;
        let id = created(&client, "one.multi_input", json!({})).await;
        let result = ask(&client, "tasks/result", of(&id)).await;
        assert_eq!(text(&result).matches("Ada").count(), 2, "{form:?} {result}");
    }
}

#[tokio::test]
async fn a_client_lists_its_own_tasks_and_nobody_elses() {
    for form in OLDER {
        let behind = form.serve(&["--pages", "1"]).await;
        let [one, other] = [behind.gateway.connect().await, behind.gateway.connect().await];
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(created(&one, "one.slow_compute", json!({ "seconds": 60 })).await);
        }
        let others = created(&other, "one.slow_compute", json!({ "seconds": 60 })).await;
        let listed = async |client: &HttpClient| -> Vec<String> {
            let tasks = ask(client, "tasks/list", json!({})).await["tasks"].take();
            let id = |task: &Value| task["taskId"].as_str().unwrap().to_owned();
            let mut ids: Vec<String> = tasks.as_array().unwrap().iter().map(id).collect();
            ids.sort();
            ids
        };
        ids.sort();
        assert_eq!(listed(&one).await, ids, "{form:?}");
        assert_eq!(listed(&other).await, [others], "{form:?}");
        refused(&one, "tasks/list", json!({ "cursor": "made up" }), -32602).await;
    }
    for form in NEWER {
        let behind = form.serve(&[]).await;
        let client = client(&behind).await;
        created(&client, "one.slow_compute", json!({ "seconds": 60 })).await;
        assert_eq!(ask(&client, "tasks/list", json!({})).await, json!({ "tasks": [] }), "{form:?}");
    }
}

#[tokio::test]
async fn only_the_client_whose_task_it_is_hears_of_it() {
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let url = behind.gateway.url_of("/sse");
        let [one, other] = [SseClient::connect(&url).await, SseClient::connect(&url).await];
        let of_task = |message: &Value| message["method"] == "notifications/tasks/status";
        let first = created(&one, "one.failing_job", json!({})).await;
        let told = one.messages().wait_for("news of the task", of_task).await;
        assert_eq!((&told["params"]["taskId"], &told["params"]["status"]), (&json!(first), &json!("failed")));
        let second = created(&other, "one.failing_job", json!({})).await;
        let told = other.messages().wait_for("news of the task", of_task).await;
        assert_eq!(told["params"]["taskId"], second, "{form:?}");
    }
}

#[tokio::test]
async fn a_wish_for_a_task_is_not_passed_on_where_it_means_nothing() {
    for form in all() {
        let behind = form.serve(&["--without", "tasks"]).await;
        let client = client(&behind).await;
        let params = json!({ "name": "one.slow_compute", "arguments": { "seconds": 0 }, "task": {} });
        assert_eq!(text(&ask(&client, "tools/call", params).await), "Computed nothing in 0 s", "{form:?}");
    }
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let profile = Profile::default().revision("2025-06-18");
        let client = HttpClient::connect_as(&behind.gateway.url(), profile).await;
        let params = json!({ "name": "one.slow_compute", "arguments": { "seconds": 0 }, "task": {} });
        assert_eq!(text(&ask(&client, "tools/call", params).await), "Computed nothing in 0 s", "{form:?}");
        assert!(behind.journal.calls("slow_compute")[0]["params"].get("task").is_none(), "{form:?}");
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
            assert_eq!(client.ask(method, of("one~1")).await["error"]["code"], -32601, "{form:?} {method}");
        }
    }
}

#[tokio::test]
async fn a_tasks_progress_goes_on_by_the_token_of_its_call() {
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let url = behind.gateway.url_of("/sse");
        let [one, other] = [SseClient::connect(&url).await, SseClient::connect(&url).await];
        let params = json!({ "name": "one.slow_compute", "arguments": { "seconds": 0.4 }, "task": {},
            "_meta": { "progressToken": "mine" } });
        let id = ask(&one, "tools/call", params).await["task"]["taskId"].clone();
        let is_progress = |message: &Value| message["method"] == "notifications/progress";
        let told = one.messages().wait_for("progress", is_progress).await["params"].take();
        assert_eq!(
            (&told["progressToken"], &told["progress"]),
            (&json!("mine"), &json!(1)),
            "{form:?} {told}"
        );
        assert_eq!(told["_meta"][RELATED]["taskId"], id, "{form:?} {told}");
        let id = id.as_str().unwrap();
        ask(&one, "tasks/result", of(id)).await;
        assert!(!other.messages().all().iter().any(is_progress), "{form:?}");
    }
}

#[tokio::test]
async fn over_pipes_what_a_task_asks_during_another_call_comes_by_the_id_that_its_client_knows() {
    for form in [Form::StdioLegacy, Form::Sse] {
        let behind = form.serve(&[]).await;
        let profile = asked(json!({ "elicitation": {} }));
        let questions = profile.asked().clone();
        let client = HttpClient::connect_as(&behind.gateway.url(), profile).await;
        let call = client.start_call("one.slow_compute", json!({ "seconds": 2 }));
        let task = async {
            behind.journal.wait_for_executions("slow_compute", 1).await;
            let arguments = json!({ "filename": "f", "seconds": 0.3 });
            let id = created(&client, "one.confirm_delete", arguments).await;
            assert_eq!(text(&ask(&client, "tasks/result", of(&id)).await), "Deleted f", "{form:?}");
            id
        };
        let (call, id) = tokio::join!(call, task);
        call.finish().await;
        assert_eq!(questions.len(), 1, "{form:?}");
        assert_eq!(questions.all()[0]["params"]["_meta"][RELATED]["taskId"], id, "{form:?}");
        let own = id.strip_prefix("one~").unwrap();
        let is_answer = |line: &Value| line["result"]["_meta"][RELATED]["taskId"] == own;
        assert!(behind.journal.messages().iter().any(is_answer), "{form:?}");
    }
}
