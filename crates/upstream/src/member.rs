//! One server of the fleet, as others see it: its state, and the way to its session.

use crate::session::Session;
use arc_swap::ArcSwapOption;
use portolan_model::{ServerName, ServerSpec, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    /// Why the last try failed, until one succeeds.
    pub error: Option<Arc<str>>,
}

/// A call could not get a session; says what the server is doing instead.
#[derive(Debug, Clone, thiserror::Error)]
#[error("server {server} is {}{}", .status.state, because(.status))]
pub struct Unavailable {
    pub server: ServerName,
    pub status: Status,
}

fn because(status: &Status) -> String {
    status.error.as_ref().map(|e| format!(": {e}")).unwrap_or_default()
}

#[derive(Debug)]
pub struct Member {
    pub spec: ServerSpec,
    pub(crate) slot: Arc<ArcSwapOption<Session>>,
    pub(crate) status: watch::Receiver<Status>,
    pub(crate) stop: CancellationToken,
    /// Fires when the server's task has ended and nothing of it is left.
    pub(crate) gone: CancellationToken,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({})", self.server())
    }
}

impl Member {
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// The live session; one that is coming is waited for, one that is not is an error at once.
    pub async fn session(&self, wait: Duration) -> Result<Session, Unavailable> {
        if let Some(session) = self.live() {
            return Ok(session);
        }
        let deadline = Instant::now() + wait;
        let mut status = self.status.clone();
        loop {
            let now = status.borrow_and_update().clone();
            if let Some(session) = self.live() {
                return Ok(session);
            }
            // A session that has just broken is noticed by its caller before the state says so.
            let is_coming = matches!(now.state, State::Connecting | State::Connected | State::Degraded);
            let unavailable = || Unavailable { server: self.spec.name.clone(), status: now.clone() };
            if !is_coming || self.stop.is_cancelled() {
                return Err(unavailable());
            }
            match tokio::time::timeout_at(deadline, status.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(unavailable()),
            }
        }
    }

    fn live(&self) -> Option<Session> {
        let session = self.slot.load();
        session.as_ref().filter(|s| !s.is_closed()).map(|s| (**s).clone())
    }
}
