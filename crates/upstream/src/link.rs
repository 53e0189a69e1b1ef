//! The three ways to a server behind one signature.

pub(crate) mod http;
pub(crate) mod remote;
pub(crate) mod sse;
pub(crate) mod stdio;

use crate::error::CallError;
use crate::pending::{Reply, Ticket};
use bytes::Bytes;
use remote::Labels;

pub(crate) enum Link {
    Stdio(stdio::StdioLink),
    Http(http::HttpLink),
    Sse(sse::SseLink),
}

impl Link {
    /// Carries a request out and its reply back. Dropping the future forgets the request.
    pub(crate) async fn carry(
        &self,
        ticket: &mut Ticket<'_>,
        body: Bytes,
        labels: &Labels<'_>,
    ) -> Result<Reply, CallError> {
        match self {
            Self::Stdio(link) => link.request(ticket.id, body).await?,
            Self::Sse(link) => link.request(ticket.id, body).await?,
            // Each request has its own response here; by the ticket comes its deadline, or the end of everything.
            Self::Http(link) => {
                return tokio::select! {
                    biased;
                    reply = link.request(ticket.id, body, labels) => reply,
                    ended = &mut ticket.reply => ended.unwrap_or_else(|_| Err(self.gone())),
                };
            }
        }
        match (&mut ticket.reply).await {
            Ok(outcome) => outcome,
            // The table answers every ticket it closes; a dropped sender means the session is gone.
            Err(_) => Err(self.gone()),
        }
    }

    /// Sends something that has no reply.
    pub(crate) async fn tell(&self, body: Bytes) -> Result<(), CallError> {
        match self {
            Self::Stdio(link) => link.tell(body),
            Self::Sse(link) => link.post(body).await,
            Self::Http(link) => link.tell(body).await,
        }
    }

    /// Says goodbye where the transport has a word for it.
    pub(crate) async fn leave(&self) {
        match self {
            Self::Http(link) => link.leave().await,
            Self::Stdio(_) | Self::Sse(_) => {}
        }
    }

    fn gone(&self) -> CallError {
        let inbox = match self {
            Self::Stdio(link) => &link.inbox,
            Self::Sse(link) => &link.inbox,
            Self::Http(link) => &link.inbox,
        };
        inbox.lost("the session has ended")
    }
}
