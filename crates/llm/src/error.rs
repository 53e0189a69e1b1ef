//! What can go wrong with a model, told apart by what to do about it.

use std::time::Duration;

use crate::budget::Refusal;

/// Reasons quote a few words of the provider's own where they help, and never a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    #[error("the model provider refuses the key ({reason}): check the key and what it may be used for")]
    Unauthorized { reason: String },
    #[error("the model provider has had too many requests{}", after(*.retry_after))]
    RateLimited { retry_after: Option<Duration> },
    /// Down, overloaded, or lost on the way.
    #[error(
        "the model provider cannot be reached or does not work ({reason}): check its address, or try later"
    )]
    Unavailable { reason: String },
    #[error("the model has not answered within {limit:?}: give it more time, or take a faster one")]
    TimedOut { limit: Duration },
    /// It answered, and not with what was agreed.
    #[error("the model's answer cannot be used: {reason}; it begins with: {excerpt}")]
    Garbage { reason: String, excerpt: String },
    #[error("the model's answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("{0}")]
    OverBudget(Refusal),
    /// The request as such: an unknown model, a text that is too long, a feature that it does not have.
    #[error(
        "the model provider does not take the request ({status}: {reason}): check the model's name, \
         its address and what it can do"
    )]
    Rejected { status: u16, reason: String },
    /// Vectors of another model, or of a model that was changed: they cannot be compared with those of before.
    #[error(
        "the embedding model gives {got} dimensions instead of {expected}: embed everything anew, \
         or go back to the former model"
    )]
    DimensionMismatch { expected: usize, got: usize },
    /// The settings cannot work, whatever the provider does.
    #[error("model settings: {reason}")]
    Misconfigured { reason: String },
}

impl LlmError {
    /// Whether the same request may go well a little later, without anybody having mended anything.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Unavailable { .. } | Self::TimedOut { .. } => true,
            Self::OverBudget(refusal) => refusal.is_passing(),
            Self::Unauthorized { .. }
            | Self::Garbage { .. }
            | Self::TooLarge { .. }
            | Self::Rejected { .. }
            | Self::DimensionMismatch { .. }
            | Self::Misconfigured { .. } => false,
        }
    }
}

fn after(pause: Option<Duration>) -> String {
    match pause {
        Some(pause) => format!(": try again in {} s", pause.as_secs_f64().ceil()),
        None => ": try again later".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let limited = LlmError::RateLimited { retry_after: Some(Duration::from_millis(1200)) };
        assert_eq!(limited.to_string(), "the model provider has had too many requests: try again in 2 s");
        let slow = LlmError::TimedOut { limit: Duration::from_secs(30) };
        assert_eq!(
            slow.to_string(),
            "the model has not answered within 30s: give it more time, or take a faster one"
        );
        assert!(slow.is_passing());
        assert!(!LlmError::TooLarge { limit: 1 }.is_passing());
    }
}
