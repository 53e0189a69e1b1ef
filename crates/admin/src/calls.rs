//! Calls of tools without MCP: the arguments go out and the content comes back as the bytes they are.

use crate::Shared;
use crate::body::{Json, raw};
use crate::document::{Anything, Calls, Takes};
use crate::problem::{Code, FieldError, Refusal};
use crate::query::{Nothing, Query};
use axum::extract::State;
use axum::response::Response;
use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_registry::Registry;
use portolan_router::{Answered, Call, Caller, Reply, What, resolve_tool};
use portolan_wire::json::{Members, write_object, write_text};
use portolan_wire::params::Params;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

/// A call of a tool.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallBody {
    /// The tool's name in any style, as in `notes.add`; its bare name where only one server has it.
    #[schema(example = "notes.add")]
    name: String,
    /// What the tool is called with. It reaches the server as it is.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Box<RawValue>>,
    /// The server that has the tool, by its UUID or its name.
    server_id: Option<String>,
}

/// A call of a tool, by another word for its name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecuteBody {
    /// The tool's name in any style, as in `notes.add`; its bare name where only one server has it.
    #[schema(example = "notes.add")]
    tool_name: String,
    /// What the tool is called with. It reaches the server as it is.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Box<RawValue>>,
    /// The server that has the tool, by its UUID or its name.
    server_id: Option<String>,
}

/// What a tool answered. Members that a server adds are passed on.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes an answer that is put together from the server's own bytes")]
pub(crate) struct Called {
    /// What the tool has to say, as its server wrote it.
    content: Vec<serde_json::Value>,
    /// Whether the tool says that it failed.
    #[schema(rename = "isError")]
    is_error: bool,
    /// The same for programs, where the tool gives it.
    #[schema(rename = "structuredContent", required = false)]
    structured_content: serde_json::Value,
    #[schema(rename = "_meta", required = false)]
    meta: serde_json::Value,
    metadata: Metadata,
}

/// Which way a call took.
#[derive(Serialize, ToSchema)]
#[schema(as = CallMetadata)]
pub(crate) struct Metadata {
    /// The name of the server that answered.
    routed_to: String,
    /// Its id, unless it has been removed meanwhile.
    #[schema(format = "uuid")]
    server_id: Option<String>,
    /// How long it took to find the server.
    #[schema(minimum = 0)]
    routing_time_ms: f64,
    /// How long it took to get the answer.
    #[schema(minimum = 0)]
    execution_time_ms: f64,
}

/// Call a tool
///
/// That the tool itself failed is an answer like any other, with `isError`. A call that may have reached its server is never
/// sent again.
#[utoipa::path(
    post,
    path = "/tools/call",
    tag = "calls",
    responses((status = 200, description = "The answer.", body = Called), Anything, Takes, Calls)
)]
pub(crate) async fn call_tool(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(body): Json<CallBody>,
) -> Result<Response, Refusal> {
    let wish = Wish { tool: body.name, arguments: body.arguments, server: body.server_id };
    wish.fulfil(&shared).await
}

/// Call a tool, by `tool_name`
///
/// The same as `/tools/call`.
#[utoipa::path(
    post,
    path = "/aggregator/execute",
    tag = "calls",
    responses((status = 200, description = "The answer.", body = Called), Anything, Takes, Calls)
)]
pub(crate) async fn execute_tool(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(body): Json<ExecuteBody>,
) -> Result<Response, Refusal> {
    let wish = Wish { tool: body.tool_name, arguments: body.arguments, server: body.server_id };
    wish.fulfil(&shared).await
}

struct Wish {
    tool: String,
    arguments: Option<Box<RawValue>>,
    server: Option<String>,
}

impl Wish {
    async fn fulfil(self, shared: &Shared) -> Result<Response, Refusal> {
        let (registry, router) = (&shared.admin.registry, &shared.admin.router);
        let text = self.params()?;
        let params = Params::from_text(text)
            .map_err(|error| Refusal::invalid(vec![FieldError::new(&["body"], error.to_string())]))?;
        let view = self.view(registry)?;
        let begun = Instant::now();
        // The router finds the way for itself; this is only to know how long that takes.
        let _found = resolve_tool(&router.catalog.snapshot(), &view, &self.tool);
        let routing = begun.elapsed();
        let begun = Instant::now();
        let (aside, caller) = (Arc::default(), Caller::plain());
        let call = Call { view: &view, what: What::Tool, params: &params, aside: &aside, caller: &caller };
        let answered = router.call(call).await;
        let execution = begun.elapsed();
        let Answered { server, reply, .. } =
            answered.map_err(|error| self.explained(error.into(), registry))?;
        let metadata = Metadata {
            routed_to: server.to_string(),
            server_id: registry.server(server.as_str()).ok().map(|server| server.id),
            routing_time_ms: millis(routing),
            execution_time_ms: millis(execution),
        };
        match reply {
            Reply::Result(result) => answer(&result, &metadata),
            Reply::Error(error) => Err(upstream(server.as_str(), &error).during(&self.tool)),
        }
    }

    /// The params of a `tools/call`, arguments untouched.
    fn params(&self) -> Result<String, Refusal> {
        let mut out = Vec::new();
        write_text(&self.tool, &mut out);
        let name = String::from_utf8_lossy(&out).into_owned();
        match self.arguments.as_deref().map(RawValue::get) {
            None => Ok(format!(r#"{{"name":{name}}}"#)),
            Some(arguments) if arguments.starts_with('{') => {
                Ok(format!(r#"{{"name":{name},"arguments":{arguments}}}"#))
            }
            Some(_) => {
                Err(Refusal::invalid(vec![FieldError::new(&["body", "arguments"], "must be an object")]))
            }
        }
    }

    fn view(&self, registry: &Registry) -> Result<View, Refusal> {
        let Some(key) = &self.server else { return Ok(View::All) };
        let server = registry.server(key)?;
        let name = ServerName::parse(&server.name).map_err(|_| no_such_server(key))?;
        Ok(View::Server(name))
    }

    /// An error of a call with what the registry knows of its server.
    fn explained(&self, refusal: Refusal, registry: &Registry) -> Refusal {
        let is_away = refusal.code() == Code::ServerUnavailable;
        let refusal = match refusal.server().filter(|_| is_away).map(|server| registry.server(server)) {
            Some(Ok(server)) => refusal.in_state(server.status, server.error_message),
            Some(Err(_)) | None => refusal,
        };
        refusal.during(&self.tool)
    }
}

fn no_such_server(key: &str) -> Refusal {
    Refusal::new(Code::ServerNotFound, format!("Server not found: {key}"))
}

/// To the microsecond: what is beyond is noise.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

/// The server's result with our metadata beside it. Content and all else stay the server's own bytes, but for the mark
/// that MCP itself puts on results from 2026-07-28 on.
fn answer(result: &[u8], metadata: &Metadata) -> Result<Response, Refusal> {
    let broken = |reason: &str| {
        let detail = format!("server {} broke the protocol: {reason}", metadata.routed_to);
        Refusal::new(Code::ProtocolError, detail).of_server(&metadata.routed_to)
    };
    let text = std::str::from_utf8(result).map_err(|_| broken("its result is not UTF-8"))?;
    let members = Members::parse(text).map_err(|_| broken("its result is not an object"))?;
    let content = members.get("content").unwrap_or("[]");
    if !content.starts_with('[') {
        return Err(broken("the content of its result is not a list"));
    }
    let is_error = if members.get("isError") == Some("true") { "true" } else { "false" };
    // Texts and numbers can always be written.
    let metadata = serde_json::to_string(metadata).unwrap_or_default();
    let own = [("content", content), ("isError", is_error)];
    let is_ours = |key: &str| matches!(key, "content" | "isError" | "metadata" | "resultType");
    let others = members.iter().filter(|(key, _)| !is_ours(key));
    let mut out = Vec::with_capacity(result.len() + metadata.len() + 64);
    write_object(own.into_iter().chain(others).chain([("metadata", metadata.as_str())]), &mut out);
    Ok(raw(out))
}

/// A JSON-RPC error of a server, as it came.
fn upstream(server: &str, error: &[u8]) -> Refusal {
    let text = String::from_utf8_lossy(error);
    let message = Members::parse(&text)
        .ok()
        .and_then(|members| members.get("message").and_then(portolan_wire::json::text).map(String::from));
    match RawValue::from_string(text.into_owned()) {
        Ok(error) => Refusal::upstream(server, message.as_deref().unwrap_or("without a message"), error),
        Err(_) => {
            let detail = format!("server {server} broke the protocol: its error is not JSON");
            Refusal::new(Code::ProtocolError, detail).of_server(server)
        }
    }
}

#[cfg(test)]
mod tests;
