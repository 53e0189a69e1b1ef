//! A server over the older HTTP+SSE: one long stream brings everything, POSTs carry requests out.

use super::remote::{self, Kind, Remote};
use crate::error::{CallError, ConnectError};
use crate::inbox::{Inbox, Taken};
use crate::session::Ground;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use portolan_outbound::read_body;
use portolan_wire::sse::{Event, Events};
use std::sync::Arc;

pub(crate) struct SseLink {
    pub(crate) inbox: Arc<Inbox>,
    endpoint: Remote,
    ground: Ground,
}

impl SseLink {
    /// Opens the stream and waits for the server to name the address that takes requests.
    pub(crate) async fn open(
        remote: &Remote,
        inbox: Arc<Inbox>,
        ground: &Ground,
    ) -> Result<Self, ConnectError> {
        let response = remote.get_stream(None).await.map_err(|e| ConnectError::Failed(e.to_string()))?;
        if !response.status().is_success() {
            return Err(remote::refusal(response.status()));
        }
        if remote::kind(&response) != Kind::Stream {
            return Err(ConnectError::Failed("its answer is no event stream: is the url right?".to_owned()));
        }
        let mut stream = Stream {
            body: response.into_body(),
            events: Events::new(ground.outside.limits.upstream_message_bytes),
        };
        let endpoint = loop {
            let event = stream.next().await.map_err(ConnectError::Failed)?;
            if event.name == "endpoint" {
                break remote.at(&String::from_utf8_lossy(&event.data))?;
            }
        };
        let link = Self { inbox: inbox.clone(), endpoint: endpoint.clone(), ground: ground.clone() };
        let reader = Self { inbox, endpoint, ground: ground.clone() };
        ground.tasks.spawn(async move { reader.hear(stream).await });
        Ok(link)
    }

    async fn hear(self, mut stream: Stream) {
        let reason = loop {
            let event = tokio::select! {
                () = self.ground.stop.cancelled() => break "the session was closed".to_owned(),
                event = stream.next() => event,
            };
            match event {
                Ok(event) => match self.inbox.take(&event.data, None) {
                    Taken::Answer(answer) => self.post_soon(async move { answer }),
                    Taken::Later(later) => {
                        let inbox = self.inbox.clone();
                        self.post_soon(async move {
                            let id = later.id.clone();
                            let answer = later.message().await;
                            inbox.answered(&id);
                            answer
                        });
                    }
                    Taken::Done | Taken::Reply(_) | Taken::Failed(_) => {}
                },
                Err(reason) => break reason,
            }
        };
        self.inbox.pending.close(&self.inbox.lost(reason));
        self.ground.closed.cancel();
    }

    /// Answers the server when there is an answer.
    fn post_soon(&self, answer: impl Future<Output = Vec<u8>> + Send + 'static) {
        let (endpoint, inbox, closed) =
            (self.endpoint.clone(), self.inbox.clone(), self.ground.closed.clone());
        self.ground.tasks.spawn(async move {
            tokio::select! {
                () = closed.cancelled() => {}
                answer = answer => post(&endpoint, &inbox, answer.into()).await.unwrap_or_default(),
            }
        });
    }

    pub(crate) async fn request(&self, id: u64, body: Bytes) -> Result<(), CallError> {
        self.inbox.pending.begin_write(id);
        let posted = self.post(body).await;
        if let Err(error @ CallError::NotSent { .. }) = &posted {
            // The session is unknown there, or nobody is there: the lifeline opens another.
            self.inbox.pending.close(error);
            self.ground.closed.cancel();
        }
        posted
    }

    pub(crate) async fn post(&self, body: Bytes) -> Result<(), CallError> {
        post(&self.endpoint, &self.inbox, body).await
    }
}

async fn post(endpoint: &Remote, inbox: &Inbox, body: Bytes) -> Result<(), CallError> {
    let response = endpoint.post(body).await.map_err(|e| remote::call_error(&e, inbox))?;
    let status = response.status();
    // The answer proper comes over the stream; this one holds a word at most.
    read_body(response.into_body(), 64 * 1024).await.ok();
    match status {
        StatusCode::NOT_FOUND => Err(inbox.unsent("the server has forgotten the session")),
        status if status.is_success() => Ok(()),
        status => Err(inbox.broken(&format_args!("it answered {status} to a message"))),
    }
}

struct Stream {
    body: Incoming,
    events: Events,
}

impl Stream {
    async fn next(&mut self) -> Result<Event, String> {
        loop {
            if let Some(event) = self.events.next_event().map_err(|e| e.to_string())? {
                return Ok(event);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(chunk) = frame.data_ref() {
                        self.events.feed(chunk);
                    }
                }
                Some(Err(error)) => return Err(format!("its stream broke: {error}")),
                None => return Err("its stream ended".to_owned()),
            }
        }
    }
}
