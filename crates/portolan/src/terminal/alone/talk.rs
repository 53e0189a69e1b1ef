//! Our end of a conversation in MCP.

use crate::Failure;
use crate::terminal::screen::plain_lines;
use anyhow::{Context as _, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

pub(crate) struct Talk {
    lines: BufReader<ReadHalf<DuplexStream>>,
    out: WriteHalf<DuplexStream>,
    last: u64,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

#[derive(Deserialize)]
struct Reply {
    id: Option<u64>,
    result: Option<Box<RawValue>>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
    #[serde(default)]
    data: Value,
}

impl Refusal {
    /// The message, with what an error of a query says beside it: what is wrong, or why each server did not answer.
    fn told(&self) -> String {
        let said = |member: &str| self.data[member].as_str();
        let reason = said("reason").map(|reason| match said("field") {
            Some(field) => format!("{field}: {reason}"),
            None => reason.to_owned(),
        });
        let errors = self.data["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        let lines = reason.as_deref().into_iter().chain(errors.iter().filter_map(Value::as_str));
        let told: Vec<&str> = std::iter::once(self.message.as_str()).chain(lines).collect();
        plain_lines(&told.join("\n  "))
    }
}

impl Talk {
    pub(super) fn new(pipe: DuplexStream) -> Self {
        let (input, out) = tokio::io::split(pipe);
        Self { lines: BufReader::new(input), out, last: 0 }
    }

    /// Shakes hands.
    pub(super) async fn open(&mut self) -> Result<(), Failure> {
        let version = env!("CARGO_PKG_VERSION");
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "portolan-call", "version": version},
        });
        self.request("initialize", &hello).await?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await
    }

    async fn send(&mut self, message: &impl Serialize) -> Result<(), Failure> {
        let message = serde_json::to_string(message).context("the call makes no JSON")?;
        // Arguments are as they were written, and JSON has line breaks only between its parts.
        let line = message.replace(['\n', '\r'], " ") + "\n";
        Ok(self.out.write_all(line.as_bytes()).await.context("the call cannot be sent")?)
    }

    /// Asks, and reads on until the answer to it; what is said meanwhile is for clients that stay.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Box<RawValue>, Failure> {
        self.last += 1;
        let id = self.last;
        self.send(&Request { jsonrpc: "2.0", id, method, params }).await?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).await.context("the answer cannot be read")? == 0 {
                return Err(cut_short());
            }
            let reply: Reply = serde_json::from_str(&line).context("the answer is no MCP")?;
            // What cannot be understood is refused without an id.
            let is_ours = reply.id.map_or(reply.error.is_some(), |of| of == id);
            if !is_ours {
                continue;
            }
            return match (reply.result, reply.error) {
                (_, Some(refusal)) => Err(Failure::Failed(anyhow!(refusal.told()))),
                (Some(result), None) => Ok(result),
                (None, None) => Err(Failure::Failed(anyhow!("the answer holds no result"))),
            };
        }
    }

    /// Calls a tool of Portolan's own once every server has come or failed; its answer for programs.
    pub(crate) async fn ask(&mut self, tool: &str, arguments: &Value) -> Result<Box<RawValue>, Failure> {
        self.request("tools/list", &json!({})).await?;
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments})).await?;
        let called: Called =
            serde_json::from_str(result.get()).context("the answer is no result of a tool")?;
        let text = || called.content.first().and_then(|block| block["text"].as_str()).unwrap_or_default();
        match called.structured {
            Some(structured) => Ok(structured),
            // What cannot even be taken is said in words alone.
            None => Err(Failure::Failed(anyhow!(plain_lines(text())))),
        }
    }
}

/// The result of a call of a tool of our own.
#[derive(Deserialize)]
struct Called {
    #[serde(default)]
    content: Vec<Value>,
    #[serde(rename = "structuredContent")]
    structured: Option<Box<RawValue>>,
}

pub(super) fn cut_short() -> Failure {
    Failure::Failed(anyhow!("the conversation ended before the answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(data: Value, expected: &str) {
        assert_eq!(Refusal { message: "It failed".to_owned(), data }.told(), expected);
    }

    #[test]
    fn an_error_is_told_with_its_reasons() {
        check(Value::Null, "It failed");
        check(json!({"field": "maxResults", "reason": "too many"}), "It failed\n  maxResults: too many");
        check(
            json!({"errors": ["a: gone\x1b[2J", 7, "b: late"]}),
            "It failed\n  a: gone\u{fffd}[2J\n  b: late",
        );
    }
}
