//! Who a client claims to be, and how it answers what servers ask it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::Record;

/// From the params of a question to the result that answers it.
type Answer = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

/// The client's side of the handshake and its answers.
#[derive(Clone)]
pub struct Profile {
    pub name: String,
    pub revision: String,
    pub capabilities: Value,
    answers: BTreeMap<String, Answer>,
    asked: Arc<Record<Value>>,
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers: Vec<&String> = self.answers.keys().collect();
        f.debug_struct("Profile").field("name", &self.name).field("answers", &answers).finish_non_exhaustive()
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::named("testkit")
    }
}

impl Profile {
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            revision: "2025-11-25".to_owned(),
            capabilities: json!({}),
            answers: BTreeMap::new(),
            asked: Arc::default(),
        }
    }

    #[must_use]
    pub fn revision(mut self, revision: &str) -> Self {
        revision.clone_into(&mut self.revision);
        self
    }

    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Answers every request of this method with this result. What has no answer here is only recorded.
    #[must_use]
    pub fn answer(self, method: &str, result: Value) -> Self {
        self.answer_with(method, move |_| result.clone())
    }

    /// The same with a result that depends on the params of the question.
    #[must_use]
    pub fn answer_with(
        mut self,
        method: &str,
        result: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.answers.insert(method.to_owned(), Arc::new(result));
        self
    }

    /// The questions so far, each as `{method, params}`, whichever way they came. Clones share the record.
    pub fn asked(&self) -> &Arc<Record<Value>> {
        &self.asked
    }

    pub(crate) fn initialize_params(&self) -> Value {
        json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": { "name": self.name, "version": "1.0.0" },
        })
    }

    /// The answer to a message of the server, if it is a request that this client answers.
    pub(crate) fn reply_to(&self, message: &Value) -> Option<Value> {
        let id = message.get("id")?;
        let method = message.get("method")?.as_str()?;
        if method == "ping" {
            return Some(json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        }
        let result = self.result_for(method, &message["params"])?;
        Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// Notes a question, and answers it if it is one that this client answers.
    pub(crate) fn result_for(&self, method: &str, params: &Value) -> Option<Value> {
        self.asked.push(json!({ "method": method, "params": params }));
        self.answers.get(method).map(|result| result(params))
    }
}

/// The text of a request whose id is given as raw JSON, so that `1.0` and `"a"` go out as they are.
pub(crate) fn request_text(id_raw_json: &str, method: &str, params: &Value) -> String {
    let method = Value::from(method);
    if params.is_null() {
        format!(r#"{{"jsonrpc":"2.0","id":{id_raw_json},"method":{method}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":{id_raw_json},"method":{method},"params":{params}}}"#)
    }
}

pub(crate) fn notification_text(method: &str, params: &Value) -> String {
    let method = Value::from(method);
    if params.is_null() {
        format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)
    }
}

/// Whether this message answers the request of that id.
pub(crate) fn is_reply(message: &Value, id_raw_json: &str) -> bool {
    let id: Value = serde_json::from_str(id_raw_json).unwrap();
    message.get("method").is_none() && message["id"] == id
}
