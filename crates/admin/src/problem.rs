//! What is answered when something cannot be done: `application/problem+json`, and which error becomes which of them.

mod codes;

pub(crate) use codes::Code;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use portolan_registry::{FieldProblem, RegistryError, StoreError};
use portolan_router::{CallError, RouteError, Unavailable, Unresolved};
use portolan_skills::SkillError;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;
use utoipa::ToSchema;

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Whoever is asked to come back may do so after this many seconds.
const SOON: u32 = 1;

/// Why a request was refused or failed (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem as a URI; the same kind always has the same one.
    #[serde(rename = "type")]
    #[schema(format = "uri", example = "urn:portolan:problem:server-not-found")]
    kind: String,
    /// The kind of problem in words.
    #[schema(example = "Server not found")]
    title: String,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599, example = 404)]
    status: u16,
    /// What is wrong here, in a sentence.
    #[schema(example = "Server not found: github")]
    detail: String,
    error_code: Code,
    /// With 422: everything that cannot be taken. With `AGGREGATION_FAILED`: why each server did not answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// With `INVALID_JSON`: where the body stops being JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    column: Option<usize>,
    /// With `TOOL_AMBIGUOUS`: the names of which one has to be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<String>,
    /// The server that could not do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server: Option<String>,
    /// The state of that server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server_status: Option<&'static str>,
    /// What that server was last seen to be wrong with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error_message: Option<String>,
    /// The tool that was to be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tool: Option<String>,
    /// With `UPSTREAM_ERROR`: the JSON-RPC error of the server, as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    upstream: Option<Box<RawValue>>,
    /// With `AGGREGATION_FAILED`: the servers that were asked.
    #[serde(rename = "attemptedServers", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attempted_servers: Option<Vec<String>>,
    /// The same as a JSON-RPC error, where MCP has one for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = -32602)]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    data: Option<Value>,
    #[serde(skip)]
    retry_after: Option<u32>,
}

/// One thing that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// The way to it: `["body", "connection_config", "url"]`, `["query", "limit"]`, `["path", "name"]`.
    pub(crate) loc: Vec<String>,
    /// What is wrong with it.
    pub(crate) msg: String,
}

impl FieldError {
    pub(crate) fn new(loc: &[&str], msg: impl Into<String>) -> Self {
        Self { loc: loc.iter().map(|part| (*part).to_owned()).collect(), msg: msg.into() }
    }
}

/// The way out of an operation that ends in a problem.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Problem>);

impl Refusal {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem {
            kind: code.urn(),
            title: code.title(),
            status: code.status().as_u16(),
            detail: detail.into(),
            error_code: code,
            errors: Vec::new(),
            line: None,
            column: None,
            candidates: Vec::new(),
            server: None,
            server_status: None,
            error_message: None,
            tool: None,
            upstream: None,
            attempted_servers: None,
            code: None,
            message: None,
            data: None,
            retry_after: None,
        }))
    }

    /// Fields that cannot be taken; the sentence names the first of them.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        let first = errors.first().map_or_else(
            || "the request cannot be taken".to_owned(),
            |first| format!("{}: {}", first.loc.join("."), first.msg),
        );
        let more = match errors.len() {
            0 | 1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        let mut refusal = Self::new(Code::ValidationError, first + &more);
        refusal.0.errors = errors;
        refusal
    }

    /// A body that is not JSON from some place on.
    pub(crate) fn not_json(error: &serde_json::Error) -> Self {
        let mut refusal = Self::new(Code::InvalidJson, format!("the body is not JSON: {error}"));
        (refusal.0.line, refusal.0.column) = (Some(error.line()), Some(error.column()));
        refusal
    }

    /// An error that the server itself answered with.
    pub(crate) fn upstream(server: &str, message: &str, error: Box<RawValue>) -> Self {
        let detail = format!("server {server} answered with an error: {message}");
        let mut refusal = Self::new(Code::UpstreamError, detail).of_server(server);
        refusal.0.upstream = Some(error);
        refusal
    }

    /// A question that none of these servers answered.
    pub(crate) fn unanswered(detail: &str, servers: Vec<String>, errors: Vec<FieldError>) -> Self {
        let mut refusal = Self::new(Code::AggregationFailed, detail);
        refusal.0.attempted_servers = Some(servers);
        refusal.0.errors = errors;
        refusal
    }

    /// Says beside how MCP says it.
    pub(crate) fn said_as(mut self, code: i64, message: impl Into<String>, data: Value) -> Self {
        (self.0.code, self.0.message, self.0.data) = (Some(code), Some(message.into()), Some(data));
        self
    }

    pub(crate) fn of_server(mut self, server: &str) -> Self {
        self.0.server = Some(server.to_owned());
        self
    }

    pub(crate) fn in_state(mut self, status: &'static str, error: Option<String>) -> Self {
        self.0.server_status = Some(status);
        self.0.error_message = error;
        self
    }

    /// Says which call it was.
    pub(crate) fn during(mut self, tool: &str) -> Self {
        self.0.tool = Some(tool.to_owned());
        self
    }

    pub(crate) fn later(mut self) -> Self {
        self.0.retry_after = Some(SOON);
        self
    }

    /// In whole seconds, so that nobody comes back too early.
    pub(crate) fn after(mut self, wait: Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        self.0.retry_after = Some(u32::try_from(seconds).unwrap_or(u32::MAX).max(SOON));
        self
    }

    pub(crate) fn code(&self) -> Code {
        self.0.error_code
    }

    /// The server that it is about, if it is about one.
    pub(crate) fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        // Texts, numbers and JSON that came in as JSON can always be written.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (self.code().status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(seconds) = self.0.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<RegistryError> for Refusal {
    fn from(error: RegistryError) -> Self {
        let text = error.to_string();
        match error {
            RegistryError::NoSuchServer(_) => Self::new(Code::ServerNotFound, text),
            RegistryError::NoSuchTool(_) => Self::new(Code::ToolNotFound, text),
            RegistryError::NoSuchSecret(_) => Self::new(Code::SecretNotFound, text),
            RegistryError::NameTaken(_) => Self::new(Code::ServerAlreadyExists, text),
            RegistryError::Invalid(fields) => Self::invalid(fields.into_iter().map(in_body).collect()),
            RegistryError::NotConnected { server, state } => {
                Self::new(Code::ServerNotConnected, text).of_server(&server).in_state(state.as_str(), None)
            }
            RegistryError::InFile(_) => Self::new(Code::ServerInFile, text),
            RegistryError::StdioOff => Self::new(Code::StdioRegistrationDisabled, text),
            RegistryError::TooMany { .. } => Self::new(Code::TooManyServers, text),
            RegistryError::Sealed(reason) => {
                tracing::error!(reason, "what is stored cannot be opened");
                let detail = "what is stored cannot be opened with the secret key at hand: the log says more";
                Self::new(Code::StoreSealed, detail)
            }
            RegistryError::Store(error) => error.into(),
        }
    }
}

fn in_body(problem: FieldProblem) -> FieldError {
    let loc = std::iter::once("body".to_owned()).chain(problem.loc).collect();
    FieldError { loc, msg: problem.msg }
}

impl From<SkillError> for Refusal {
    fn from(error: SkillError) -> Self {
        let text = error.to_string();
        match error {
            SkillError::NoSuchSkill(_) => Self::new(Code::SkillNotFound, text),
            SkillError::NoSuchSuggestion(_) => Self::new(Code::SuggestionNotFound, text),
            SkillError::NoSuchTool(_) => Self::new(Code::ToolNotFound, text),
            SkillError::Exists(_) => Self::new(Code::SkillExists, text),
            SkillError::Settled { .. } => Self::new(Code::SuggestionSettled, text),
            SkillError::TooMany { .. } | SkillError::Twice(_) => {
                Self::invalid(vec![FieldError::new(&["body", "skill_ids"], text)])
            }
            SkillError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::NameTaken(_) => Self::new(Code::ServerAlreadyExists, text),
            StoreError::NoSuchServer => Self::new(Code::ServerNotFound, text),
            StoreError::Busy => Self::new(Code::StoreBusy, text).later(),
            StoreError::Full => Self::new(Code::StoreFull, text),
            // Paths and the database's own words are for the log.
            StoreError::InUse { .. }
            | StoreError::Newer { .. }
            | StoreError::Damaged { .. }
            | StoreError::Folder { .. }
            | StoreError::Unavailable(_) => {
                tracing::error!(error = text, "the store does not answer");
                Self::new(Code::StoreUnavailable, "the store does not answer: the log says why")
            }
        }
    }
}

impl From<RouteError> for Refusal {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::Unresolved(unresolved) => unresolved.into(),
            RouteError::Unavailable(unavailable) => {
                let Unavailable { server, status } = &unavailable;
                let error = status.error.as_deref().map(str::to_owned);
                let refusal = Self::new(Code::ServerUnavailable, unavailable.to_string());
                refusal.of_server(server.as_str()).in_state(status.state.as_str(), error)
            }
            RouteError::Call(error) => error.into(),
            RouteError::Invalid(text) => Self::invalid(vec![FieldError::new(&["body"], text)]),
        }
    }
}

impl From<Unresolved> for Refusal {
    fn from(unresolved: Unresolved) -> Self {
        let text = unresolved.to_string();
        match unresolved {
            Unresolved::Unknown { name, .. } => {
                Self::new(Code::ToolNotFound, format!("Tool not found: {name}"))
            }
            Unresolved::Ambiguous { candidates, .. } => {
                let mut refusal = Self::new(Code::ToolAmbiguous, text);
                refusal.0.candidates = candidates;
                refusal
            }
            Unresolved::Absent { server, .. } => {
                Self::new(Code::ServerUnavailable, text).of_server(server.as_str())
            }
        }
    }
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        let text = error.to_string();
        match error {
            CallError::NotSent { server, .. } => {
                Self::new(Code::ServerUnavailable, text).of_server(server.as_str())
            }
            CallError::Lost { server, .. } => Self::new(Code::ServerLost, text).of_server(server.as_str()),
            CallError::TimedOut { server, .. } => {
                Self::new(Code::CallTimedOut, text).of_server(server.as_str())
            }
            CallError::Cancelled => Self::new(Code::CallCancelled, "the call was cancelled"),
            CallError::TooLarge { server, .. } => {
                Self::new(Code::AnswerTooLarge, text).of_server(server.as_str())
            }
            CallError::Busy { server, .. } => {
                Self::new(Code::ServerBusy, text).of_server(server.as_str()).later()
            }
            CallError::Protocol { server, .. } => {
                Self::new(Code::ProtocolError, text).of_server(server.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests;
