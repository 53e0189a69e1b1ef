//! What people see of servers, tools and their lives; masked by construction.

use portolan_model::Moment;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ServerView {
    #[schema(format = "uuid")]
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// `STDIO`, `SSE` or `HTTP`.
    pub transport_type: &'static str,
    /// How it is reached; credentials are masked as `***`.
    pub connection_config: Value,
    pub health_check_url: Option<String>,
    /// `DISCONNECTED`, `CONNECTING`, `CONNECTED`, `DEGRADED` or `ERROR`.
    pub status: &'static str,
    /// Why it is not connected, or what was last wrong.
    pub error_message: Option<String>,
    /// `FILE` for a server of the configuration file, which cannot be changed here; else `REGISTERED`.
    pub source: &'static str,
    /// Whether it is meant to be connected.
    pub auto_connect: bool,
    /// The limit of one call in seconds, if it has its own.
    pub timeout: Option<f64>,
    pub tool_count: u64,
    /// Tools that the server has but that are not offered, and why.
    pub tools_left_out: Vec<LeftOutView>,
    /// Whether the server's own list had no end, or went beyond a limit, so that only a part of it is known.
    pub tools_partial: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_health_check: Option<Moment>,
    #[schema(value_type = String, format = DateTime)]
    pub registered_at: Moment,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub connected_at: Option<Moment>,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
    /// Only with `include_tools=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolView>>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LeftOutView {
    pub tool: String,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolView {
    pub id: String,
    /// `server.tool`.
    pub name: String,
    pub original_name: String,
    pub description: Option<String>,
    pub input_schema: Value,
    #[schema(format = "uuid")]
    pub server_id: String,
    pub server_name: String,
    /// A tool that is not enabled is neither listed nor called.
    pub enabled: bool,
    /// Whether it can be called right now: it is enabled, and its server is connected.
    pub available: bool,
    /// Of the definition as its server wrote it.
    pub fingerprint: String,
    /// What it can do: the primary skill first, then by confidence.
    pub skill_ids: Vec<String>,
    pub primary_skill_id: Option<String>,
    /// Whether it has any skill.
    pub is_classified: bool,
    #[schema(value_type = String, format = DateTime)]
    pub first_seen_at: Moment,
    /// When its server last gave it another definition.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub changed_at: Option<Moment>,
}

/// A tool that has a skill.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SkilledToolView {
    #[serde(flatten)]
    pub tool: ToolView,
    /// How sure it is that the tool has the skill.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// Who says so: `LLM`, `EMBEDDING` or `HUMAN`.
    pub source: &'static str,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HealthView {
    #[schema(format = "uuid")]
    pub server_id: String,
    pub name: String,
    pub status: &'static str,
    /// Connected, and its last check did not fail.
    pub healthy: bool,
    pub response_time_ms: Option<f64>,
    pub consecutive_failures: u32,
    pub last_error: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_health_check: Option<Moment>,
}

/// All servers together.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Overall {
    /// `healthy`, or `degraded` if a server that is meant to be connected is not well.
    pub status: &'static str,
    pub servers: Vec<HealthView>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HistoryView {
    pub id: String,
    /// The state that it came to: `CONNECTING`, `CONNECTED`, …
    pub event_type: String,
    /// What is known beside it, such as the reason.
    pub details: Value,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StateView {
    pub total_servers: usize,
    pub connected_servers: usize,
    pub connecting_servers: usize,
    pub degraded_servers: usize,
    pub disconnected_servers: usize,
    pub error_servers: usize,
    pub total_tools: u64,
    /// Tools that have a skill.
    pub classified_tools: u64,
    pub unclassified_tools: u64,
    /// Tools that search does not know yet.
    pub unindexed_tools: u64,
    /// When a server's tools were last listed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_sync: Option<Moment>,
    pub uptime_seconds: u64,
}

/// The answer to a connect.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Connected {
    pub status: &'static str,
    pub message: String,
}

/// The answer to a disconnect.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Disconnected {
    pub status: &'static str,
    /// Calls that were still under way at the end and have been given up.
    pub pending_requests: usize,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SecretView {
    pub name: String,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Moment,
    /// The servers that use it.
    pub used_by: Vec<String>,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Event {
    pub id: u64,
    /// `server.registered`, `server.updated`, `server.status`, `server.removed`, `tools.changed`, `log.reset`.
    #[serde(rename = "type")]
    pub kind: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub server_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// What belongs to this kind of event.
    #[serde(flatten)]
    pub details: BTreeMap<String, Value>,
}
