//! The events of one answer on their way to a reader that may be cut off and come back.

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use portolan_wire::sse;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How many events may wait for a slow reader; whoever writes waits then.
const MOST_UNREAD: usize = 64;
/// How much of what was read is kept for a reader that comes back.
const MOST_KEPT: usize = 128;
const MOST_KEPT_BYTES: usize = 4 * 1024 * 1024;

/// An answer that was read to its end is kept this long, for the last bytes may have been lost on the way.
const AFTER_THE_END: Duration = Duration::from_secs(30);
/// A client that was cut off may take its answer up again within this time; after it, nobody wants it any more.
pub(crate) const COMES_BACK: Duration = Duration::from_mins(5);

/// Whether events have ids, by which a reader that was cut off says where it stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Ids that begin so.
    Resumable(Box<str>),
    None,
}

pub(crate) struct Feed {
    naming: Naming,
    state: Mutex<State>,
    reader: AtomicWaker,
    /// Tells the writer that something was read, or that the reader has gone.
    moved: Notify,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// The number of the first event that is kept.
    first: u64,
    /// The number of the next event that is read.
    next: u64,
    /// The reader of now; an earlier one reads nothing any more.
    reader: u64,
    has_reader: bool,
    /// When the last event came.
    done_at: Option<Instant>,
}

impl State {
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    fn unread(&self) -> usize {
        usize::try_from(self.end().saturating_sub(self.next)).unwrap_or(usize::MAX)
    }
}

impl Feed {
    pub(crate) fn new(naming: Naming) -> Arc<Self> {
        Arc::new(Self { naming, state: Mutex::default(), reader: AtomicWaker::new(), moved: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Critical sections here push and pop; a panic in one leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name by which a reader that comes back asks for it.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.naming {
            Naming::Resumable(name) => Some(name),
            Naming::None => None,
        }
    }

    /// Says nothing but where the stream begins, so that it can be taken up again before the first message.
    pub(crate) fn begin(&self) {
        if let Naming::Resumable(name) = &self.naming {
            let mut state = self.state();
            let event = sse::first_word(&format!("{name}-{}", state.end())).into();
            self.add(&mut state, event);
        }
    }

    /// Writes a message, waiting for a slow reader; while nobody reads, the oldest ones make room.
    pub(crate) async fn push(&self, message: &[u8]) {
        loop {
            let moved = self.moved.notified();
            {
                let mut state = self.state();
                if !state.has_reader || state.unread() < MOST_UNREAD {
                    let event = match &self.naming {
                        Naming::Resumable(name) => {
                            sse::message_as(&format!("{name}-{}", state.end()), message)
                        }
                        Naming::None => sse::message(message),
                    };
                    self.add(&mut state, event.into());
                    break;
                }
            }
            moved.await;
        }
        self.reader.wake();
    }

    /// A comment, so that whoever reads sees that something is on its way.
    pub(crate) fn show_life(&self) {
        self.add(&mut self.state(), Bytes::from_static(sse::KEEP_ALIVE));
        self.reader.wake();
    }

    fn add(&self, state: &mut State, event: Bytes) {
        state.kept_bytes += event.len();
        state.kept.push_back(event);
        let keeps = self.naming != Naming::None || !state.has_reader;
        while state.kept.len() > MOST_KEPT || state.kept_bytes > MOST_KEPT_BYTES || !keeps {
            let is_read = state.first < state.next;
            if (state.has_reader && !is_read) || state.kept.is_empty() {
                break;
            }
            let dropped = state.kept.pop_front();
            state.kept_bytes -= dropped.map_or(0, |event| event.len());
            state.first += 1;
            state.next = state.next.max(state.first);
        }
    }

    /// Nothing more comes.
    pub(crate) fn finish(&self) {
        self.state().done_at = Some(Instant::now());
        self.reader.wake();
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state().done_at.is_some()
    }

    /// Whether all of it has been read, and whoever was cut off at the very end has had time to come back; or the time for
    /// that is up.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        let patience = if state.unread() == 0 { AFTER_THE_END } else { COMES_BACK };
        state.done_at.is_some_and(|at| at.elapsed() >= patience)
    }

    /// Ready when nobody reads any more.
    pub(crate) async fn abandoned(&self) {
        loop {
            let moved = self.moved.notified();
            if !self.state().has_reader {
                return;
            }
            moved.await;
        }
    }

    /// Ready when nobody has read for this long.
    pub(crate) async fn abandoned_for(&self, patience: Duration) {
        loop {
            self.abandoned().await;
            let taken_up = async {
                loop {
                    let moved = self.moved.notified();
                    if self.state().has_reader {
                        return;
                    }
                    moved.await;
                }
            };
            if tokio::time::timeout(patience, taken_up).await.is_err() {
                return;
            }
        }
    }

    /// Reads from the beginning, or from where a reader was cut off. Whoever read before reads no more.
    pub(crate) fn read(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mut state = self.state();
        state.reader += 1;
        state.has_reader = true;
        state.next = after.map_or(state.first, |last| last + 1).clamp(state.first, state.end());
        let turn = state.reader;
        drop(state);
        self.reader.wake();
        self.moved.notify_waiters();
        Reader { feed: self.clone(), turn }
    }
}

/// Whoever reads; dropping it leaves the rest for one that comes back.
pub(crate) struct Reader {
    feed: Arc<Feed>,
    turn: u64,
}

impl Reader {
    pub(crate) fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.feed.state();
        // One whose turn is over must not stand in the way of the one who reads now.
        if state.reader != self.turn {
            return Poll::Ready(None);
        }
        self.feed.reader.register(context.waker());
        let at = usize::try_from(state.next - state.first).unwrap_or(usize::MAX);
        match state.kept.get(at).cloned() {
            Some(event) => {
                state.next += 1;
                drop(state);
                self.feed.moved.notify_waiters();
                Poll::Ready(Some(event))
            }
            None if state.done_at.is_some() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.feed.state();
        if state.reader == self.turn {
            state.has_reader = false;
        }
        drop(state);
        self.feed.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    async fn next(reader: &mut Reader) -> Option<String> {
        let event = poll_fn(|context| reader.poll_next(context)).await?;
        Some(String::from_utf8_lossy(&event).into_owned())
    }

    #[derive(Default)]
    struct Woken(std::sync::atomic::AtomicBool);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }

    fn named() -> Arc<Feed> {
        Feed::new(Naming::Resumable("f".into()))
    }

    #[tokio::test]
    async fn a_reader_that_comes_back_reads_on_where_it_was_cut_off() {
        let feed = named();
        let mut reader = feed.read(None);
        for message in ["1", "2", "3"] {
            feed.push(message.as_bytes()).await;
        }
        assert!(next(&mut reader).await.unwrap().contains("id: f-0\n"));
        drop(reader);
        feed.push(b"4").await;
        feed.finish();
        let mut again = feed.read(Some(1));
        assert!(next(&mut again).await.unwrap().contains("data: 3\n"));
        assert!(next(&mut again).await.unwrap().contains("data: 4\n"));
        assert_eq!(next(&mut again).await, None);
    }

    #[tokio::test]
    async fn a_second_reader_takes_over_and_the_first_ends() {
        let feed = named();
        let mut first = feed.read(None);
        let mut second = feed.read(None);
        feed.push(b"1").await;
        assert_eq!(next(&mut first).await, None);
        assert!(next(&mut second).await.is_some());
        drop(first);
        feed.finish();
        assert_eq!(next(&mut second).await, None);
    }

    #[tokio::test]
    async fn a_reader_whose_turn_is_over_does_not_keep_the_next_one_asleep() {
        let feed = named();
        let (mut old, mut new) = (feed.read(None), feed.read(None));
        let woken = Arc::new(Woken::default());
        let waker = std::task::Waker::from(woken.clone());
        assert!(new.poll_next(&Context::from_waker(&waker)).is_pending());
        assert_eq!(next(&mut old).await, None);
        feed.push(b"1").await;
        assert!(woken.0.load(std::sync::atomic::Ordering::SeqCst));
    }

    #[tokio::test]
    async fn while_nobody_reads_only_the_latest_are_kept() {
        let feed = named();
        drop(feed.read(None));
        for number in 0..1000 {
            feed.push(number.to_string().as_bytes()).await;
        }
        feed.finish();
        let mut reader = feed.read(Some(3));
        assert!(next(&mut reader).await.unwrap().contains(&format!("id: f-{}\n", 1000 - MOST_KEPT)));
    }

    #[tokio::test]
    async fn f48_a_writer_waits_for_a_slow_reader() {
        let feed = named();
        let mut reader = feed.read(None);
        for _ in 0..MOST_UNREAD {
            feed.push(b"x").await;
        }
        let one_more = feed.push(b"y");
        let mut one_more = std::pin::pin!(one_more);
        assert!(futures_util::poll!(one_more.as_mut()).is_pending());
        next(&mut reader).await;
        one_more.await;
    }
}
