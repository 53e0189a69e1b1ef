//! Errors as JSON-RPC, in one place, and the HTTP status that 2026-07-28 gives them.

use crate::request::Pieces;
use http::StatusCode;
use portolan_model::Kind;
use portolan_router::{CallError, RouteError, Unresolved};
use portolan_wire::{Revision, answer};
use serde_json::{Value, json};

pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
/// The code that servers of every revision use for "try again later".
pub(crate) const BUSY: i32 = -32000;
/// A resource that nobody has, before 2026-07-28; from then on it is a wrong parameter like any other.
const NO_SUCH_RESOURCE: i32 = -32002;
pub(crate) const HEADER_MISMATCH: i32 = -32020;
pub(crate) const MISSING_CAPABILITY: i32 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;

pub(crate) fn refusal(id: &str, code: i32, text: &str) -> Pieces {
    answer::error(id, code, text, None).into()
}

pub(crate) fn refusal_with(id: &str, code: i32, text: &str, data: &Value) -> Pieces {
    answer::error(id, code, text, Some(&data.to_string())).into()
}

/// The reply to a request that failed; `None` where the client has cancelled and expects none.
pub(crate) fn reply(id: &str, error: &RouteError, revision: Revision, is_tool: bool) -> Option<Vec<u8>> {
    let text = error.to_string();
    let fault = |code: i32, data: Value| answer::error(id, code, &text, Some(&data.to_string()));
    // What a model can react to is a tool's error, which it gets to read; what only the program can is a protocol error.
    let unavailable = || {
        if is_tool {
            let error = answer::tool_error(&text);
            let error = String::from_utf8_lossy(&error).into_owned();
            let keeping = portolan_wire::era::Keeping::Never;
            let from = Revision::NEWEST_WITH_HANDSHAKE;
            answer::result(id, &portolan_wire::era::result(&error, from, revision, keeping))
        } else {
            answer::error(id, INTERNAL, &text, None)
        }
    };
    Some(match error {
        RouteError::Unresolved(Unresolved::Unknown { kind: Kind::Resources | Kind::Templates, name }) => {
            fault(no_such_resource(revision), json!({"uri": name}))
        }
        RouteError::Unresolved(Unresolved::Unknown { name, .. }) => {
            fault(INVALID_PARAMS, json!({"name": name}))
        }
        RouteError::Unresolved(Unresolved::Ambiguous { name, candidates, .. }) => {
            fault(INVALID_PARAMS, json!({"name": name, "candidates": candidates}))
        }
        RouteError::Invalid(_) => answer::error(id, INVALID_PARAMS, &text, None),
        RouteError::Unresolved(Unresolved::Absent { .. }) | RouteError::Unavailable(_) => unavailable(),
        RouteError::Call(error) => match error {
            CallError::Cancelled => return None,
            CallError::NotSent { .. } | CallError::Lost { .. } => unavailable(),
            CallError::Busy { server, limit } => {
                fault(BUSY, json!({"server": server.as_str(), "limit": limit}))
            }
            CallError::TimedOut { server, limit } => {
                fault(INTERNAL, json!({"server": server.as_str(), "timeout_ms": limit.as_millis()}))
            }
            CallError::TooLarge { server, limit } => {
                fault(INTERNAL, json!({"server": server.as_str(), "limit_bytes": limit}))
            }
            CallError::Protocol { server, .. } => fault(INTERNAL, json!({"server": server.as_str()})),
        },
    })
}

/// The code for a resource that is not there, in the words of the client's revision.
const fn no_such_resource(revision: Revision) -> i32 {
    if revision.has_handshake() { NO_SUCH_RESOURCE } else { INVALID_PARAMS }
}

/// An error of a server for a client of another era: the code for a resource that is not there has changed.
pub(crate) fn across(error: &str, from: Revision, to: Revision) -> Option<String> {
    if from.has_handshake() == to.has_handshake() {
        return None;
    }
    let code = answer::error_code(error)?;
    let is_missing = code == i64::from(no_such_resource(from))
        && (from.has_handshake() || error.to_ascii_lowercase().contains("not found"));
    if !is_missing {
        return None;
    }
    let members = portolan_wire::json::Members::parse(error).ok()?;
    let code = no_such_resource(to).to_string();
    let mut out = Vec::new();
    let swapped = members.iter().map(|(k, v)| (k, if k == "code" { code.as_str() } else { v }));
    portolan_wire::json::write_object(swapped, &mut out);
    String::from_utf8(out).ok()
}

/// The status that an answer has over HTTP. Before 2026-07-28 an error is an answer like any other.
pub(crate) fn status(answer: &[u8], revision: Revision) -> StatusCode {
    // Only short answers are errors that matter here, and those begin with their id.
    if revision.has_handshake()
        || memchr::memmem::find(&answer[..answer.len().min(512)], br#","error":{"#).is_none()
    {
        return StatusCode::OK;
    }
    let code = std::str::from_utf8(answer)
        .ok()
        .and_then(|text| portolan_wire::json::Members::parse(text).ok()?.get("error"))
        .and_then(answer::error_code);
    let is = |code: i64, other: i32| code == i64::from(other);
    match code {
        Some(code) if is(code, METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(code)
            if [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION].iter().any(|c| is(code, *c)) =>
        {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}
