//! What an agent acts through: its server's tools, and the person who may be asked.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use portolan_model::Tool;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// One server, as far as whoever asks may see it. The agent can do nothing that is not here.
#[async_trait]
pub trait Hands: Send + Sync {
    /// The server's tools that are enabled. They are looked at once, at the start of a query: what is listed later does
    /// not count for it.
    fn tools(&self) -> Vec<Arc<Tool>>;

    /// Calls one of them and gives back the result as the server wrote it, `isError` or not.
    async fn call(&self, call: Call<'_>) -> Result<Box<RawValue>, CallFailed>;

    /// Asks the person behind the client a yes-or-no question, and waits for as long as the query may take.
    async fn confirm(&self, question: &str) -> Consent;
}

/// A call on its way. It is dropped when its time is over.
#[derive(Debug)]
pub struct Call<'a> {
    /// The tool's own name, without its server's.
    pub tool: &'a str,
    /// A JSON object.
    pub arguments: &'a RawValue,
    /// What is left for it.
    pub within: Duration,
    /// Cancelled as soon as nobody waits for the answer any more.
    pub cancelled: CancellationToken,
}

/// No result came: the server is away, refused, or took too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CallFailed {
    pub reason: String,
}

/// What a person says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    Confirmed,
    Declined,
    /// The client has no way to ask.
    CannotAsk,
}
