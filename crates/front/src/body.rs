//! Bodies of answers: a few pieces of known length, or an event stream that drives the call it belongs to.

use crate::methods::{Pieces, Request, told};
use crate::sessions::Held;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use portolan_router::Aside;
use portolan_wire::sse;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

/// Often enough for the shortest idle limits that proxies have.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Pieces of known length; large ones are shared, not copied.
pub(crate) struct Whole(VecDeque<Bytes>);

impl From<Pieces> for Whole {
    fn from(pieces: Pieces) -> Self {
        Self(match pieces {
            Pieces::Whole(bytes) => [bytes].into(),
            Pieces::Shared { head, result } => [head, result, Bytes::from_static(b"}")].into(),
        })
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

type Answering = Pin<Box<dyn Future<Output = Option<Pieces>> + Send>>;

/// The event stream of one request: its notes in order, then its answer, then the end. Dropping it, as hyper does when
/// the client has gone, drops the call with it.
pub(crate) struct Telling {
    held: Arc<Held>,
    request: Request,
    aside: Arc<Aside>,
    answering: Option<Answering>,
    /// What is ready to go out at once.
    ready: VecDeque<Bytes>,
    quiet: Pin<Box<Sleep>>,
}

impl Telling {
    pub(crate) fn new(held: Arc<Held>, request: Request, aside: Arc<Aside>) -> Self {
        let quiet = Box::pin(sleep(KEEP_ALIVE));
        Self { held, request, aside, answering: None, ready: VecDeque::new(), quiet }
    }

    /// Goes on with a call that is not done; the client sees at once that something is on its way.
    pub(crate) fn go_on(&mut self, answering: Answering) {
        self.answering = Some(answering);
        self.gather();
        if self.ready.is_empty() {
            self.ready.push_back(Bytes::from_static(sse::KEEP_ALIVE));
        }
    }

    /// Makes the notes of by now ready to go out.
    fn gather(&mut self) {
        while let Some(note) = self.aside.take() {
            let message = told(&self.held.client, &self.request, &note);
            self.ready.extend(message.map(|message| Bytes::from(sse::message(&message))));
        }
    }

    /// The answer comes after whatever was noted before it; a cancelled request has none.
    pub(crate) fn finish(&mut self, answer: Option<Pieces>) {
        self.answering = None;
        self.gather();
        self.ready.extend(answer.map(|answer| Bytes::from(sse::message(&answer.whole()))));
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            let Some(answering) = &mut self.answering else { return Poll::Ready(None) };
            match answering.as_mut().poll(context) {
                Poll::Ready(answer) => self.finish(answer),
                Poll::Pending if self.aside.poll_noted(context).is_ready() => self.gather(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Body for Telling {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = self.poll_next(context);
        let this = &mut *self;
        with_keep_alive(event, &mut this.quiet, context)
    }
}

/// A stream for what belongs to no request; it ends when its client is hung up on.
pub(crate) struct Listening {
    pub(crate) messages: mpsc::Receiver<Bytes>,
    pub(crate) ready: VecDeque<Bytes>,
    pub(crate) quiet: Pin<Box<Sleep>>,
    /// Dropped with the stream, for transports whose session is the stream.
    guard: Option<Box<dyn std::any::Any + Send>>,
}

impl Listening {
    pub(crate) fn new(messages: mpsc::Receiver<Bytes>) -> Self {
        Self { messages, ready: VecDeque::new(), quiet: Box::pin(sleep(KEEP_ALIVE)), guard: None }
    }

    /// Keeps something for as long as the stream is open.
    pub(crate) fn keep(&mut self, guard: impl std::any::Any + Send) {
        self.guard = Some(Box::new(guard));
    }
}

impl Body for Listening {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let event = match this.ready.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None => this.messages.poll_recv(context).map(|m| m.map(|message| sse::message(&message).into())),
        };
        with_keep_alive(event, &mut this.quiet, context)
    }
}

/// Puts a comment into a stream that has been quiet for too long.
fn with_keep_alive(
    event: Poll<Option<Bytes>>,
    quiet: &mut Pin<Box<Sleep>>,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
    let event = match event {
        Poll::Ready(None) => return Poll::Ready(None),
        Poll::Ready(Some(event)) => event,
        Poll::Pending if quiet.as_mut().poll(context).is_ready() => Bytes::from_static(sse::KEEP_ALIVE),
        Poll::Pending => return Poll::Pending,
    };
    quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
    // The new deadline has to be polled once, or nobody is woken by it.
    if quiet.as_mut().poll(context).is_ready() {
        context.waker().wake_by_ref();
    }
    Poll::Ready(Some(Ok(Frame::data(event))))
}
