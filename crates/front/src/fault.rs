//! Errors of a call as JSON-RPC, in one place.

use portolan_router::{CallError, RouteError, Unresolved};
use portolan_wire::answer;
use serde_json::json;

const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
/// The code that servers of every revision use for "try again later".
const BUSY: i32 = -32000;

/// The reply to a call that failed; `None` where the client has cancelled and expects none.
pub(crate) fn reply(id: &str, error: &RouteError) -> Option<Vec<u8>> {
    let text = error.to_string();
    let fault = |code: i32, data: serde_json::Value| answer::error(id, code, &text, Some(&data.to_string()));
    // What a model can react to is a tool's error, which it gets to read; what only the program can is a protocol error.
    let tool_error = || answer::result(id, &answer::tool_error(&text));
    Some(match error {
        RouteError::Unresolved(Unresolved::Unknown { name }) => fault(INVALID_PARAMS, json!({"name": name})),
        RouteError::Unresolved(Unresolved::Ambiguous { name, candidates }) => {
            fault(INVALID_PARAMS, json!({"name": name, "candidates": candidates}))
        }
        RouteError::Unresolved(Unresolved::Absent { .. }) | RouteError::Unavailable(_) => tool_error(),
        RouteError::Call(error) => match error {
            CallError::Cancelled => return None,
            CallError::NotSent { .. } | CallError::Lost { .. } => tool_error(),
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
