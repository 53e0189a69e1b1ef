//! Recording MCP clients over each transport, and what all of them can do.

mod events;
mod exchange;
mod http;
mod modern;
mod profile;
mod sse;
mod stdio;

use std::future::Future;

use serde_json::{Value, json};

pub use self::events::{Event, EventParser};
pub use self::exchange::{EventStream, Exchange, Pending};
pub use self::http::HttpClient;
pub use self::modern::{Modern, ModernClient, ModernStdio};
pub use self::profile::Profile;
pub use self::sse::SseClient;
pub use self::stdio::StdioClient;
pub(crate) use self::stdio::record_lines;
use crate::{DEADLINE, POLL};

/// What a test does with a connected client, whatever the transport.
pub trait Client: Sync {
    /// Sends a request under an id of the client's own and returns the whole reply message.
    fn ask(&self, method: &str, params: Value) -> impl Future<Output = Value> + Send;

    /// Calls a tool: its result, or the error object.
    fn try_call(&self, name: &str, arguments: Value) -> impl Future<Output = Result<Value, Value>> + Send {
        async move {
            let mut reply = self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await;
            if reply.get("result").is_some() {
                Ok(reply["result"].take())
            } else {
                Err(reply["error"].take())
            }
        }
    }

    /// Calls a tool that must not fail with a protocol error.
    fn call(&self, name: &str, arguments: Value) -> impl Future<Output = Value> + Send {
        async move {
            let called = self.try_call(name, arguments).await;
            called.unwrap_or_else(|error| panic!("{name} failed: {error}"))
        }
    }

    /// Calls a tool for the text of its first content.
    fn call_text(&self, name: &str, arguments: Value) -> impl Future<Output = String> + Send {
        async move {
            let result = self.call(name, arguments).await;
            let text = result["content"][0]["text"].as_str();
            text.unwrap_or_else(|| panic!("{name} answered no text: {result}")).to_owned()
        }
    }

    /// Every tool as it is listed, all pages.
    fn tools(&self) -> impl Future<Output = Vec<Value>> + Send {
        async move {
            let mut tools = Vec::new();
            let mut params = json!({});
            loop {
                let mut reply = self.ask("tools/list", params).await;
                let Value::Array(page) = reply["result"]["tools"].take() else {
                    panic!("no tools in {reply}");
                };
                tools.extend(page);
                match reply["result"]["nextCursor"].take() {
                    Value::Null => return tools,
                    cursor => params = json!({ "cursor": cursor }),
                }
            }
        }
    }

    /// The names of all tools, in the order of the list.
    fn tool_names(&self) -> impl Future<Output = Vec<String>> + Send {
        async move {
            let tools = self.tools().await;
            tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
        }
    }

    /// Lists again and again until the names satisfy; panics at the deadline with the last list.
    fn wait_for_tools<F>(&self, satisfies: F) -> impl Future<Output = Vec<String>> + Send
    where
        F: Fn(&[String]) -> bool + Send + Sync,
    {
        async move {
            let started = tokio::time::Instant::now();
            loop {
                let names = self.tool_names().await;
                if satisfies(&names) {
                    return names;
                }
                assert!(started.elapsed() < DEADLINE, "after {DEADLINE:?} the tools are {names:?}");
                tokio::time::sleep(POLL).await;
            }
        }
    }
}
