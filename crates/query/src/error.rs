//! The two errors that a query can end with, as JSON-RPC says them, and why one server did not answer.

use serde_json::{Value, json};
use std::fmt;

/// More of a server's own words than this is not repeated.
const LONGEST_REASON: usize = 300;

/// Why a server has nothing to say, in words for people: `timeout after 3s`, `connection refused`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// One line, bounded: what servers say of their failures goes into somebody's answer.
    pub fn new(text: impl AsRef<str>) -> Self {
        let line = text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
        if line.chars().count() <= LONGEST_REASON {
            return Self(line);
        }
        Self(line.chars().take(LONGEST_REASON).chain(['…']).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What came of a call instead of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The server answered with an error: another way may still lead to it.
    Refused(Reason),
    /// There is no answer: the server is not reached, or was lost.
    Lost(Reason),
}

/// A query that has no results to tell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("Invalid query parameters")]
    Invalid { field: &'static str, reason: String },
    /// Each server with its reason, in the order of their names.
    #[error("Aggregation failed: all servers unavailable")]
    AllFailed { failures: Vec<(String, Reason)> },
}

impl QueryError {
    pub const fn code(&self) -> i64 {
        match self {
            Self::Invalid { .. } => -32602,
            Self::AllFailed { .. } => -32603,
        }
    }

    /// The `data` of the JSON-RPC error.
    pub fn data(&self) -> Value {
        match self {
            Self::Invalid { field, reason } => json!({"field": field, "reason": reason}),
            Self::AllFailed { failures } => {
                let attempted: Vec<&str> = failures.iter().map(|(server, _)| server.as_str()).collect();
                json!({"attemptedServers": attempted, "errors": lines(failures)})
            }
        }
    }

    /// The whole `error` member.
    pub fn to_json(&self) -> Value {
        json!({"code": self.code(), "message": self.to_string(), "data": self.data()})
    }
}

/// `server: reason`, one each.
pub(crate) fn lines(failures: &[(String, Reason)]) -> Vec<String> {
    failures.iter().map(|(server, reason)| format!("{server}: {reason}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_004_both_errors_are_said_exactly() {
        let failures = vec![
            ("context7".to_owned(), Reason::new("timeout after 3s")),
            ("serena".to_owned(), Reason::new("connection refused")),
        ];
        assert_eq!(
            QueryError::AllFailed { failures }.to_json(),
            json!({
                "code": -32603,
                "message": "Aggregation failed: all servers unavailable",
                "data": {
                    "attemptedServers": ["context7", "serena"],
                    "errors": ["context7: timeout after 3s", "serena: connection refused"]
                }
            })
        );
        let reason = "Must be between 10 and 100, got 500".to_owned();
        assert_eq!(
            QueryError::Invalid { field: "maxResults", reason }.to_json(),
            json!({
                "code": -32602,
                "message": "Invalid query parameters",
                "data": {"field": "maxResults", "reason": "Must be between 10 and 100, got 500"}
            })
        );
    }

    #[test]
    fn a_reason_is_one_short_line_whatever_a_server_says() {
        assert_eq!(Reason::new(" no\r\nsuch\tfile ").as_str(), "no such file");
        let long = Reason::new("é".repeat(10_000));
        assert_eq!(long.as_str().chars().count(), LONGEST_REASON + 1);
    }
}
