//! One server of the fleet, as others see it: its state, and the way to its session.

use crate::health::Report;
use crate::orders::{Farewell, Order, Parting, Taken};
use crate::pending::Reply;
use crate::pool::{Lease, Pool};
use crate::profiles::Presence;
use crate::question::Party;
use crate::session::Session;
use crate::wishes::Wishes;
use arc_swap::ArcSwapOption;
use portolan_model::{Era, Moment, ServerName, ServerSpec, Sharing, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    /// Why the last try failed, until one succeeds.
    pub error: Option<Arc<str>>,
    /// When the last session was opened.
    pub connected_at: Option<Moment>,
    /// No new calls: it is about to be disconnected.
    pub is_draining: bool,
}

impl Status {
    pub fn at_first(state: State) -> Self {
        Self { state, error: None, connected_at: None, is_draining: false }
    }
}

/// A call could not get a session; says what the server is doing instead.
#[derive(Debug, Clone, thiserror::Error)]
#[error("server {server} is {}{}", doing(.status), because(.status))]
pub struct Unavailable {
    pub server: ServerName,
    pub status: Status,
}

fn doing(status: &Status) -> &'static str {
    if status.is_draining { "being disconnected" } else { status.state.as_str() }
}

fn because(status: &Status) -> String {
    status.error.as_ref().map(|e| format!(": {e}")).unwrap_or_default()
}

#[derive(Debug)]
pub struct Member {
    pub spec: ServerSpec,
    pub(crate) slot: Arc<ArcSwapOption<Session>>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) wishes: Arc<Wishes>,
    /// How long one call may take.
    pub call_timeout: Duration,
    pub(crate) status: watch::Receiver<Status>,
    pub(crate) health: watch::Receiver<Report>,
    pub(crate) orders: mpsc::Sender<Order>,
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

    pub fn health(&self) -> Report {
        self.health.borrow().clone()
    }

    /// Has it connected from now on; one that is connected notices nothing. Its status says so when this returns.
    pub async fn connect(&self) {
        self.order(Order::Connect).await;
    }

    /// Has its session replaced by a new one. Its status says so when this returns.
    pub async fn reconnect(&self) {
        self.order(Order::Reconnect).await;
    }

    async fn order(&self, order: fn(Taken) -> Order) {
        let (taken, heard) = Taken::new();
        self.orders.send(order(taken)).await.ok();
        // One whose life is over hears nothing, and drops the order with itself.
        heard.await.unwrap_or_default();
    }

    /// Has its tools listed again, soon.
    pub async fn refresh(&self) {
        self.orders.send(Order::Refresh).await.ok();
    }

    /// Has it disconnected until asked otherwise, and waits for that; says how many calls were given up.
    pub async fn disconnect(&self, parting: Parting) -> usize {
        let (done, told) = oneshot::channel();
        self.orders.send(Order::Disconnect(Farewell { parting, done })).await.ok();
        // One whose life is over is disconnected too.
        told.await.unwrap_or_default()
    }

    /// Waits until a try to connect has come to an end, one way or the other.
    pub async fn decided(&self) -> Status {
        let mut status = self.status.clone();
        let is_decided = |status: &Status| status.state != State::Connecting && !status.is_draining;
        match status.wait_for(is_decided).await {
            Ok(status) => status.clone(),
            Err(_) => self.status(),
        }
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
            let is_coming = matches!(now.state, State::Connecting | State::Connected | State::Degraded)
                && !now.is_draining;
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

    /// A session for this client: the one that all share, or one that declares what the client declares.
    pub async fn lease(&self, party: &Party, wait: Duration) -> Result<Lease, Unavailable> {
        let session = self.session(wait).await?;
        if party.abilities.is_none() || session.era() == Era::Modern || self.spec.sharing == Sharing::Shared {
            return Ok(Lease::shared(session));
        }
        // To open a session takes room, which calls on the shared one are not to carry about.
        let pooled = Box::pin(self.pool.lease(party, Instant::now() + wait)).await;
        Ok(pooled.unwrap_or_else(|| Lease::shared(session)))
    }

    /// Has it tell of a resource from now on, as one client more wants it: what it says to that.
    pub async fn subscribe(&self, uri: &str) -> Reply {
        self.wishes.subscribe(uri, self.call_timeout).await
    }

    /// One client less wants to hear of a resource.
    pub fn unsubscribe(&self, uri: &str) {
        self.wishes.unsubscribe(uri);
    }

    /// Whether it is there, or on its way.
    pub(crate) fn presence(&self) -> Option<Presence> {
        if self.live().is_some() {
            return Some(Presence::Here);
        }
        let status = self.status.borrow();
        (!status.is_draining && status.state == State::Connecting).then_some(Presence::Coming)
    }

    pub(crate) fn live(&self) -> Option<Session> {
        let session = self.slot.load();
        session.as_ref().filter(|s| !s.is_closed()).map(|s| (**s).clone())
    }
}
