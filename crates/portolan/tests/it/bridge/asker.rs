//! A server with one tool and one question of any kind, in either era: the fixture asks plainer ones.

use super::scripted::{self, Scripted};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::sync::Mutex;
use tokio::sync::oneshot;

/// Whether it asks while it works, or by its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) struct Asker(Scripted);

struct Script {
    era: Era,
    method: &'static str,
    params: Value,
    /// Where the answer to its question goes.
    asking: Mutex<Option<oneshot::Sender<Value>>>,
}

impl Asker {
    /// Asks this, whenever its tool `ask` is called, and answers with what it was told.
    pub(crate) async fn start(era: Era, method: &'static str, params: Value) -> Self {
        let script = Script { era, method, params, asking: Mutex::default() };
        Self(Scripted::start(move |message| script.take(message)).await)
    }

    pub(crate) fn entry(&self) -> Value {
        self.0.entry()
    }

    /// How often its tool was called, however many rounds that took.
    pub(crate) fn executions(&self) -> usize {
        let is_first = |message: &&Value| {
            message["method"] == "tools/call" && message["params"].get("inputResponses").is_none()
        };
        self.0.seen().all().iter().filter(is_first).count()
    }
}

impl Script {
    fn take(&self, message: &Value) -> Response {
        let Some(method) = message["method"].as_str() else {
            if let Some(asking) = self.asking.lock().unwrap().take() {
                asking.send(message.clone()).unwrap_or_default();
            }
            return scripted::accepted();
        };
        let Some(id) = message.get("id") else { return scripted::accepted() };
        match (method, self.era) {
            ("initialize", Era::Legacy) => scripted::result(id, scripted::welcome()),
            ("server/discover", Era::Modern) => scripted::result(id, scripted::discovered()),
            ("tools/list", _) => scripted::result(id, scripted::tools(&["ask"])),
            ("tools/call", Era::Legacy) => self.ask_on_a_stream(id.clone()),
            ("tools/call", Era::Modern) => scripted::result(id, self.ask_by_result(&message["params"])),
            _ => scripted::no_such_method(id),
        }
    }

    fn ask_by_result(&self, params: &Value) -> Value {
        match params["inputResponses"].get("q") {
            Some(answer) => told(&json!({ "result": answer })),
            None => {
                let question = json!({ "method": self.method, "params": self.params });
                json!({ "resultType": "input_required", "inputRequests": { "q": question }, "requestState": "s" })
            }
        }
    }

    fn ask_on_a_stream(&self, id: Value) -> Response {
        let (asking, answered) = oneshot::channel();
        *self.asking.lock().unwrap() = Some(asking);
        let question = json!({ "jsonrpc": "2.0", "id": "q", "method": self.method, "params": self.params });
        let first = stream::once(async move { question });
        let second = stream::once(async move {
            let mut answer: Value = answered.await.unwrap_or_default();
            let key = if answer.get("result").is_some() { "result" } else { "error" };
            json!({ "jsonrpc": "2.0", "id": id, "result": told(&json!({ key: answer[key].take() })) })
        });
        scripted::events(first.chain(second))
    }
}

/// What it was told, as a tool's result.
fn told(answer: &Value) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": answer.to_string() }] })
}
