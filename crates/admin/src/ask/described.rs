//! Questions and answers as the description tells them. What is read and written is made elsewhere: clients of MCP get
//! the same.

#![expect(dead_code, reason = "these types are there for the description alone")]

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A question to many servers.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct QueryBody {
    /// What is to be known, in plain words.
    #[schema(example = "when is the next release?", min_length = 1, max_length = 10_000, pattern = "\\S")]
    query: String,
    /// How many results are wanted.
    #[schema(minimum = 10, maximum = 100, default = 30, nullable = false)]
    max_results: Option<u32>,
    /// Only these servers, by UUID or name; all that are connected where there are none.
    #[schema(nullable = false, max_items = 1000)]
    servers: Option<Vec<String>>,
}

/// What many servers know, the best first.
#[derive(ToSchema)]
pub(crate) struct QueryAnswer {
    results: Vec<QueryResult>,
    metadata: QueryMetadata,
}

/// One thing that a server knows.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct QueryResult {
    content: String,
    /// The server that said it.
    server: String,
    /// How well it fits, from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    relevance_score: f64,
    /// 1 is the best.
    #[schema(minimum = 1)]
    rank: u64,
    /// When it was retrieved.
    #[schema(format = DateTime)]
    timestamp: String,
    /// Other servers that said the same.
    #[schema(nullable = false)]
    also_from: Option<Vec<String>>,
    #[schema(nullable = false)]
    title: Option<String>,
    #[schema(nullable = false)]
    url: Option<String>,
    /// The date that it has of its own.
    #[schema(nullable = false, format = DateTime)]
    date: Option<String>,
}

/// How results were come by, in numbers.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct QueryMetadata {
    /// Servers that were asked, whether or not they answered.
    servers_queried: u64,
    servers_succeeded: u64,
    /// All pieces that were cut from the answers.
    total_results_raw: u64,
    /// Those that are left where the same was said more than once.
    total_results_dedup: u64,
    results_returned: u64,
    processing_time_ms: u64,
    /// Which part of the servers that were asked has a result here.
    #[schema(minimum = 0, maximum = 1)]
    server_diversity: f64,
    /// Servers that did not answer, each as `server: reason`.
    #[schema(nullable = false)]
    errors: Option<Vec<String>>,
    /// Servers that there is no safe way to ask, each as `server: reason`.
    #[schema(nullable = false)]
    not_asked: Option<Vec<String>>,
    /// What servers sent beyond the limits.
    #[schema(nullable = false)]
    left_out: Option<QueryLeftOut>,
}

/// What servers sent beyond what is kept.
#[derive(ToSchema)]
pub(crate) struct QueryLeftOut {
    items: u64,
    bytes: u64,
    /// Pictures, sounds and the like.
    untold: u64,
}

/// A question to the agent of one server.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AgentQueryBody {
    /// What is to be known or done, in plain words.
    #[schema(example = "which issues are open?", min_length = 1, max_length = 32_768, pattern = "\\S")]
    query: String,
    /// What is known already.
    #[schema(max_length = 262_144)]
    context: Option<String>,
    /// How many calls of tools the agent may make; as `agents.max_tools` of the settings says, where this is 0 or nothing.
    #[schema(maximum = 100)]
    max_tools: Option<u32>,
    /// Whether it may call what destroys something. Nobody can be asked here, so without this it never does.
    #[schema(default = false)]
    allow_destructive: Option<bool>,
}

/// What an agent answers.
#[derive(ToSchema)]
pub(crate) struct AgentAnswer {
    /// `success`, or `error` where the question could not be answered: `data` and `error` say why.
    #[schema(pattern = "^(success|error)$")]
    status: String,
    /// The answer, under a few lines on how it came about.
    data: String,
    #[schema(nullable = false)]
    error: Option<AgentError>,
    metadata: AgentMetadata,
}

/// Why an agent could not answer.
#[derive(ToSchema)]
pub(crate) struct AgentError {
    #[schema(example = "MCP_ORCHESTRATION_FAILED")]
    code: String,
    message: String,
    #[schema(value_type = Object)]
    details: Value,
}

/// How an answer came about.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct AgentMetadata {
    /// The connector as it was asked for.
    connector_id: String,
    connector_name: String,
    /// One entry a call, in their order.
    tools_used: Vec<String>,
    /// What the tools returned, whole.
    contexts: Vec<Value>,
    answer: String,
    /// What the agent did, step by step.
    #[schema(value_type = Vec<Object>)]
    trace: Vec<Value>,
    /// The model that it thought with, if there was one.
    model: Option<String>,
    usage: AgentUsage,
    /// What is to be known beside the answer: that it came about without a model, that calls ran out.
    notes: Vec<String>,
}

/// What the model has read and written for one answer.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct AgentUsage {
    input_tokens: u64,
    output_tokens: u64,
    /// As text, since the smallest costs have more decimals than a number keeps.
    #[schema(nullable = false)]
    cost: Option<String>,
}
