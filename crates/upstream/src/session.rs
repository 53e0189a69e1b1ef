//! One live connection to a server: the cheap handle that calls go through.

use crate::aside::Aside;
use crate::error::{CallError, ConnectError};
use crate::fleet::Outside;
use crate::handshake::{Card, Welcome};
use crate::inbox::Inbox;
use crate::link::Link;
use crate::link::remote::Labels;
use crate::opening::{self, Failure, Opened, Opening};
use crate::pending::Reply;
use crate::question::{Desk, Party};
use bytes::Bytes;
use portolan_model::{Endpoint, Era, Kinds, ServerName};
use portolan_telemetry::counters;
use portolan_wire::params::{Hop, write_own};
use portolan_wire::{Revision, answer};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a session stands on: the outside world, and the tokens and tasks that end with it.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) outside: Arc<Outside>,
    /// Asks the session's tasks to end.
    pub(crate) stop: CancellationToken,
    /// Says that the session is of no use any more.
    pub(crate) closed: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Ground {
    pub(crate) fn new(outside: Arc<Outside>) -> Self {
        let (stop, closed) = (CancellationToken::new(), CancellationToken::new());
        Self { outside, stop, closed, tasks: TaskTracker::new() }
    }

    /// A part of it that can end by itself.
    fn part(&self) -> Self {
        Self {
            outside: self.outside.clone(),
            stop: self.stop.child_token(),
            closed: CancellationToken::new(),
            tasks: self.tasks.clone(),
        }
    }

    /// Ends what stands on it and waits until it is gone: a child is reaped before the next one starts.
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        self.closed.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    link: Link,
    inbox: Arc<Inbox>,
    ground: Ground,
    welcome: Welcome,
    slots: Semaphore,
    /// Who we are, in every request of the newer era.
    card: Card,
}

/// One request, as its caller wants it carried.
pub struct Ask<'a> {
    pub method: &'a str,
    /// Writes the params as this hop wants them.
    pub params: &'a (dyn Fn(&Hop<'_>, &mut Vec<u8>) + Sync),
    /// About how long the params will be.
    pub params_len: usize,
    pub timeout: Duration,
    /// Takes the server's notes and brings the client's wish to end it; `None` where there is no client.
    pub aside: Option<&'a Arc<Aside>>,
    /// The name or URI that is asked for, which some servers want in a header too.
    pub name: Option<&'a str>,
    /// Arguments that some tools want in headers too.
    pub mirrored: &'a [(&'a str, String)],
}

impl<'a> Ask<'a> {
    /// A request of our own.
    pub(crate) fn own(
        method: &'a str,
        params: &'a (dyn Fn(&Hop<'_>, &mut Vec<u8>) + Sync),
        timeout: Duration,
    ) -> Self {
        Self { method, params, params_len: 256, timeout, aside: None, name: None, mirrored: &[] }
    }
}

impl Session {
    /// Opens a session: transport, first words, and for Streamable HTTP the server's own stream. If this fails or is
    /// dropped, the owner of the ground ends what was begun.
    pub(crate) async fn open(
        server: &ServerName,
        endpoint: &Endpoint,
        era: Option<Era>,
        party: &Party,
        ground: &Ground,
    ) -> Result<Self, ConnectError> {
        let opening = Opening { endpoint, era, abilities: &party.abilities };
        match Self::try_open(server, &opening, party.desk.clone(), ground.part()).await {
            Err(Failure::AtTheQuestion(_)) => {
                let opening = Opening { era: Some(Era::Legacy), ..opening };
                let again = Self::try_open(server, &opening, party.desk.clone(), ground.part()).await;
                again.map_err(Failure::error)
            }
            first => first.map_err(Failure::error),
        }
    }

    async fn try_open(
        server: &ServerName,
        opening: &Opening<'_>,
        owner: Option<Arc<dyn Desk>>,
        ground: Ground,
    ) -> Result<Self, Failure> {
        let outside = ground.outside.clone();
        let depth = outside.limits.json_depth;
        let inbox = Arc::new(Inbox::new(server.clone(), outside.notices.clone(), depth, owner));
        ground.tasks.spawn(sweep(inbox.clone(), ground.stop.clone()));
        let opened = opening.open(&inbox, &ground).await;
        if opened.is_err() {
            ground.stop.cancel();
        }
        let Opened { link, welcome } = opened?;
        if welcome.revision.has_handshake() {
            link.tell(opening::initialized()).await?;
            if let Link::Http(link) = &link {
                link.listen().await;
            }
        }
        counters::SESSIONS_OPENED.one();
        let slots = Semaphore::new(outside.limits.in_flight_per_server);
        let card = Card::of(&outside.identity);
        Ok(Self(Arc::new(Inner { link, inbox, ground, welcome, slots, card })))
    }

    pub fn server(&self) -> &ServerName {
        &self.0.inbox.server
    }

    pub(crate) fn welcome(&self) -> &Welcome {
        &self.0.welcome
    }

    pub fn is_closed(&self) -> bool {
        self.0.ground.closed.is_cancelled()
    }

    /// Waits until it is of no use any more.
    pub async fn closed(&self) {
        self.0.ground.closed.cancelled().await;
    }

    /// Why it closed, in words for people.
    pub(crate) fn epitaph(&self) -> String {
        let closed = self.0.inbox.pending.closed();
        closed.map_or_else(
            || "the connection was lost".to_owned(),
            |error| ConnectError::from(error).to_string(),
        )
    }

    pub fn revision(&self) -> Revision {
        self.0.welcome.revision
    }

    pub(crate) fn era(&self) -> Era {
        if self.revision().has_handshake() { Era::Legacy } else { Era::Modern }
    }

    /// Whether what the server says of a call says which call that is.
    pub(crate) fn tells_calls_apart(&self) -> bool {
        matches!(self.0.link, Link::Http(_))
    }

    /// Whether arguments of calls are mirrored in headers.
    pub fn is_labelled(&self) -> bool {
        matches!(&self.0.link, Link::Http(link) if link.is_labelled())
    }

    /// Has lists listed again, as if the server had said that they changed.
    pub(crate) fn want_lists(&self, kinds: Kinds) {
        self.0.inbox.change(kinds);
    }

    pub(crate) async fn lists_changed(&self) -> Kinds {
        self.0.inbox.changed().await
    }

    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.0.inbox
    }

    /// Sends a request and waits for its answer, for its deadline, or for its caller to give up.
    pub async fn request(&self, ask: Ask<'_>) -> Result<Reply, CallError> {
        let inner = &*self.0;
        let limit = inner.ground.outside.limits.in_flight_per_server;
        let Ok(_slot) = inner.slots.try_acquire() else {
            return Err(CallError::Busy { server: self.server().clone(), limit });
        };
        let mut ticket = inner.inbox.pending.open(ask.timeout, ask.aside.cloned())?;
        let id = ticket.id;
        let body = self.body(id, &ask);
        let labels = Labels { method: ask.method, name: ask.name, mirrored: ask.mirrored };
        // Whoever goes away without a word ends its call, where its revision says so.
        let mut leaving = Leaving { session: self, id, aside: ask.aside };
        let outcome = tokio::select! {
            biased;
            outcome = inner.link.carry(&mut ticket, body, &labels) => outcome,
            () = cancelled(ask.aside) => Err(CallError::Cancelled),
        };
        leaving.aside = None;
        match &outcome {
            Err(CallError::Cancelled) => self.cancel_upstream(id, ask.aside.and_then(|aside| aside.reason())),
            Err(CallError::TimedOut { .. }) => {
                self.cancel_upstream(id, Some(r#""the time limit was reached""#));
            }
            _ => {}
        }
        outcome
    }

    fn body(&self, id: u64, ask: &Ask<'_>) -> Bytes {
        let mut body = answer::request_head(id, ask.method, ask.params_len);
        (ask.params)(&self.0.card.hop(self.revision(), id), &mut body);
        body.push(b'}');
        body.into()
    }

    /// Carries a request that stands for as long as its stream does: its notifications come to the inbox.
    pub(crate) async fn stand(&self, ask: Ask<'_>) -> Result<Reply, CallError> {
        let mut ticket = self.0.inbox.pending.stand()?;
        let id = ticket.id;
        let body = self.body(id, &ask);
        let labels = Labels { method: ask.method, name: ask.name, mirrored: ask.mirrored };
        let _leaving = Standing { session: self, id };
        self.0.link.carry(&mut ticket, body, &labels).await
    }

    /// Tells the server that nobody waits for the answer any more; it may not hear it. The reason is raw JSON.
    fn cancel_upstream(&self, id: u64, reason: Option<&str>) {
        // Closing the answer's stream has said so.
        if self.is_labelled() {
            return;
        }
        let reason = reason.map(|reason| format!(r#","reason":{reason}"#)).unwrap_or_default();
        let params = format!(r#"{{"requestId":{id}{reason}}}"#);
        self.tell_soon(answer::notification("notifications/cancelled", Some(&params)).into());
    }

    /// Tells the server something on behalf of a client.
    pub(crate) fn tell(&self, method: &str, params: Option<&str>) {
        self.tell_soon(answer::notification(method, params).into());
    }

    /// Runs something for as long as the session lives.
    pub(crate) fn owns(&self, work: impl Future<Output = ()> + Send + 'static) {
        let (stop, closed) = (self.0.ground.stop.clone(), self.0.ground.closed.clone());
        self.0.ground.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = closed.cancelled() => {}
                () = work => {}
            }
        });
    }

    fn tell_soon(&self, body: Bytes) {
        let inner = self.0.clone();
        self.0.ground.tasks.spawn(async move {
            let limit = inner.ground.outside.limits.call_timeout;
            tokio::time::timeout(limit, inner.link.tell(body)).await.ok();
        });
    }

    /// How many replies have come on it so far.
    pub(crate) fn answers(&self) -> u64 {
        self.0.inbox.answers.load(Ordering::Relaxed)
    }

    /// Whether the server answers within `patience`; an error is an answer too, and that we have as many calls in flight
    /// as we allow ourselves says nothing against it.
    pub(crate) async fn ping(&self, patience: Duration) -> bool {
        let method = match self.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        let write = |hop: &Hop<'_>, out: &mut Vec<u8>| write_own(hop, &[], out);
        matches!(self.request(Ask::own(method, &write, patience)).await, Ok(_) | Err(CallError::Busy { .. }))
    }

    /// Asks the server for log messages of this level and above, if it logs at all. From 2026-07-28 on each request says
    /// that for itself.
    pub(crate) async fn set_level(&self, level: portolan_wire::level::Level) {
        if !self.revision().has_handshake() || !self.0.welcome.declares("logging") {
            return;
        }
        let level = format!(r#""{}""#, level.as_str());
        let write = |hop: &Hop<'_>, out: &mut Vec<u8>| write_own(hop, &[("level", &level)], out);
        let timeout = self.0.ground.outside.limits.call_timeout;
        if let Err(error) = self.request(Ask::own("logging/setLevel", &write, timeout)).await {
            tracing::debug!(server = %self.server(), %error, "the log level was not taken");
        }
    }

    /// Whether what is in flight can still be answered after the session was lost: each request has its own response.
    pub(crate) fn outlives_its_loss(&self) -> bool {
        matches!(self.0.link, Link::Http(_))
    }

    /// Lets what is in flight end, within `grace`, then ends the session and everything of it. Says how many calls were
    /// given up.
    pub(crate) async fn close(&self, grace: Duration) -> usize {
        let inner = &*self.0;
        tokio::select! {
            () = inner.inbox.pending.idle() => {}
            () = inner.ground.outside.hurry.cancelled() => {}
            () = tokio::time::sleep(grace) => {}
        }
        if !self.is_closed() {
            inner.link.leave().await;
        }
        let given_up = inner.inbox.pending.close(&inner.inbox.lost("the server is being disconnected"));
        inner.ground.end().await;
        given_up
    }
}

/// Ends requests at their deadlines, for as long as the session lives.
async fn sweep(inbox: Arc<Inbox>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = inbox.pending.sweep(&inbox.server) => {}
    }
}

/// Ready when the client wants the call ended; never where there is no client.
async fn cancelled(aside: Option<&Arc<Aside>>) {
    match aside {
        Some(aside) => aside.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Ends a call whose caller has gone.
struct Leaving<'l> {
    session: &'l Session,
    id: u64,
    aside: Option<&'l Arc<Aside>>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.aside.is_some_and(|aside| aside.ends_with_client()) {
            self.session.cancel_upstream(self.id, Some(r#""the client has gone""#));
        }
    }
}

/// Ends a stream that stands when nobody wants it any more.
struct Standing<'s> {
    session: &'s Session,
    id: u64,
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        if !self.session.is_closed() {
            self.session.cancel_upstream(self.id, None);
        }
    }
}
