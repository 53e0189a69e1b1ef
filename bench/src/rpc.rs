//! JSON-RPC as the load generator needs it: requests as text, replies judged with as little parsing as will do.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The newest revision with sessions; what the load speaks.
pub const REVISION: &str = "2025-11-25";

/// The revision without handshake and session, which the echo server also answers.
pub const STATELESS_REVISION: &str = "2026-07-28";

pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// One message, its members left as they stand on the wire.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }

    pub fn is_reply(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    /// The id, where it is a number of ours that came back as the same number.
    pub fn own_id(&self) -> Option<u64> {
        self.id?.get().parse().ok()
    }
}

/// A request; `params` is a whole JSON object.
pub fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub fn initialize(id: u64) -> String {
    let client = r#"{"name":"portolan-bench","version":"0.1.0"}"#;
    let params = format!(r#"{{"protocolVersion":"{REVISION}","capabilities":{{}},"clientInfo":{client}}}"#);
    request(id, "initialize", &params)
}

/// A call of an echoing tool. Names and tokens are our own or were listed, and hold nothing to escape.
pub fn call(id: u64, tool: &str, token: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"token":"{token}"}}}}"#))
}

/// The same from a client of the revision without sessions.
pub fn stateless_call(id: u64, tool: &str, token: &str) -> String {
    let info = r#"{"name":"portolan-bench","version":"0.1.0"}"#;
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"{STATELESS_REVISION}","io.modelcontextprotocol/clientInfo":{info},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    );
    let params = format!(r#"{{"name":"{tool}","arguments":{{"token":"{token}"}},"_meta":{meta}}}"#);
    request(id, "tools/call", &params)
}

/// What came of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// A well-formed answer, but to another call or from another server.
    Mismatched,
    /// No answer, an error, or a result that says `isError`.
    Failed,
}

/// What a reply must hold to be the answer to this very call.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub id: u64,
    pub token: &'a str,
    /// The signature of the server that was meant, where servers sign.
    pub signature: Option<&'a str>,
}

#[derive(Deserialize)]
struct CallResult {
    #[serde(rename = "isError", default)]
    is_error: bool,
}

pub fn judge(reply: &[u8], expected: Expected<'_>) -> Verdict {
    let Some(envelope) = Envelope::parse(reply) else { return Verdict::Failed };
    let Some(result) = envelope.result.map(RawValue::get) else { return Verdict::Failed };
    match serde_json::from_str::<CallResult>(result) {
        Ok(CallResult { is_error: false }) => {}
        _ => return Verdict::Failed,
    }
    let holds = |needle: &str| memchr::memmem::find(result.as_bytes(), needle.as_bytes()).is_some();
    let is_ours = envelope.own_id() == Some(expected.id)
        && holds(expected.token)
        && expected.signature.is_none_or(holds);
    if is_ours { Verdict::Good } else { Verdict::Mismatched }
}

/// One page of a tool list.
#[derive(Debug, Deserialize)]
pub struct ToolPage {
    pub tools: Vec<ToolName>,
    #[serde(rename = "nextCursor", default)]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct ToolName {
    pub name: String,
}

/// The page in a reply to `tools/list`.
pub fn page_of(reply: &[u8]) -> Result<ToolPage> {
    let envelope = Envelope::parse(reply).with_context(|| format!("not JSON-RPC: {}", excerpt(reply)))?;
    let result = envelope.result.with_context(|| format!("tools/list failed: {}", excerpt(reply)))?;
    serde_json::from_str(result.get()).context("not a tool list")
}

/// The start of an answer, for messages to people.
pub fn excerpt(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).chars().take(300).collect()
}

/// Whether a listed name is the plain echo tool, under whatever prefix and style it is shown.
pub fn is_echo_tool(name: &str) -> bool {
    name.strip_suffix("echo")
        .is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['.', ':', '_', '/']))
}

/// The JSON-RPC reply inside a whole event stream; keep-alives, priming events and notifications are passed over.
pub fn reply_in_events(stream: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(stream).ok()?.replace("\r\n", "\n");
    let data_of = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|data| data.strip_prefix(' ').unwrap_or(data)).collect::<Vec<_>>().join("\n")
    };
    let is_reply = |data: &String| Envelope::parse(data.as_bytes()).is_some_and(|e| e.is_reply());
    text.split("\n\n").map(data_of).find(is_reply).map(String::into_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Expected<'static> = Expected { id: 7, token: "t-7", signature: Some("from s1") };

    #[track_caller]
    fn check(reply: &str, verdict: Verdict) {
        assert_eq!(judge(reply.as_bytes(), CALL), verdict, "{reply}");
    }

    #[test]
    fn an_answer_is_good_only_with_its_own_id_token_and_server() {
        check(r#"{"id":7,"result":{"content":["t-7","from s1"]}}"#, Verdict::Good);
        check(r#"{"id":8,"result":{"content":["t-7","from s1"]}}"#, Verdict::Mismatched);
        check(r#"{"id":"7","result":{"content":["t-7","from s1"]}}"#, Verdict::Mismatched);
        check(r#"{"id":7,"result":{"content":["t-8","from s1"]}}"#, Verdict::Mismatched);
        check(r#"{"id":7,"result":{"content":["t-7","from s2"]}}"#, Verdict::Mismatched);
    }

    #[test]
    fn errors_and_garbage_are_failures() {
        check(r#"{"id":7,"result":{"isError" : true,"content":["t-7","from s1"]}}"#, Verdict::Failed);
        check(r#"{"id":7,"error":{"code":-32603,"message":"t-7 from s1"}}"#, Verdict::Failed);
        check("t-7 from s1", Verdict::Failed);
        check("", Verdict::Failed);
    }

    #[test]
    fn requests_are_json() {
        for text in [initialize(0), call(1, "s.echo", "t"), request(2, "tools/list", "{}")] {
            assert!(Envelope::parse(text.as_bytes()).is_some_and(|e| e.method.is_some()), "{text}");
        }
    }

    #[test]
    fn echo_is_found_under_every_prefix() {
        for name in ["echo", "s1.echo", "s1:echo", "s1__echo"] {
            assert!(is_echo_tool(name), "{name}");
        }
        assert!(!is_echo_tool("re-echo") && !is_echo_tool("echo_all"));
    }

    #[test]
    fn the_reply_is_found_among_other_events() {
        let stream = ": hi\r\n\r\nid: 1\ndata: \n\ndata: {\"method\":\"x\"}\n\nevent: message\ndata: {\"id\":1,\ndata: \"result\":{}}\n\n";
        assert_eq!(reply_in_events(stream.as_bytes()).as_deref(), Some(&b"{\"id\":1,\n\"result\":{}}"[..]));
        assert_eq!(reply_in_events(b": nothing\n\n"), None);
    }
}
