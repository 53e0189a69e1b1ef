//! A server as somebody wants it registered or changed, before it has been looked at.

use serde::Deserialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A server to register.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// `^[a-z][a-z0-9_-]*$`, at most 255 characters, not taken yet.
    #[schema(min_length = 1, max_length = 255, pattern = "^[a-z][a-z0-9_-]*$", example = "github")]
    pub name: String,
    /// `STDIO`, `SSE` or `HTTP`, in any case.
    #[schema(example = "HTTP")]
    pub transport_type: String,
    pub connection_config: ConnectionConfig,
    #[schema(max_length = 1000)]
    pub description: Option<String>,
    /// Asked with GET to see whether the server is well; without it the session itself is asked.
    pub health_check_url: Option<String>,
    /// Connect at once, and again after every start.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub auto_connect: bool,
    /// The limit of one call in seconds; the general one where absent.
    pub timeout: Option<f64>,
    /// Which of its tools are offered.
    pub tools: Option<ToolPatterns>,
}

fn yes() -> bool {
    true
}

/// How a server is reached. STDIO: `command`, `args`, `env`, `cwd`. SSE: `url`, `headers`. HTTP: `base_url` (or `url`),
/// `headers`. In every text `${NAME}` stands for a secret of that name.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionConfig {
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    pub env: Option<BTreeMap<String, String>>,
    pub cwd: Option<String>,
    pub url: Option<String>,
    pub base_url: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
}

/// Patterns with `*` and `?`; `deny` wins, and no `allow` means everything.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPatterns {
    #[serde(default)]
    pub allow: Vec<String>,
    #[serde(default)]
    pub deny: Vec<String>,
}

/// What is to change of a server; what is absent stays. A value that is sent back masked (`***`) stays too.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    #[schema(min_length = 1, max_length = 255, pattern = "^[a-z][a-z0-9_-]*$")]
    pub name: Option<String>,
    pub transport_type: Option<String>,
    pub connection_config: Option<ConnectionConfig>,
    /// Empty: none.
    #[schema(max_length = 1000)]
    pub description: Option<String>,
    /// Empty: none.
    pub health_check_url: Option<String>,
    pub auto_connect: Option<bool>,
    pub timeout: Option<f64>,
    pub tools: Option<ToolPatterns>,
}

/// What is to change of a tool; what is absent stays.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPatch {
    /// A tool that is not enabled is neither listed nor called.
    pub enabled: Option<bool>,
    /// Shown instead of the server's own description. Empty: the server's own again.
    #[schema(max_length = 10_000)]
    pub description: Option<String>,
}
