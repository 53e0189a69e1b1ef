//! What whoever asked gets back: status, data and metadata, with the trace beside it.

use std::time::Duration;

use portolan_llm::{Cost, LlmError, Usage};
use serde::{Serialize, Serializer};

use crate::contexts::Context;
use crate::trace::Traced;

/// The outcome of one query, good or bad.
#[derive(Debug)]
pub struct Report {
    /// As the caller named it.
    pub connector_id: String,
    pub connector_name: String,
    /// One entry a call, in their order, by the tools' own names.
    pub tools_used: Vec<String>,
    pub contexts: Vec<Context>,
    /// Empty where there is none.
    pub answer: String,
    pub trace: Vec<Traced>,
    /// Absent where there was none.
    pub model: Option<String>,
    pub usage: Usage,
    /// Nothing where the model has no price, or the client pays for it.
    pub cost: Option<Cost>,
    /// What is to be known beside the answer: that it came about without a model, that calls ran out.
    pub notes: Vec<String>,
    /// Present if the query failed. What was found until then is here all the same.
    pub failure: Option<Failure>,
}

/// Why a query failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("MCP connector {connector} not found or not active")]
    NotFound { connector: String },
    #[error("{at_once} agent queries run and {waiting} wait already: try again later")]
    Busy { at_once: usize, waiting: usize },
    #[error("{connector} takes {limit} queries a minute: try again in {} s", retry_after.as_secs_f64().ceil())]
    TooOften { connector: String, limit: u32, retry_after: Duration },
    #[error("{connector} offers no tool that is enabled: enable one, or see why it lists none")]
    NoTools { connector: String },
    #[error("{0}")]
    Model(LlmError),
    /// The model spoke, and not to the question.
    #[error("{reason}")]
    Unanswered { reason: String },
    #[error("it was not done within {limit:?}: ask for less at a time, or allow more time")]
    TimedOut { limit: Duration },
    #[error("it was cancelled")]
    Cancelled,
    #[error("{connector} was removed meanwhile")]
    Removed { connector: String },
}

impl Failure {
    /// Whether there is no such connector, or something else went wrong.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "CONNECTOR_NOT_FOUND",
            Self::Busy { .. }
            | Self::TooOften { .. }
            | Self::NoTools { .. }
            | Self::Model(_)
            | Self::Unanswered { .. }
            | Self::TimedOut { .. }
            | Self::Cancelled
            | Self::Removed { .. } => "MCP_ORCHESTRATION_FAILED",
        }
    }

    /// The sentence that goes with it.
    pub fn message(&self) -> String {
        match self {
            Self::NotFound { .. } => self.to_string(),
            Self::Busy { .. }
            | Self::TooOften { .. }
            | Self::NoTools { .. }
            | Self::Model(_)
            | Self::Unanswered { .. }
            | Self::TimedOut { .. }
            | Self::Cancelled
            | Self::Removed { .. } => format!("Failed to execute MCP connector query: {self}"),
        }
    }
}

impl Report {
    /// A query that came to nothing before it began.
    pub fn refused(connector_id: &str, connector_name: &str, failure: Failure) -> Self {
        Self {
            connector_id: connector_id.to_owned(),
            connector_name: connector_name.to_owned(),
            tools_used: Vec::new(),
            contexts: Vec::new(),
            answer: String::new(),
            trace: Vec::new(),
            model: None,
            usage: Usage::default(),
            cost: None,
            notes: Vec::new(),
            failure: Some(failure),
        }
    }

    /// The answer under a few lines on how it came about; for a failure, what failed and what there is all the same.
    pub fn data(&self) -> String {
        let tools = if self.tools_used.is_empty() { "None".to_owned() } else { self.tools_used.join(", ") };
        let contexts = self.contexts.len();
        match &self.failure {
            None => format!(
                "MCP Connector: {}\nTools Used: {tools}\nContexts Found: {contexts}\n\n{}",
                self.connector_name, self.answer
            ),
            Some(failure) if self.tools_used.is_empty() => failure.message(),
            Some(failure) => format!(
                "{}\n\nThe result is partial.\nTools Used: {tools}\nContexts Found: {contexts}\n\n{}",
                failure.message(),
                self.answer
            )
            .trim_end()
            .to_owned(),
        }
    }
}

#[derive(Serialize)]
struct Output<'a> {
    status: &'static str,
    data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Error<'a>>,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: &'static str,
    message: String,
    details: Details<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    connector_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    connector_id: &'a str,
    connector_name: &'a str,
    tools_used: &'a [String],
    contexts: &'a [Context],
    answer: &'a str,
    trace: &'a [Traced],
    model: Option<&'a str>,
    usage: Used,
    notes: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Used {
    input_tokens: u64,
    output_tokens: u64,
    /// As text: the smallest costs have more decimals than a float keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<String>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = |failure: &Failure| Error {
            code: failure.code(),
            message: failure.message(),
            details: Details { connector_id: &self.connector_id },
        };
        let output = Output {
            status: if self.failure.is_some() { "error" } else { "success" },
            data: self.data(),
            error: self.failure.as_ref().map(error),
            metadata: Metadata {
                connector_id: &self.connector_id,
                connector_name: &self.connector_name,
                tools_used: &self.tools_used,
                contexts: &self.contexts,
                answer: &self.answer,
                trace: &self.trace,
                model: self.model.as_deref(),
                usage: Used {
                    input_tokens: self.usage.input,
                    output_tokens: self.usage.output,
                    cost: self.cost.map(|cost| cost.to_string()),
                },
                notes: &self.notes,
            },
        };
        output.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_success_has_status_data_and_metadata() {
        let report = Report {
            tools_used: vec!["search_repositories".to_owned(), "list_issues".to_owned()],
            answer: "Seven issues.".to_owned(),
            failure: None,
            usage: Usage { input: 3, output: 1 },
            cost: Some(Cost::from_nanos(1_500)),
            ..Report::refused("c-1", "github", Failure::Cancelled)
        };
        let data = "MCP Connector: github\nTools Used: search_repositories, list_issues\nContexts Found: 0\n\n\
                    Seven issues.";
        let expected = json!({
            "status": "success",
            "data": data,
            "metadata": {
                "connectorId": "c-1",
                "connectorName": "github",
                "toolsUsed": ["search_repositories", "list_issues"],
                "contexts": [],
                "answer": "Seven issues.",
                "trace": [],
                "model": null,
                "usage": { "inputTokens": 3, "outputTokens": 1, "cost": "0.0000015" },
                "notes": [],
            },
        });
        assert_eq!(json!(report), expected);
    }

    #[track_caller]
    fn check_error(failure: Failure, code: &str, message: &str) {
        let written = json!(Report::refused("c-1", "", failure));
        let expected = json!({ "code": code, "message": message, "details": { "connectorId": "c-1" } });
        assert_eq!((&written["status"], &written["error"]), (&json!("error"), &expected));
        assert_eq!(written["data"], message);
    }

    #[test]
    fn an_error_has_its_code_and_its_sentence() {
        let missing = Failure::NotFound { connector: "c-1".to_owned() };
        check_error(missing, "CONNECTOR_NOT_FOUND", "MCP connector c-1 not found or not active");
        let failed = "Failed to execute MCP connector query: it was cancelled";
        check_error(Failure::Cancelled, "MCP_ORCHESTRATION_FAILED", failed);
        let often = Failure::TooOften {
            connector: "github".to_owned(),
            limit: 5,
            retry_after: Duration::from_millis(1500),
        };
        let message =
            "Failed to execute MCP connector query: github takes 5 queries a minute: try again in 2 s";
        check_error(often, "MCP_ORCHESTRATION_FAILED", message);
    }

    #[test]
    fn a_failure_midway_says_that_there_is_a_part() {
        let report =
            Report { tools_used: vec!["a".to_owned()], ..Report::refused("c", "github", Failure::Cancelled) };
        let expected = "Failed to execute MCP connector query: it was cancelled\n\nThe result is partial.\n\
                        Tools Used: a\nContexts Found: 0";
        assert_eq!(report.data(), expected);
    }
}
