//! One live connection to a server: the cheap handle that calls go through.

use crate::aside::Aside;
use crate::error::{CallError, ConnectError};
use crate::fleet::Outside;
use crate::handshake::{self, Welcome};
use crate::inbox::Inbox;
use crate::link::Link;
use crate::link::http::{HttpLink, OpenError};
use crate::link::remote::Remote;
use crate::link::sse::SseLink;
use crate::link::stdio::StdioLink;
use crate::pending::Reply;
use bytes::Bytes;
use portolan_model::{Endpoint, RemoteKind, ServerName};
use portolan_telemetry::counters;
use portolan_wire::answer;
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
}

/// One request, as its caller wants it carried.
pub struct Ask<'a> {
    pub method: &'a str,
    /// Writes the params; the number is our own progress token for this request.
    pub params: &'a (dyn Fn(u64, &mut Vec<u8>) + Sync),
    /// About how long the params will be.
    pub params_len: usize,
    pub timeout: Duration,
    /// Takes the server's notes and brings the client's wish to end it; `None` where there is no client.
    pub aside: Option<&'a Arc<Aside>>,
}

impl Session {
    /// Opens a session: transport, handshake, and for Streamable HTTP the server's own stream. If this fails or is
    /// dropped, the owner of the ground ends what was begun.
    pub(crate) async fn open(
        server: &ServerName,
        endpoint: &Endpoint,
        ground: Ground,
    ) -> Result<Self, ConnectError> {
        let outside = ground.outside.clone();
        let inbox = Arc::new(Inbox::new(server.clone(), outside.notices.clone(), outside.limits.json_depth));
        ground.tasks.spawn(sweep(inbox.clone(), ground.stop.clone()));
        let (mut link, reply) = open_link(endpoint, &inbox, &ground).await?;
        let welcome = Welcome::read(&reply, &outside.identity)?;
        if let Link::Http(link) = &mut link {
            link.negotiated(welcome.revision);
        }
        link.tell(answer::notification("notifications/initialized", None).into()).await?;
        if let Link::Http(link) = &link {
            link.listen();
        }
        counters::SESSIONS_OPENED.one();
        let slots = Semaphore::new(outside.limits.in_flight_per_server);
        Ok(Self(Arc::new(Inner { link, inbox, ground, welcome, slots })))
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

    /// Has the tools listed again, as if the server had said that they changed.
    pub(crate) fn want_tools(&self) {
        self.0.inbox.tools_changed.notify_one();
    }

    pub(crate) async fn tools_changed(&self) {
        self.0.inbox.tools_changed.notified().await;
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
        let mut body = answer::request_head(id, ask.method, ask.params_len);
        (ask.params)(id, &mut body);
        body.push(b'}');
        let outcome = tokio::select! {
            biased;
            outcome = inner.link.carry(&mut ticket, body.into()) => outcome,
            () = cancelled(ask.aside) => Err(CallError::Cancelled),
        };
        match &outcome {
            Err(CallError::Cancelled) => self.cancel_upstream(id, ask.aside.and_then(|aside| aside.reason())),
            Err(CallError::TimedOut { .. }) => {
                self.cancel_upstream(id, Some(r#""the time limit was reached""#));
            }
            _ => {}
        }
        outcome
    }

    /// Tells the server that nobody waits for the answer any more; it may not hear it. The reason is raw JSON.
    fn cancel_upstream(&self, id: u64, reason: Option<&str>) {
        let reason = reason.map(|reason| format!(r#","reason":{reason}"#)).unwrap_or_default();
        let params = format!(r#"{{"requestId":{id}{reason}}}"#);
        self.tell_soon(answer::notification("notifications/cancelled", Some(&params)).into());
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
        let write = |_: u64, out: &mut Vec<u8>| out.extend_from_slice(b"{}");
        let ask = Ask { method: "ping", params: &write, params_len: 2, timeout: patience, aside: None };
        matches!(self.request(ask).await, Ok(_) | Err(CallError::Busy { .. }))
    }

    /// Asks the server for log messages of this level and above, if it logs at all.
    pub(crate) async fn set_level(&self, level: portolan_wire::level::Level) {
        if !self.0.welcome.has_logging {
            return;
        }
        let write = |_: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(format!(r#"{{"level":"{}"}}"#, level.as_str()).as_bytes());
        };
        let timeout = self.0.ground.outside.limits.call_timeout;
        let ask = Ask { method: "logging/setLevel", params: &write, params_len: 32, timeout, aside: None };
        if let Err(error) = self.request(ask).await {
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

async fn open_link(
    endpoint: &Endpoint,
    inbox: &Arc<Inbox>,
    ground: &Ground,
) -> Result<(Link, Reply), ConnectError> {
    let identity = &ground.outside.identity;
    match endpoint {
        Endpoint::Child(spec) => {
            let link = StdioLink::open(spec, inbox.clone(), ground).map_err(ConnectError::Failed)?;
            handshake::over(Link::Stdio(link), inbox, identity).await
        }
        Endpoint::Remote { kind, url, headers, origin } => {
            let remote = Remote::new(ground.outside.outbound.clone(), *origin, url, headers)?;
            if *kind == RemoteKind::Sse {
                let link = SseLink::open(&remote, inbox.clone(), ground).await?;
                return handshake::over(Link::Sse(link), inbox, identity).await;
            }
            let initialize = handshake::initialize(0, identity);
            match HttpLink::open(remote.clone(), inbox.clone(), ground, initialize).await {
                Ok((link, reply)) => Ok((Link::Http(link), reply)),
                Err(OpenError::Connect(error)) => Err(error),
                Err(OpenError::AnotherTransport(status)) if *kind == RemoteKind::Http => Err(
                    ConnectError::Failed(format!("it answered {status} to initialize: is the url right?")),
                ),
                Err(OpenError::AnotherTransport(_)) => {
                    let link = SseLink::open(&remote, inbox.clone(), ground).await?;
                    handshake::over(Link::Sse(link), inbox, identity).await
                }
            }
        }
    }
}
