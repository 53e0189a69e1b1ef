//! Whether a connection is in use: counted, not timed, so that it costs a request nothing.

use crate::body::{Body, Failure};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// The requests of one connection. A timer for each request's head would be set and cleared with each; these two numbers
/// are looked at once a minute.
#[derive(Default)]
pub(super) struct Pulse {
    begun: AtomicU32,
    ended: AtomicU32,
}

impl Pulse {
    /// Returns when nothing has begun within a whole interval, and nothing is being answered.
    pub(super) async fn rests(&self, interval: Duration) {
        let mut last = None;
        loop {
            let begun = self.begun.load(Ordering::Relaxed);
            if last == Some(begun) && begun == self.ended.load(Ordering::Relaxed) {
                return;
            }
            last = Some(begun);
            tokio::time::sleep(interval).await;
        }
    }
}

/// One request, from its head to the end of its answer.
pub(super) struct Beat(Arc<Pulse>);

impl Beat {
    pub(super) fn new(pulse: Arc<Pulse>) -> Self {
        pulse.begun.fetch_add(1, Ordering::Relaxed);
        Self(pulse)
    }

    /// An answer's body that keeps the request counted until it is through.
    pub(super) fn until_through(self, body: Body) -> Counted {
        Counted { body, _beat: self }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) struct Counted {
    body: Body,
    _beat: Beat,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
