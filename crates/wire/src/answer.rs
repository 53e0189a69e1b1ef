//! Whole JSON-RPC messages, put together from raw parts.

use crate::json::{self, Members};
use std::io::Write as _;

/// A reply with a raw result.
pub fn result(id: &str, result: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(id.len() + result.len() + 40);
    result_head(id, &mut out);
    out.extend_from_slice(result);
    out.push(b'}');
    out
}

/// Everything of a reply before its result; what is left to add is the result and `}`.
pub fn result_head(id: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(br#","result":"#);
}

/// A reply with a raw error object.
pub fn raw_error(id: &str, error: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(id.len() + error.len() + 40);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(br#","error":"#);
    out.extend_from_slice(error);
    out.push(b'}');
    out
}

/// A reply with an error of our own; `data` is raw JSON.
pub fn error(id: &str, code: i32, message: &str, data: Option<&str>) -> Vec<u8> {
    raw_error(id, &error_object(code, message, data))
}

/// The error by itself.
pub fn error_object(code: i32, message: &str, data: Option<&str>) -> Vec<u8> {
    let mut object = format!(r#"{{"code":{code},"message":"#).into_bytes();
    json::write_text(message, &mut object);
    if let Some(data) = data {
        object.extend_from_slice(br#","data":"#);
        object.extend_from_slice(data.as_bytes());
    }
    object.push(b'}');
    object
}

/// The code of an error object, if it has one.
pub fn error_code(error: &str) -> Option<i64> {
    Members::parse(error).ok()?.get("code")?.parse().ok()
}

/// A whole reply under another id: one that was begun for an earlier request.
pub fn under_id(reply: &[u8], before: &str, now: &str) -> Vec<u8> {
    let head = |id: &str| [br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), b","].concat();
    match reply.strip_prefix(&head(before)[..]) {
        Some(rest) => [&head(now)[..], rest].concat(),
        None => reply.to_vec(),
    }
}

/// A request with raw params.
pub fn request(id: u64, method: &str, params: &str) -> Vec<u8> {
    let mut out = request_head(id, method, params.len());
    out.extend_from_slice(params.as_bytes());
    out.push(b'}');
    out
}

/// Everything of a request before its params; what is left to add is the params, about as long as said, and `}`.
pub fn request_head(id: u64, method: &str, params_len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(method.len() + params_len + 96);
    // Writing into a vector cannot fail.
    write!(out, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":"#).unwrap_or_default();
    out
}

pub fn notification(method: &str, params: Option<&str>) -> Vec<u8> {
    let params = params.map(|p| format!(r#","params":{p}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#).into_bytes()
}

/// A tool's result that tells the model what went wrong.
pub fn tool_error(text: &str) -> Vec<u8> {
    let mut out = br#"{"content":[{"type":"text","text":"#.to_vec();
    json::write_text(text, &mut out);
    out.extend_from_slice(br#"}],"isError":true}"#);
    out
}

/// An upstream error with the server's name in `data`, where `data` can carry it; code and message stay as they are.
pub fn with_server(error: &str, server: &str) -> Vec<u8> {
    let unchanged = || error.as_bytes().to_vec();
    let Ok(members) = Members::parse(error) else { return unchanged() };
    let mut named = Vec::new();
    json::write_text(server, &mut named);
    let Ok(name) = String::from_utf8(named) else { return unchanged() };
    let data = match members.get("data") {
        None | Some("null") => format!(r#"{{"server":{name}}}"#),
        Some(data) => match Members::parse(data) {
            Ok(inner) if inner.get("server").is_none() => {
                let mut object = Vec::new();
                json::write_object(inner.iter().chain([("server", name.as_str())]), &mut object);
                String::from_utf8_lossy(&object).into_owned()
            }
            _ => return unchanged(),
        },
    };
    let mut out = Vec::with_capacity(error.len() + name.len() + 24);
    let kept = members.iter().filter(|(k, _)| *k != "data");
    json::write_object(kept.chain([("data", data.as_str())]), &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &str, expected: &str) {
        assert_eq!(String::from_utf8(with_server(error, "git")).unwrap(), expected);
    }

    #[test]
    fn an_upstream_error_keeps_its_words_and_names_its_server() {
        check(r#"{"code":-1,"message":"no"}"#, r#"{"code":-1,"message":"no","data":{"server":"git"}}"#);
        check(
            r#"{"code":-1,"message":"no","data":{"a":1}}"#,
            r#"{"code":-1,"message":"no","data":{"a":1,"server":"git"}}"#,
        );
        check(r#"{"code":-1,"message":"no","data":"text"}"#, r#"{"code":-1,"message":"no","data":"text"}"#);
        check("\"odd\"", "\"odd\"");
    }
}
