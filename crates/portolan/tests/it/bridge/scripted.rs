//! A server over HTTP that is written within a test, for what the fixture does not do.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use futures_util::{Stream, StreamExt as _};
use portolan_testkit::Record;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;

pub(crate) struct Scripted {
    url: String,
    seen: Arc<Record<Value>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Scripted {
    /// Answers each message as the script says.
    pub(crate) async fn start(script: impl Fn(&Value) -> Response + Send + Sync + 'static) -> Self {
        let seen: Arc<Record<Value>> = Arc::default();
        let shared = Arc::new((script, Arc::clone(&seen)));
        let take = move |body: Bytes| {
            let shared = Arc::clone(&shared);
            async move {
                let message: Value = serde_json::from_slice(&body).unwrap();
                shared.1.push(message.clone());
                (shared.0)(&message)
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = Router::new().route("/mcp", post(take));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    pub(crate) fn entry(&self) -> Value {
        json!({ "type": "http", "url": self.url })
    }

    /// Every message that it was sent.
    pub(crate) fn seen(&self) -> &Record<Value> {
        &self.seen
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What a server of the handshake era with tools says of itself.
pub(crate) fn welcome() -> Value {
    let about = json!({ "name": "scripted", "version": "1" });
    json!({ "protocolVersion": "2025-11-25", "serverInfo": about, "capabilities": { "tools": {} } })
}

/// What a server of 2026-07-28 with tools says of itself.
pub(crate) fn discovered() -> Value {
    let capabilities = json!({ "tools": { "listChanged": true } });
    json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
        "ttlMs": 0, "cacheScope": "public" })
}

/// A list of tools without arguments, in the words of either era.
pub(crate) fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let tools: Vec<Value> = names.iter().map(tool).collect();
    json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "public" })
}

pub(crate) fn result(id: &Value, result: Value) -> Response {
    with_kind(
        "application/json",
        Body::from(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()),
    )
}

pub(crate) fn no_such_method(id: &Value) -> Response {
    let error = json!({ "code": -32601, "message": "no such method" });
    let reply = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    let mut response = with_kind("application/json", Body::from(reply.to_string()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

pub(crate) fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Messages as they come, each as an event.
pub(crate) fn events(messages: impl Stream<Item = Value> + Send + 'static) -> Response {
    let events = messages.map(|message| Ok::<_, Infallible>(Bytes::from(format!("data: {message}\n\n"))));
    with_kind("text/event-stream", Body::from_stream(events))
}

fn with_kind(kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
