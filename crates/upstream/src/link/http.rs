//! A server over Streamable HTTP: each request a POST with its own answer, and one stream for the rest.

use super::remote::{self, Kind, Labels, Remote};
use crate::error::{CallError, ConnectError};
use crate::inbox::{Inbox, Taken};
use crate::pending::Reply;
use crate::session::Ground;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use portolan_outbound::read_body;
use portolan_wire::Revision;
use portolan_wire::sse::Events;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";
/// How long the rest of a finished answer may take before its connection is given up instead of used again.
const DRAIN: Duration = Duration::from_secs(1);
/// How soon a stream that ended is opened again; and at most, when it keeps ending.
const REOPEN: Duration = Duration::from_secs(1);
const REOPEN_MOST: Duration = Duration::from_secs(30);
const GOODBYE: Duration = Duration::from_secs(2);
/// How long a server may take to say that its own stream is open. Some say nothing before the first event; by then they have
/// the request for it all the same.
const OPENING: Duration = Duration::from_millis(500);
/// How often an answer that broke off is taken up again without anything new in it.
const MOST_RESUMPTIONS: usize = 5;

#[derive(Clone)]
pub(crate) struct HttpLink {
    pub(crate) inbox: Arc<Inbox>,
    remote: Remote,
    has_session: bool,
    /// Whether requests repeat in their headers what their bodies say, and have no session, as from 2026-07-28 on.
    is_labelled: bool,
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
    pub(crate) fn new(remote: Remote, inbox: Arc<Inbox>, ground: &Ground) -> Self {
        let limit = ground.outside.limits.upstream_message_bytes;
        Self { inbox, remote, has_session: false, is_labelled: false, limit, ground: ground.clone() }
    }

    /// From here on requests stand for themselves.
    pub(crate) fn labelled(mut self) -> Self {
        self.is_labelled = true;
        if let Ok(value) = Revision::V2026_07_28.as_str().parse() {
            self.remote.header(PROTOCOL, value);
        }
        self.remote.make_room_for_labels();
        self
    }

    /// Posts `server/discover`: the answer, or `None` from a server that has none.
    pub(crate) async fn discover(&self, id: u64, discover: Bytes) -> Result<Option<Reply>, ConnectError> {
        let labels = Labels { method: "server/discover", ..Labels::default() };
        let response = self.remote.post_labelled(discover, &labels).await;
        let response = response.map_err(|e| ConnectError::Failed(e.to_string()))?;
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            self.drain(response.into_body());
            return Err(remote::refusal(status));
        }
        // Whatever a server of the older era says to this is not worth understanding.
        Ok(self.read(response, id).await.ok())
    }

    /// Posts `initialize` and takes the session id from its answer.
    pub(crate) async fn initialize(&mut self, id: u64, initialize: Bytes) -> Result<Reply, OpenError> {
        let response = self
            .remote
            .post(initialize)
            .await
            .map_err(|e| OpenError::Connect(ConnectError::Failed(e.to_string())))?;
        let status = response.status();
        if !status.is_success() {
            let reply = self.read(response, id).await;
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
        self.meet(response.headers());
        self.read(response, id).await.map_err(|error| OpenError::Connect(error.into()))
    }

    fn meet(&mut self, headers: &HeaderMap) {
        if let Some(id) = headers.get(SESSION) {
            self.remote.header(SESSION, id.clone());
            self.has_session = true;
        }
    }

    /// What was negotiated goes along with every request from now on, where the revision asks for it.
    pub(crate) fn negotiated(&mut self, revision: Revision) {
        if revision >= Revision::V2025_06_18
            && let Ok(value) = revision.as_str().parse()
        {
            self.remote.header(PROTOCOL, value);
        }
    }

    pub(crate) fn is_labelled(&self) -> bool {
        self.is_labelled
    }

    pub(crate) async fn request(
        &self,
        id: u64,
        body: Bytes,
        labels: &Labels<'_>,
    ) -> Result<Reply, CallError> {
        // From here on only the server's own word says that nothing was taken in.
        self.inbox.pending.begin_write(id);
        let response = self.post(body, self.is_labelled.then_some(labels)).await?;
        if self.has_session && response.status() == StatusCode::NOT_FOUND {
            return Err(self.forgotten());
        }
        self.read(response, id).await
    }

    /// Posts; a server that cannot even be reached has ended the session, which the lifeline learns at once.
    async fn post(&self, body: Bytes, labels: Option<&Labels<'_>>) -> Result<Response<Incoming>, CallError> {
        let posted = match labels {
            Some(labels) => self.remote.post_labelled(body, labels).await,
            None => self.remote.post(body).await,
        };
        posted.map_err(|error| {
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
                    Taken::Done | Taken::Answer(_) | Taken::Later(_) => Err(self
                        .inbox
                        .broken(&format_args!("its answer ({status}) holds no reply to the request"))),
                }
            }
            Kind::Stream if status.is_success() => self.read_streams(response.into_body(), id).await,
            Kind::Stream | Kind::Other => {
                self.drain(response.into_body());
                Err(self.inbox.broken(&format_args!("it answered {status} without a JSON-RPC message")))
            }
        }
    }

    /// Reads an answer's stream to its reply. One that breaks off is taken up again where it broke, if the server has
    /// given its events ids; a request is never sent again for that.
    async fn read_streams(&self, body: Incoming, id: u64) -> Result<Reply, CallError> {
        let mut events = Events::new(self.limit);
        let mut ended = self.read_stream(body, id, &mut events).await;
        let (mut reached, mut tries) = (events.last_id().map(str::to_owned), 0);
        loop {
            let error = match ended {
                Ok(reply) => return Ok(reply),
                Err(Broken::Off(error)) => error,
                Err(Broken::Finally(error)) => return Err(error),
            };
            let Some(after) = reached.clone().filter(|_| !self.is_labelled && tries < MOST_RESUMPTIONS)
            else {
                return Err(error);
            };
            tries += 1;
            let pause = events.retry_ms().map_or(REOPEN, Duration::from_millis).min(REOPEN_MOST);
            tokio::time::sleep(pause).await;
            let response = match self.remote.get_stream(Some(&after)).await {
                Ok(response) if response.status().is_success() && remote::kind(&response) == Kind::Stream => {
                    response
                }
                Ok(response) => {
                    self.drain(response.into_body());
                    return Err(error);
                }
                Err(_) => return Err(error),
            };
            let mut next = Events::new(self.limit);
            ended = self.read_stream(response.into_body(), id, &mut next).await;
            if let Some(last) = next.last_id().filter(|last| *last != after) {
                (reached, tries) = (Some(last.to_owned()), 0);
            }
            events = next;
        }
    }

    async fn read_stream(&self, mut body: Incoming, id: u64, events: &mut Events) -> Result<Reply, Broken> {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| Broken::Off(self.inbox.lost(format!("its stream broke: {e}"))))?;
            let Some(chunk) = frame.data_ref() else { continue };
            events.feed(chunk);
            let too_large = |limit| CallError::TooLarge { server: self.inbox.server.clone(), limit };
            while let Some(event) = events.next_event().map_err(|e| Broken::Finally(too_large(e.limit)))? {
                if event.data.is_empty() {
                    continue;
                }
                match self.inbox.take(&event.data, Some(id)) {
                    Taken::Done => {}
                    Taken::Answer(answer) => self.tell_soon(async move { answer }),
                    Taken::Later(later) => self.answer_later(later),
                    Taken::Failed(error) => {
                        self.drain(body);
                        return Err(Broken::Finally(error));
                    }
                    Taken::Reply(reply) => {
                        self.drain(body);
                        return Ok(reply);
                    }
                }
            }
        }
        Err(Broken::Off(self.inbox.lost("its stream ended without the reply")))
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
        let response = self.post(body, None).await?;
        let status = response.status();
        self.drain(response.into_body());
        match status {
            StatusCode::NOT_FOUND if self.has_session => Err(self.forgotten()),
            status if status.is_success() => Ok(()),
            status => Err(self.inbox.broken(&format_args!("it answered {status} to a notification"))),
        }
    }

    fn answer_later(&self, later: crate::question::Later) {
        let inbox = self.inbox.clone();
        self.tell_soon(async move {
            let id = later.id.clone();
            let answer = later.message().await;
            inbox.answered(&id);
            answer
        });
    }

    /// Answers the server when there is an answer.
    fn tell_soon(&self, answer: impl Future<Output = Vec<u8>> + Send + 'static) {
        let (remote, closed) = (self.remote.clone(), self.ground.closed.clone());
        self.ground.tasks.spawn(async move {
            let answer = tokio::select! {
                () = closed.cancelled() => return,
                answer = answer => answer,
            };
            if let Ok(Ok(response)) = tokio::time::timeout(GOODBYE, remote.post(answer.into())).await {
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
    /// server is gone. Ready when it is open, or will not be: a server may ask there for the very first call, and what it
    /// says while nobody listens is lost.
    pub(crate) async fn listen(&self) {
        let (unopened, opened) = oneshot::channel();
        let (listener, stop, closed) = (self.clone(), self.ground.stop.clone(), self.ground.closed.clone());
        self.ground.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = closed.cancelled() => {}
                () = listener.keep_listening(unopened) => {}
            }
        });
        tokio::time::timeout(OPENING, opened).await.ok();
    }

    /// Drops `unopened` when the first answer has come.
    async fn keep_listening(&self, unopened: oneshot::Sender<Infallible>) {
        let mut unopened = Some(unopened);
        let mut pause = REOPEN;
        let mut reached: Option<String> = None;
        loop {
            let answer = self.remote.get_stream(reached.as_deref()).await;
            unopened.take();
            match answer {
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
                    let heard = self.hear(response.into_body()).await;
                    if heard.is_something {
                        pause = REOPEN;
                    }
                    reached = heard.last_id.or(reached);
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(REOPEN_MOST);
        }
    }

    /// Reads one stream to its end.
    async fn hear(&self, mut body: Incoming) -> Heard {
        let mut events = Events::new(self.limit);
        let mut is_something = false;
        while let Some(Ok(frame)) = body.frame().await {
            let Some(chunk) = frame.data_ref() else { continue };
            events.feed(chunk);
            while let Ok(Some(event)) = events.next_event() {
                is_something = true;
                if event.data.is_empty() {
                    continue;
                }
                match self.inbox.take(&event.data, None) {
                    Taken::Answer(answer) => self.tell_soon(async move { answer }),
                    Taken::Later(later) => self.answer_later(later),
                    Taken::Done | Taken::Reply(_) | Taken::Failed(_) => {}
                }
            }
        }
        Heard { is_something, last_id: events.last_id().map(str::to_owned) }
    }
}

/// What came on a stream.
struct Heard {
    is_something: bool,
    last_id: Option<String>,
}

/// How a stream ended without the reply.
enum Broken {
    /// The rest may still be had.
    Off(CallError),
    Finally(CallError),
}

/// The statuses after which the specification lets a client try the older transport.
fn is_older_transport(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
}
