//! What can go wrong with a session: every variant names the server and says whose turn it is.

use portolan_model::ServerName;
use std::time::Duration;

/// Why a request got no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The server took in nothing of it: it may go out again on another session.
    #[error("server {server} is not reachable: {reason}")]
    NotSent { server: ServerName, reason: String },
    /// At least a byte went out; it may have taken effect, so it is never sent again.
    #[error("server {server} was lost while the call was running, which may have taken effect: {reason}")]
    Lost { server: ServerName, reason: String },
    #[error("server {server} did not answer within {limit:?}; the call was cancelled")]
    TimedOut { server: ServerName, limit: Duration },
    #[error("cancelled by the client")]
    Cancelled,
    #[error("the answer of server {server} is larger than the limit of {limit} bytes")]
    TooLarge { server: ServerName, limit: usize },
    #[error("server {server} has {limit} calls in flight, which is the limit; try again later")]
    Busy { server: ServerName, limit: usize },
    #[error("server {server} broke the protocol: {reason}")]
    Protocol { server: ServerName, reason: String },
}

/// Why no session could be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Trying again may help.
    #[error("{0}")]
    Failed(String),
    /// The server refuses our credentials: trying again would only hammer it.
    #[error("the server refuses the credentials ({status}): check the `headers` of its entry{detail}")]
    Unauthorized { status: u16, detail: String },
    /// The server is this Portolan, or leads back to it.
    #[error("{0}")]
    Loop(String),
}

impl ConnectError {
    pub const fn is_worth_a_retry(&self) -> bool {
        match self {
            Self::Failed(_) => true,
            Self::Unauthorized { .. } | Self::Loop(_) => false,
        }
    }
}

impl From<CallError> for ConnectError {
    fn from(error: CallError) -> Self {
        Self::Failed(match error {
            CallError::NotSent { reason, .. } | CallError::Lost { reason, .. } => reason,
            CallError::TimedOut { limit, .. } => format!("no answer within {limit:?}"),
            CallError::Protocol { reason, .. } => format!("it broke the protocol: {reason}"),
            other @ (CallError::Cancelled | CallError::TooLarge { .. } | CallError::Busy { .. }) => {
                other.to_string()
            }
        })
    }
}
