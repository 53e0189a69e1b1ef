//! Servers that ask without end, or change their mind about a question.

use super::Answering;
use super::scripted::{self, Scripted};
use crate::kit::listed;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use portolan_testkit::{Client, Gateway, HttpClient, ModernClient, SseClient};
use serde_json::{Value, json};
use std::sync::Mutex;
use tokio::sync::oneshot;

async fn behind(server: &Scripted) -> Gateway {
    let gateway = Gateway::builder().server("one", server.entry()).serve().await;
    listed(&gateway.connect().await, &["one"]).await;
    gateway
}

fn question() -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "message": "And now?", "requestedSchema": schema })
}

/// Asks the same again with every answer.
async fn insatiable() -> Scripted {
    Scripted::start(|message| {
        let Some(id) = message.get("id") else { return scripted::accepted() };
        match message["method"].as_str() {
            Some("server/discover") => scripted::result(id, scripted::discovered()),
            Some("tools/list") => scripted::result(id, scripted::tools(&["ask"])),
            Some("tools/call") => {
                let asked = json!({ "q": { "method": "elicitation/create", "params": question() } });
                scripted::result(id, json!({ "resultType": "input_required", "inputRequests": asked }))
            }
            _ => scripted::no_such_method(id),
        }
    })
    .await
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_given_up_with_a_word_on_why() {
    let server = insatiable().await;
    let gateway = behind(&server).await;
    let who = Answering::everything("patient");
    let client = HttpClient::connect_as(&gateway.url(), who.profile.clone()).await;
    let error = client.try_call("one.ask", json!({})).await.unwrap_err();
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("one") && text.contains("times"), "{text}");
    let asked = who.asked().len();
    assert!((2..=20).contains(&asked), "asked {asked} times");
    // Whoever answers for itself also ends it for itself.
    let client = ModernClient::with(&gateway.url(), who.profile.clone());
    let asked = client.exchange("tools/call", json!({ "name": "one.ask" })).await;
    assert_eq!(asked.result()["resultType"], "input_required", "{}", asked.body);
}

/// Asks on the stream of its one call, takes the question back, and answers once it has been told that this was heard.
async fn fickle() -> Scripted {
    let asking: Mutex<Option<oneshot::Sender<()>>> = Mutex::default();
    Scripted::start(move |message| {
        let Some(method) = message["method"].as_str() else {
            if let Some(asking) = asking.lock().unwrap().take() {
                asking.send(()).unwrap_or_default();
            }
            return scripted::accepted();
        };
        let Some(id) = message.get("id") else { return scripted::accepted() };
        match method {
            "initialize" => scripted::result(id, scripted::welcome()),
            "tools/list" => scripted::result(id, scripted::tools(&["ask"])),
            "tools/call" => {
                let (sender, heard) = oneshot::channel();
                *asking.lock().unwrap() = Some(sender);
                on_second_thought(id.clone(), heard)
            }
            _ => scripted::no_such_method(id),
        }
    })
    .await
}

fn on_second_thought(id: Value, heard: oneshot::Receiver<()>) -> Response {
    let asked = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": question() });
    let taken_back = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "q" } });
    let last = stream::once(async move {
        heard.await.unwrap_or_default();
        let content = json!([{ "type": "text", "text": "never mind" }]);
        json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content } })
    });
    scripted::events(stream::iter([asked, taken_back]).chain(last))
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_taken_back_from_the_client_and_the_call_goes_on() {
    let server = fickle().await;
    let gateway = behind(&server).await;
    // It is asked and does not answer.
    let silent = || portolan_testkit::Profile::default().capabilities(json!({ "elicitation": {} }));
    let client = HttpClient::connect_as(&gateway.url(), silent()).await;
    let exchange = client.start_call("one.ask", json!({})).await.finish().await;
    assert_eq!(exchange.result()["content"][0]["text"], "never mind", "{}", exchange.body);
    let asked = exchange.notifications("elicitation/create");
    let taken_back = exchange.notifications("notifications/cancelled");
    assert_eq!((asked.len(), taken_back.len()), (1, 1), "{}", exchange.body);
    assert_eq!(taken_back[0]["params"]["requestId"], asked[0]["id"], "{}", exchange.body);
    let client = SseClient::connect_as(&gateway.url_of("/sse"), silent()).await;
    assert_eq!(client.call_text("one.ask", json!({})).await, "never mind");
    // One that would be asked by the answer to its request is not asked at all, or is and finds the call answered.
    let client = ModernClient::with(&gateway.url(), silent());
    assert_eq!(client.call_text("one.ask", json!({})).await, "never mind");
}
