//! The JSON-RPC envelope: what a message is, without looking into what it carries.

use crate::json::{self, Members};
use std::borrow::Cow;

/// One message, its parts still the bytes they came in.
#[derive(Debug)]
pub enum Message<'a> {
    Request { id: &'a str, method: Cow<'a, str>, params: Option<&'a str> },
    Notification { method: Cow<'a, str>, params: Option<&'a str> },
    Reply { id: &'a str, outcome: Outcome<'a> },
}

/// The answer in a reply, as raw JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    Result(&'a str),
    Error(&'a str),
}

#[derive(Debug)]
pub enum Incoming<'a> {
    One(Message<'a>),
    /// A JSON-RPC batch, which only revision 2025-03-26 knows; each entry still raw.
    Batch(Vec<&'a str>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("JSON nested deeper than {0} levels")]
    TooDeep(usize),
    #[error("{0}: a key may be given once only")]
    DuplicateKey(String),
    #[error("not a JSON-RPC 2.0 message: {0}")]
    NotJsonRpc(&'static str),
}

impl Malformed {
    /// The JSON-RPC code that tells a caller which kind of wrong it was.
    pub const fn code(&self) -> i32 {
        match self {
            Self::NotJson(_) => -32700,
            Self::TooDeep(_) | Self::DuplicateKey(_) | Self::NotJsonRpc(_) => -32600,
        }
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        if text.starts_with("duplicate key") { Self::DuplicateKey(text) } else { Self::NotJson(text) }
    }
}

/// Reads one message or one batch.
pub fn parse(bytes: &[u8], max_depth: usize) -> Result<Incoming<'_>, Malformed> {
    if !json::is_within_depth(bytes, max_depth) {
        return Err(Malformed::TooDeep(max_depth));
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| Malformed::NotJson(e.to_string()))?;
    if text.trim_start().starts_with('[') {
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(text)?;
        return Ok(Incoming::Batch(entries.into_iter().map(serde_json::value::RawValue::get).collect()));
    }
    parse_one(text).map(Incoming::One)
}

/// Reads one message; a batch is an error here.
pub fn parse_one(text: &str) -> Result<Message<'_>, Malformed> {
    let members = match Members::parse(text) {
        Err(Malformed::NotJson(why)) if why.starts_with("invalid type") => {
            return Err(Malformed::NotJsonRpc("a message is an object"));
        }
        other => other?,
    };
    let (mut id, mut method, mut params, mut result, mut error, mut version) =
        (None, None, None, None, None, None);
    for (key, value) in members.iter() {
        match key {
            "id" => id = Some(value),
            "method" => method = Some(value),
            "params" => params = Some(value),
            "result" => result = Some(value),
            "error" => error = Some(value),
            "jsonrpc" => version = Some(value),
            _ => {}
        }
    }
    if version != Some("\"2.0\"") {
        return Err(Malformed::NotJsonRpc("`jsonrpc` must be \"2.0\""));
    }
    match (method, result, error) {
        (Some(raw), None, None) => {
            let method = json::text(raw).ok_or(Malformed::NotJsonRpc("`method` must be a string"))?;
            if params.is_some_and(|p| !p.starts_with(['{', '['])) {
                return Err(Malformed::NotJsonRpc("`params` must be an object"));
            }
            Ok(match id {
                Some(id) => Message::Request { id: checked_id(id)?, method, params },
                None => Message::Notification { method, params },
            })
        }
        // Servers in the field send `"error": null` beside a result.
        (None, Some(result), None | Some("null")) => {
            Ok(Message::Reply { id: id.unwrap_or("null"), outcome: Outcome::Result(result) })
        }
        (None, None, Some(error)) => {
            Ok(Message::Reply { id: id.unwrap_or("null"), outcome: Outcome::Error(error) })
        }
        (None, Some(_), Some(_)) => Err(Malformed::NotJsonRpc("`result` and `error` both given")),
        (None, None, None) => Err(Malformed::NotJsonRpc("neither `method` nor `result` nor `error` given")),
        (Some(_), _, _) => Err(Malformed::NotJsonRpc("`method` beside `result` or `error`")),
    }
}

fn checked_id(id: &str) -> Result<&str, Malformed> {
    if id.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        Ok(id)
    } else {
        Err(Malformed::NotJsonRpc("`id` must be a string or a number"))
    }
}

/// Our own id in a reply, even where a server echoes it as a string or a float.
pub fn own_id(raw: &str) -> Option<u64> {
    let digits = raw.trim_matches('"');
    digits.strip_suffix(".0").unwrap_or(digits).parse().ok()
}

/// The id of a message that was too long to read whole, from its first bytes: only members before the first
/// nested value are looked at, so nothing inside a payload is mistaken for it.
pub fn id_in_head(head: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(head);
    let mut rest = text.trim_start().strip_prefix('{')?;
    loop {
        let (key, after) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        // A string ends at its quote, whatever it holds; one with escapes is no id of ours and ends the search.
        let end = match value.strip_prefix('"') {
            Some(text) => text.find(['"', '\\']).filter(|at| text.as_bytes()[*at] == b'"')? + 2,
            None => value.find([',', '}', '{', '['])?,
        };
        if key == "id" {
            return own_id(value[..end].trim());
        }
        rest = value[end..].trim_start().strip_prefix(',')?;
    }
}

/// The same from its last bytes, for programs that write the id last.
pub fn id_in_tail(tail: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(tail);
    let text = text.trim_end().strip_suffix('}')?;
    let text = text.strip_suffix(r#","jsonrpc":"2.0""#).unwrap_or(text);
    let (_, value) = text.rsplit_once(r#""id":"#)?;
    own_id(value.trim())
}

/// How far from either end of a message that is no JSON its id is looked for.
const WRECK_END: usize = 512;

/// The id of a reply that cannot be used: from its members where they can still be told apart, else from either end.
pub fn id_in_wreck(bytes: &[u8]) -> Option<u64> {
    let members = std::str::from_utf8(bytes).ok().and_then(|text| Members::parse(text).ok());
    match members {
        // The id beside a method is the other side's own.
        Some(members) if members.get("method").is_some() => None,
        Some(members) => members.get("id").and_then(own_id),
        None => id_in_head(&bytes[..bytes.len().min(WRECK_END)])
            .or_else(|| id_in_tail(&bytes[bytes.len().saturating_sub(WRECK_END)..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Message<'_> {
        match parse(text.as_bytes(), 128) {
            Ok(Incoming::One(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[track_caller]
    fn refused(text: &str, code: i32) {
        assert_eq!(parse(text.as_bytes(), 128).unwrap_err().code(), code, "{text}");
    }

    #[test]
    fn ids_keep_their_bytes() {
        for id in ["1", "1.0", "\"a\\u0041\"", "-3", "9007199254740993"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Message::Request { id: got, .. } = one(&text) else { panic!() };
            assert_eq!(got, id);
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_right_code() {
        refused("{", -32700);
        refused("", -32700);
        refused("nonsense", -32700);
        refused("3", -32600);
        refused("\"x\"", -32600);
        refused(r#"{"jsonrpc":"2.0"}"#, -32600);
        refused(r#"{"id":1,"method":"ping"}"#, -32600);
        refused(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600);
        refused(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600);
        refused(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":3}"#, -32600);
        refused(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, -32600);
        refused(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600);
        refused(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}}}}}"#, "[".repeat(200_000)),
            -32600,
        );
    }

    #[test]
    fn batches_come_apart_without_being_read() {
        let Ok(Incoming::Batch(entries)) = parse(b" [ {\"a\":1}, 2 ]", 128) else { panic!() };
        assert_eq!(entries, ["{\"a\":1}", "2"]);
    }

    #[test]
    fn f18_an_id_echoed_as_string_or_float_is_still_ours() {
        for raw in ["7", "\"7\"", "7.0"] {
            assert_eq!(own_id(raw), Some(7));
        }
        assert_eq!(own_id("\"x\""), None);
        assert_eq!(own_id("null"), None);
    }

    #[test]
    fn f22_a_reply_that_cannot_be_used_still_names_its_call_wherever_the_id_stands() {
        assert_eq!(id_in_wreck(br#"{"error":{"code":1},"id":12,"jsonrpc":"2.0","result":{}}"#), Some(12));
        assert_eq!(id_in_wreck(br#"{"jsonrpc":"2.0","id":"12"}"#), Some(12));
        assert_eq!(id_in_wreck(b"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":\"\xff\"}"), Some(12));
        assert_eq!(id_in_wreck(br#"{"jsonrpc":"1.0","id":12,"method":"ping"}"#), None);
        assert_eq!(id_in_wreck(br#"{"result":{"id":12}}"#), None);
        assert_eq!(id_in_wreck(b"nonsense"), None);
    }

    #[test]
    fn f14_the_id_of_an_oversized_message_is_found_at_either_end_but_never_inside_its_payload() {
        assert_eq!(id_in_head(br#"{"jsonrpc":"2.0","id":12,"result":{"content":["#), Some(12));
        assert_eq!(id_in_head(br#"{"result":{"id":12,"#), None);
        assert_eq!(id_in_head(br#"{"id":"1,2","result":{"#), None);
        assert_eq!(id_in_head(br#"{"id":"12","result":{"#), Some(12));
        assert_eq!(id_in_tail(br#"xxx"}]},"jsonrpc":"2.0","id":12}"#), Some(12));
        assert_eq!(id_in_tail(br#"xxx"}]},"id":12,"jsonrpc":"2.0"}"#), Some(12));
        assert_eq!(id_in_tail(br#""result":{"id":12}}"#), None);
    }
}
