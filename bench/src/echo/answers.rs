//! From one message to its answer, the same over every transport.

use super::{Options, tools};
use crate::rpc::{Envelope, REVISION, STATELESS_REVISION};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// Revisions with a handshake that are taken as asked for; any other gets the newest of them.
const HANDSHAKE_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", REVISION];

pub struct Echo {
    name: String,
    tools: String,
    signature: String,
    /// Whether it speaks only the revisions that open with a handshake.
    is_older: bool,
    pub delay: Duration,
}

/// What to do about one message.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The message was a notification or a reply.
    Nothing,
    Plain,
    /// The answer to `initialize`: a transport with sessions opens one.
    Opening,
    /// The answer to a call: it waits for the delay that was asked for.
    Call,
    /// Answered outside any session, as the stateless revision asks.
    Stateless,
    StatelessCall,
    /// A method that the stateless revision answers with 404 over HTTP.
    StatelessUnknown,
}

impl Kind {
    pub fn is_call(self) -> bool {
        matches!(self, Kind::Call | Kind::StatelessCall)
    }

    pub fn is_stateless(self) -> bool {
        matches!(self, Kind::Stateless | Kind::StatelessCall | Kind::StatelessUnknown)
    }
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    revision: Option<&'a str>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<&'a str>,
}

impl Echo {
    pub fn new(options: &Options) -> Self {
        let signature = if options.sign {
            format!(r#",{{"type":"text","text":"from {}"}}"#, options.name)
        } else {
            String::new()
        };
        Self {
            name: options.name.clone(),
            tools: tools::definitions(options.tools),
            signature,
            is_older: options.handshake,
            delay: Duration::from_millis(options.delay_ms),
        }
    }

    pub fn answer(&self, message: &[u8]) -> Answer {
        let Some(envelope) = Envelope::parse(message) else {
            return error(Kind::Plain, "null", -32700, "not JSON");
        };
        let (Some(id), Some(method)) = (envelope.id, envelope.method) else {
            return Answer { kind: Kind::Nothing, bytes: Vec::new() };
        };
        let params: Params<'_> =
            envelope.params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let asked = params.meta.as_ref().and_then(|meta| meta.revision);
        let era = if asked == Some(STATELESS_REVISION) { Era::Stateless } else { Era::Sessions };
        let Some((kind, result)) = self.result(&method, &params, era) else {
            return error(era.unknown(), id.get(), -32601, "method not found");
        };
        Answer { kind, bytes: envelope_of(id.get(), &result, era) }
    }

    /// The members of the result, without the braces; nothing for a method that is not known.
    fn result(&self, method: &str, params: &Params<'_>, era: Era) -> Option<(Kind, String)> {
        let (plain, call) = match era {
            Era::Sessions => (Kind::Plain, Kind::Call),
            Era::Stateless => (Kind::Stateless, Kind::StatelessCall),
        };
        let cache = era.cache();
        Some(match method {
            "tools/call" => (call, self.echo(params.arguments.map_or("{}", RawValue::get))),
            "tools/list" => (plain, format!(r#""tools":[{}]{cache}"#, self.tools)),
            "initialize" => (Kind::Opening, self.handshake(params.revision.unwrap_or_default())),
            "server/discover" if !self.is_older => (Kind::Stateless, self.discovery()),
            "ping" => (plain, String::new()),
            _ => return None,
        })
    }

    fn echo(&self, arguments: &str) -> String {
        // A string of serde_json cannot fail to be written; an empty answer would be seen as a mismatch.
        let text = serde_json::to_string(arguments).unwrap_or_default();
        let signature = &self.signature;
        format!(r#""content":[{{"type":"text","text":{text}}}{signature}],"isError":false"#)
    }

    fn handshake(&self, asked: &str) -> String {
        let revision = HANDSHAKE_REVISIONS.into_iter().find(|&known| known == asked).unwrap_or(REVISION);
        let info = self.info();
        format!(r#""protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{info}"#)
    }

    fn discovery(&self) -> String {
        let (info, cache) = (self.info(), Era::Stateless.cache());
        format!(
            r#""supportedVersions":["{STATELESS_REVISION}","{REVISION}"],"capabilities":{{"tools":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}{cache}"#
        )
    }

    fn info(&self) -> String {
        format!(r#"{{"name":"{}","version":"0.1.0"}}"#, self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Sessions,
    Stateless,
}

impl Era {
    /// How long a list may be kept: the stateless revision requires it on every list.
    fn cache(self) -> &'static str {
        match self {
            Era::Sessions => "",
            Era::Stateless => r#","ttlMs":60000,"cacheScope":"public""#,
        }
    }

    fn unknown(self) -> Kind {
        match self {
            Era::Sessions => Kind::Plain,
            Era::Stateless => Kind::StatelessUnknown,
        }
    }
}

fn envelope_of(id: &str, result: &str, era: Era) -> Vec<u8> {
    let kind = match (era, result.is_empty()) {
        (Era::Sessions, _) => "",
        (Era::Stateless, true) => r#""resultType":"complete""#,
        (Era::Stateless, false) => r#","resultType":"complete""#,
    };
    let parts = [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":{"#, result, kind, "}}"];
    parts.concat().into_bytes()
}

fn error(kind: Kind, id: &str, code: i32, message: &str) -> Answer {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#);
    Answer { kind, bytes: text.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{self, Expected, Verdict, judge};
    use serde_json::Value;

    fn echo() -> Echo {
        Echo::new(&Options {
            tools: 3,
            delay_ms: 0,
            start_delay_ms: 0,
            name: "s1".into(),
            sign: true,
            handshake: false,
        })
    }

    fn ask(message: &str) -> (Kind, Value) {
        let answer = echo().answer(message.as_bytes());
        (answer.kind, serde_json::from_slice(&answer.bytes).unwrap_or_default())
    }

    #[test]
    fn a_call_comes_back_with_its_token_and_the_servers_name() {
        let answer = echo().answer(rpc::call(7, "echo", "t-7").as_bytes());
        let expected = Expected { id: 7, token: "t-7", signature: Some("from s1") };
        assert_eq!((answer.kind, judge(&answer.bytes, expected)), (Kind::Call, Verdict::Good));
    }

    #[test]
    fn the_handshake_takes_known_revisions_and_offers_the_newest_for_others() {
        let (kind, reply) = ask(&rpc::initialize(0));
        assert_eq!((kind, reply["result"]["protocolVersion"].as_str()), (Kind::Opening, Some(REVISION)));
        let (_, reply) = ask(&rpc::request(0, "initialize", r#"{"protocolVersion":"1999-01-01"}"#));
        assert_eq!(reply["result"]["protocolVersion"], REVISION);
        assert_eq!(ask(rpc::INITIALIZED).0, Kind::Nothing);
    }

    #[test]
    fn the_stateless_revision_gets_result_types_and_cache_hints() {
        let params = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let (kind, reply) = ask(&rpc::request(1, "tools/list", params));
        assert_eq!(kind, Kind::Stateless);
        assert_eq!(reply["result"]["resultType"], "complete");
        assert_eq!(reply["result"]["tools"].as_array().map(Vec::len), Some(3));
        assert!(reply["result"]["ttlMs"].is_number());
        let (_, reply) = ask(&rpc::request(2, "server/discover", params));
        assert_eq!(reply["result"]["supportedVersions"][0], STATELESS_REVISION);
    }

    #[test]
    fn unknown_methods_and_garbage_are_errors_with_their_id() {
        assert_eq!(ask(&rpc::request(3, "nope", "{}")).1["error"]["code"], -32601);
        assert_eq!(ask("{").1["error"]["code"], -32700);
    }
}
