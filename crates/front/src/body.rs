//! Bodies of answers: a few pieces of known length, or an event stream.

use crate::feed::Reader;
use crate::request::Pieces;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use portolan_wire::sse;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

/// Often enough for the shortest idle limits that proxies have.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Why a body broke off; ours never do.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer that was made elsewhere.
pub type OtherBody = Pin<Box<dyn http_body::Body<Data = Bytes, Error = Failure> + Send>>;

/// The body of any answer. The common one is a few pieces and needs no box.
pub(crate) enum Body {
    Whole(Whole),
    Telling(Box<Telling>),
    Listening(Box<Listening>),
    Other(OtherBody),
}

impl Body {
    pub(crate) fn telling(telling: Telling) -> Self {
        Self::Telling(Box::new(telling))
    }

    pub(crate) fn listening(listening: Listening) -> Self {
        Self::Listening(Box::new(listening))
    }
}

impl From<Pieces> for Body {
    fn from(pieces: Pieces) -> Self {
        Self::Whole(match pieces {
            Pieces::Whole(bytes) => Whole([Some(bytes).filter(|b| !b.is_empty()), None, None]),
            Pieces::Shared { head, result } => {
                Whole([Some(head), Some(result), Some(Bytes::from_static(b"}"))])
            }
        })
    }
}

type Polled = Poll<Option<Result<Frame<Bytes>, Failure>>>;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        match self.get_mut() {
            Self::Whole(whole) => Poll::Ready(whole.next().map(|piece| Ok(Frame::data(piece)))),
            Self::Telling(telling) => telling.poll_event(context),
            Self::Listening(listening) => listening.poll_event(context),
            Self::Other(other) => other.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.0.iter().all(Option::is_none),
            Self::Telling(_) | Self::Listening(_) => false,
            Self::Other(other) => other.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => {
                SizeHint::with_exact(whole.0.iter().flatten().map(|piece| piece.len() as u64).sum())
            }
            Self::Telling(_) | Self::Listening(_) => SizeHint::default(),
            Self::Other(other) => other.size_hint(),
        }
    }
}

/// Pieces of known length; large ones are shared, not copied.
pub(crate) struct Whole([Option<Bytes>; 3]);

impl Whole {
    fn next(&mut self) -> Option<Bytes> {
        self.0.iter_mut().find_map(Option::take)
    }
}

/// The event stream of one answer. Dropping it, as hyper does when the client has gone, leaves the rest in the feed.
pub(crate) struct Telling {
    reader: Reader,
    quiet: Pin<Box<Sleep>>,
}

impl Telling {
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, quiet: Box::pin(sleep(KEEP_ALIVE)) }
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Polled {
        let event = self.reader.poll_next(context);
        with_keep_alive(event, &mut self.quiet, context)
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

    fn poll_event(&mut self, context: &mut Context<'_>) -> Polled {
        let event = match self.ready.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None => self.messages.poll_recv(context).map(|m| m.map(|message| sse::message(&message).into())),
        };
        with_keep_alive(event, &mut self.quiet, context)
    }

    /// Keeps something for as long as the stream is open.
    pub(crate) fn keep(&mut self, guard: impl std::any::Any + Send) {
        self.guard = Some(Box::new(guard));
    }
}

/// Puts a comment into a stream that has been quiet for too long.
fn with_keep_alive(
    event: Poll<Option<Bytes>>,
    quiet: &mut Pin<Box<Sleep>>,
    context: &mut Context<'_>,
) -> Polled {
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
