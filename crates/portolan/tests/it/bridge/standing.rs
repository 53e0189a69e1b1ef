//! Servers of the handshake era may ask on the stream that belongs to no request: it has to be open before they can.

use super::Answering;
use super::scripted::{accepted, events, no_such_method, result, tools, welcome};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use futures_util::{StreamExt as _, stream};
use portolan_testkit::{Client as _, Gateway, HttpClient, ModernClient};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

/// How long the server takes to open its stream.
const SLOW: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Server {
    /// The streams that are open; whoever asks takes the newest.
    streams: Mutex<Vec<mpsc::Sender<Value>>>,
    answers: Mutex<Option<oneshot::Sender<Value>>>,
}

async fn open(State(server): State<Arc<Server>>) -> Response {
    tokio::time::sleep(SLOW).await;
    let (sender, messages) = mpsc::channel(8);
    server.streams.lock().unwrap().push(sender);
    // An empty event first, so that the head of the answer is on its way.
    let rest = stream::unfold(messages, async |mut messages| Some((messages.recv().await?, messages)));
    events(stream::once(async { json!({ "jsonrpc": "2.0", "method": "notifications/hello" }) }).chain(rest))
}

async fn take(State(server): State<Arc<Server>>, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let Some(method) = message["method"].as_str() else {
        if let Some(asking) = server.answers.lock().unwrap().take() {
            asking.send(message).unwrap();
        }
        return accepted();
    };
    let Some(id) = message.get("id") else { return accepted() };
    match method {
        "initialize" => result(id, welcome()),
        "tools/list" => result(id, tools(&["ask"])),
        "tools/call" => result(id, json!({ "content": [{ "type": "text", "text": server.ask().await }] })),
        _ => no_such_method(id),
    }
}

impl Server {
    async fn ask(&self) -> String {
        let Some(stream) = self.streams.lock().unwrap().last().cloned() else {
            return "nobody listens".to_owned();
        };
        let (asking, answered) = oneshot::channel();
        *self.answers.lock().unwrap() = Some(asking);
        let params =
            json!({ "message": "tag: x", "requestedSchema": { "type": "object", "properties": {} } });
        let question =
            json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params });
        stream.send(question).await.unwrap();
        answered.await.unwrap()["result"]["action"].to_string()
    }
}

#[tokio::test]
async fn a_server_that_asks_on_its_own_stream_is_heard_from_the_first_call_on() {
    for is_modern in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router =
            Router::new().route("/mcp", get(open).post(take)).with_state(Arc::new(Server::default()));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let entry = json!({ "type": "http", "url": url });
        let gateway = Gateway::builder().server("one", entry).serve().await;
        let profile = Answering::everything("a").profile;
        let told = if is_modern {
            ModernClient::with(&gateway.url(), profile).call_text("one.ask", json!({})).await
        } else {
            HttpClient::connect_as(&gateway.url(), profile).await.call_text("one.ask", json!({})).await
        };
        assert_eq!(told, "\"accept\"", "modern: {is_modern}");
        serving.abort();
    }
}
