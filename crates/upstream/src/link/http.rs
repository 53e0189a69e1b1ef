//! A server over Streamable HTTP: each request a POST with its own answer, and one stream for the rest.

use super::remote::{self, Kind, Remote};
use crate::error::{CallError, ConnectError};
use crate::inbox::{Inbox, Taken};
use crate::pending::Reply;
use crate::session::Ground;
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use portolan_outbound::read_body;
use portolan_wire::Revision;
use portolan_wire::sse::Events;
use std::sync::Arc;
use std::time::Duration;

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";
/// How long the rest of a finished answer may take before its connection is given up instead of used again.
const DRAIN: Duration = Duration::from_secs(1);
/// How soon a stream that ended is opened again; and at most, when it keeps ending.
const REOPEN: Duration = Duration::from_secs(1);
const REOPEN_MOST: Duration = Duration::from_secs(30);
const GOODBYE: Duration = Duration::from_secs(2);

pub(crate) struct HttpLink {
    pub(crate) inbox: Arc<Inbox>,
    remote: Remote,
    has_session: bool,
    limit: usize,
    ground: Ground,
}

/// Why Streamable HTTP could not be opened.
pub(crate) enum OpenError {
    /// The answer to `initialize` is one that a server of the older HTTP+SSE gives.
    AnotherTransport(StatusCode),
    Connect(ConnectError),
}

impl HttpLink {
    /// Posts `initialize` and takes the session id from its answer.
    pub(crate) async fn open(
        remote: Remote,
        inbox: Arc<Inbox>,
        ground: &Ground,
        initialize: Bytes,
    ) -> Result<(Self, Reply), OpenError> {
        let limit = ground.outside.limits.upstream_message_bytes;
        let mut link = Self { inbox, remote, has_session: false, limit, ground: ground.clone() };
        let failed = |error: CallError| OpenError::Connect(error.into());
        let response = link
            .remote
            .post(initialize)
            .await
            .map_err(|e| OpenError::Connect(ConnectError::Failed(e.to_string())))?;
        let status = response.status();
        if !status.is_success() {
            let reply = link.read(response, 0).await;
            return Err(match (status, reply) {
                (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
                    OpenError::Connect(remote::refusal(status))
                }
                (_, Ok(Reply::Error(error))) if !is_older_transport(status) => {
                    OpenError::Connect(ConnectError::Failed(format!(
                        "it refused initialize: {}",
                        String::from_utf8_lossy(&error)
                    )))
                }
                (StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
                    OpenError::AnotherTransport(status)
                }
                _ => OpenError::Connect(remote::refusal(status)),
            });
        }
        if let Some(id) = response.headers().get(SESSION) {
            link.remote.header(SESSION, id.clone());
            link.has_session = true;
        }
        let reply = link.read(response, 0).await.map_err(failed)?;
        Ok((link, reply))
    }

    /// What was negotiated goes along with every request from now on, where the revision asks for it.
    pub(crate) fn negotiated(&mut self, revision: Revision) {
        if revision >= Revision::V2025_06_18
            && let Ok(value) = revision.as_str().parse()
        {
            self.remote.header(PROTOCOL, value);
        }
    }

    pub(crate) async fn request(&self, id: u64, body: Bytes) -> Result<Reply, CallError> {
        // From here on only the server's own word says that nothing was taken in.
        self.inbox.pending.begin_write(id);
        let response = self.post(body).await?;
        if self.has_session && response.status() == StatusCode::NOT_FOUND {
            return Err(self.forgotten());
        }
        self.read(response, id).await
    }

    /// Posts; a server that cannot even be reached has ended the session, which the lifeline learns at once.
    async fn post(&self, body: Bytes) -> Result<Response<Incoming>, CallError> {
        self.remote.post(body).await.map_err(|error| {
            let error = remote::call_error(&error, &self.inbox);
            if matches!(error, CallError::NotSent { .. }) {
                self.inbox.pending.refuse(&error);
                self.ground.closed.cancel();
            }
            error
        })
    }

    /// The server does not know our session any more, and by the protocol's own rule has taken in nothing of the
    /// request. The lifeline opens a new session; the call may go out on that one.
    fn forgotten(&self) -> CallError {
        let error = self.inbox.unsent("the server has forgotten the session");
        self.inbox.pending.refuse(&error);
        self.ground.closed.cancel();
        error
    }

    async fn read(&self, response: Response<Incoming>, id: u64) -> Result<Reply, CallError> {
        let status = response.status();
        match remote::kind(&response) {
            Kind::Json => {
                let body = read_body(response.into_body(), self.limit)
                    .await
                    .map_err(|e| remote::call_error(&e, &self.inbox))?;
                match self.inbox.take(&body, Some(id)) {
                    Taken::Reply(reply) => Ok(reply),
                    Taken::Failed(error) => Err(error),
                    Taken::Done | Taken::Answer(_) => Err(self
                        .inbox
                        .broken(&format_args!("its answer ({status}) holds no reply to the request"))),
                }
            }
            Kind::Stream if status.is_success() => self.read_stream(response.into_body(), id).await,
            Kind::Stream | Kind::Other => {
                self.drain(response.into_body());
                Err(self.inbox.broken(&format_args!("it answered {status} without a JSON-RPC message")))
            }
        }
    }

    async fn read_stream(&self, mut body: Incoming, id: u64) -> Result<Reply, CallError> {
        let mut events = Events::new(self.limit);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| self.inbox.lost(format!("its stream broke: {e}")))?;
            let Some(chunk) = frame.data_ref() else { continue };
            events.feed(chunk);
            while let Some(event) = events
                .next_event()
                .map_err(|e| CallError::TooLarge { server: self.inbox.server.clone(), limit: e.limit })?
            {
                match self.inbox.take(&event.data, Some(id)) {
                    Taken::Done => {}
                    Taken::Answer(answer) => self.tell_soon(answer.into()),
                    Taken::Failed(error) => {
                        self.drain(body);
                        return Err(error);
                    }
                    Taken::Reply(reply) => {
                        self.drain(body);
                        return Ok(reply);
                    }
                }
            }
        }
        Err(self.inbox.lost("its stream ended without the reply"))
    }

    /// Reads what is left of an answer, so that its connection can be used again.
    fn drain(&self, mut body: Incoming) {
        if body.is_end_stream() {
            return;
        }
        self.ground.tasks.spawn(async move {
            let rest = async { while let Some(Ok(_)) = body.frame().await {} };
            tokio::time::timeout(DRAIN, rest).await.ok();
        });
    }

    pub(crate) async fn tell(&self, body: Bytes) -> Result<(), CallError> {
        let response = self.post(body).await?;
        let status = response.status();
        self.drain(response.into_body());
        match status {
            StatusCode::NOT_FOUND if self.has_session => Err(self.forgotten()),
            status if status.is_success() => Ok(()),
            status => Err(self.inbox.broken(&format_args!("it answered {status} to a notification"))),
        }
    }

    fn tell_soon(&self, body: Bytes) {
        let (remote, tasks) = (self.remote.clone(), &self.ground.tasks);
        tasks.spawn(async move {
            if let Ok(Ok(response)) = tokio::time::timeout(GOODBYE, remote.post(body)).await {
                read_body(response.into_body(), 64 * 1024).await.ok();
            }
        });
    }

    /// Ends the session at the server; whether it hears that does not matter.
    pub(crate) async fn leave(&self) {
        if self.has_session {
            tokio::time::timeout(GOODBYE, self.remote.delete()).await.ok();
        }
    }

    /// Keeps the server's own stream open: what belongs to no request comes here, and its loss tells at once that the
    /// server is gone.
    pub(crate) fn listen(&self) {
        let listener = Self {
            inbox: self.inbox.clone(),
            remote: self.remote.clone(),
            has_session: self.has_session,
            limit: self.limit,
            ground: self.ground.clone(),
        };
        let stop = self.ground.stop.clone();
        let closed = self.ground.closed.clone();
        self.ground.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = closed.cancelled() => {}
                () = listener.keep_listening() => {}
            }
        });
    }

    async fn keep_listening(&self) {
        let mut pause = REOPEN;
        loop {
            match self.remote.get_stream().await {
                Err(error) if error.was_sent() => {}
                Err(error) => {
                    self.inbox.pending.refuse(&self.inbox.lost(error.to_string()));
                    self.ground.closed.cancel();
                    return;
                }
                Ok(response) if self.has_session && response.status() == StatusCode::NOT_FOUND => {
                    self.forgotten();
                    return;
                }
                Ok(response)
                    if !response.status().is_success() || remote::kind(&response) != Kind::Stream =>
                {
                    // The server offers no such stream, which it may.
                    self.drain(response.into_body());
                    return;
                }
                Ok(response) => {
                    if self.hear(response.into_body()).await {
                        pause = REOPEN;
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(REOPEN_MOST);
        }
    }

    /// Reads one stream to its end; says whether anything came.
    async fn hear(&self, mut body: Incoming) -> bool {
        let mut events = Events::new(self.limit);
        let mut has_heard = false;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(chunk) = frame.data_ref() else { continue };
            events.feed(chunk);
            while let Ok(Some(event)) = events.next_event() {
                has_heard = true;
                if let Taken::Answer(answer) = self.inbox.take(&event.data, None) {
                    self.tell_soon(answer.into());
                }
            }
        }
        has_heard
    }
}

/// The statuses after which the specification lets a client try the older transport.
fn is_older_transport(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}
