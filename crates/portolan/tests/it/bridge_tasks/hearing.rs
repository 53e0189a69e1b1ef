//! Streams of 2026-07-28 that are about tasks, of servers of either era.

use super::older::created;
use super::{EXTENSION, NEWER, OLDER, ask, asked, declaring, of, seen, text};
use crate::bridge::Form;
use crate::kit::listed;
use portolan_testkit::client::Pending;
use portolan_testkit::{Gateway, HttpClient, Journal, Modern as _, ModernClient, ModernStdio, Profile};
use serde_json::{Value, json};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Opens a stream about a task.
async fn listen(client: &ModernClient, id: &str) -> Pending {
    let stream = client.listen("\"ear\"", json!({ "taskIds": [id] })).await;
    assert_eq!(stream.messages.all()[0]["params"]["notifications"], json!({ "taskIds": [id] }));
    stream
}

/// The task as the stream brings it, in this status.
async fn hears(stream: &Pending, id: &str, status: &str) -> Value {
    let is_it =
        |message: &Value| message["method"] == "notifications/tasks" && message["params"]["status"] == status;
    let task = stream.messages.wait_for(status, is_it).await["params"].take();
    assert_eq!((&task["taskId"], &task["_meta"][SUBSCRIPTION]), (&json!(id), &json!("ear")), "{task}");
    for (present, absent) in [("ttlMs", "ttl"), ("pollIntervalMs", "pollInterval"), ("status", "resultType")]
    {
        assert!(task.get(present).is_some() && task.get(absent).is_none(), "{present}: {task}");
    }
    task
}

/// The requests for a stream about this task that the server has got.
fn streams_about(journal: &Journal, own: &str) -> Vec<Value> {
    let is_about = |line: &Value| line["params"]["notifications"]["taskIds"] == json!([own]);
    journal.of("subscriptions/listen").into_iter().filter(is_about).collect()
}

/// Over pipes the end of a stream is a message.
async fn ends_at_the_server(journal: &Journal, own: &str) {
    let id = streams_about(journal, own)[0]["id"].clone();
    let is_over = |journal: &Journal| {
        journal.of("notifications/cancelled").iter().any(|line| line["params"]["requestId"] == id)
    };
    journal.wait_for("the end of the stream", is_over).await;
}

#[tokio::test]
async fn a_stream_about_a_task_of_the_same_era_brings_it_to_its_end_and_the_server_is_asked_no_longer() {
    for form in NEWER {
        let behind = form.serve(&[]).await;
        let [all, alone] = [behind.gateway.url(), behind.gateway.server_url("one")]
            .map(|url| ModernClient::with(&url, declaring()));
        let params = json!({ "name": "one.confirm_delete", "arguments": { "filename": "f" } });
        let id = ask(&all, "tools/call", params).await["taskId"].as_str().unwrap().to_owned();
        let own = id.strip_prefix("one~").unwrap();
        seen(&all, &id, |task| task["status"] == "input_required").await;
        let streams = [(listen(&all, &id).await, id.as_str()), (listen(&alone, own).await, own)];
        assert_eq!(streams_about(&behind.journal, own).len(), 1, "{form:?}: one stream is enough for both");
        let answers = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
        ask(&all, "tasks/update", json!({ "taskId": id, "inputResponses": answers })).await;
        for (stream, id) in &streams {
            let task = hears(stream, id, "completed").await;
            assert_eq!(text(&task["result"]), "Deleted f", "{form:?} {task}");
        }
        if form == Form::StdioModern {
            ends_at_the_server(&behind.journal, own).await;
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_closed_ends_at_the_server_too() {
    let behind = Form::StdioModern.serve(&[]).await;
    let client = ModernClient::with(&behind.gateway.url(), declaring());
    let params = json!({ "name": "one.slow_compute", "arguments": { "seconds": 60 } });
    let id = ask(&client, "tools/call", params).await["taskId"].as_str().unwrap().to_owned();
    let own = id.strip_prefix("one~").unwrap();
    let [one, other] = [listen(&client, &id).await, listen(&client, &id).await];
    drop(one);
    // What the other hears shows that the end of the first was not taken for the end of both.
    ask(&client, "tasks/cancel", of(&id)).await;
    hears(&other, &id, "cancelled").await;
    ends_at_the_server(&behind.journal, own).await;
    let params = json!({ "name": "one.slow_compute", "arguments": { "seconds": 60 } });
    let id = ask(&client, "tools/call", params).await["taskId"].as_str().unwrap().to_owned();
    drop(listen(&client, &id).await);
    ends_at_the_server(&behind.journal, id.strip_prefix("one~").unwrap()).await;
}

#[tokio::test]
async fn a_stream_about_an_older_servers_task_brings_it_whole() {
    for form in OLDER {
        let behind = form.serve(&[]).await;
        let profile = asked(json!({ "elicitation": {} }));
        let older = HttpClient::connect_as(&behind.gateway.url(), profile).await;
        let newer = ModernClient::with(&behind.gateway.url(), declaring());
        let id = created(&older, "one.confirm_delete", json!({ "filename": "f" })).await;
        seen(&older, &id, |task| task["status"] == "input_required").await;
        let stream = listen(&newer, &id).await;
        ask(&older, "tasks/result", of(&id)).await;
        let task = hears(&stream, &id, "completed").await;
        assert_eq!(text(&task["result"]), "Deleted f", "{form:?} {task}");
        let id = created(&older, "one.slow_compute", json!({ "seconds": 60 })).await;
        let stream = listen(&newer, &id).await;
        ask(&older, "tasks/cancel", of(&id)).await;
        hears(&stream, &id, "cancelled").await;
        assert!(!behind.journal.saw("subscriptions/listen"), "{form:?}");
    }
}

#[tokio::test]
async fn over_pipes_a_stream_about_tasks_takes_the_extension_as_well() {
    let (_behind, pipes) = Form::StdioModern.over_stdio(&[], Profile::default()).await;
    let client = ModernStdio::over(pipes, Profile::default());
    let params = json!({ "notifications": { "taskIds": ["one~1"] } });
    let reply = client.once("subscriptions/listen", params).await;
    assert_eq!(reply["error"]["code"], -32021, "{reply}");
    let required = &reply["error"]["data"]["requiredCapabilities"]["extensions"];
    assert_eq!(*required, json!({ EXTENSION: {} }), "{reply}");
}

#[tokio::test]
async fn a_stream_is_not_about_tasks_of_nobody() {
    let mut builder = Gateway::builder();
    let mut servers = Vec::new();
    for name in ["one", "two"] {
        let server = Form::HttpModern.start(name, &[], &builder).await;
        builder = builder.server(name, server.entry.clone());
        servers.push(server);
    }
    let gateway = builder.serve().await;
    listed(&gateway.connect().await, &["one", "two"]).await;
    let client = ModernClient::with(&gateway.url(), declaring());
    let ids = json!(["one~1", "nobody~1", "1", 1, "two~a"]);
    let stream = client.listen("1", json!({ "taskIds": ids })).await;
    let granted = &stream.messages.all()[0]["params"]["notifications"];
    assert_eq!(*granted, json!({ "taskIds": ["one~1", "two~a"] }));
    let behind = Form::HttpModern.serve(&["--without", "tasks"]).await;
    let client = ModernClient::with(&behind.gateway.url(), declaring());
    let stream = client.listen("1", json!({ "taskIds": ["one~1"] })).await;
    assert_eq!(stream.messages.all()[0]["params"]["notifications"], json!({}));
}
