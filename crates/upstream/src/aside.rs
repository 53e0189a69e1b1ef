//! What happens beside a running call: the server's notes on their way to the client, and the client's wish to end it.

use crate::pending::Note;
use futures_util::task::AtomicWaker;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

/// Notes waiting for one slow client; what is over is dropped and counted.
const MOST_NOTES: usize = 64;

/// The tick at which a client is shown that its call is still running.
const PATIENCE: u8 = 2;

/// One allocation a call, made before the call and dropped after it. Few calls ever have a note or are cancelled, so
/// both cost next to nothing until they happen.
#[derive(Debug, Default)]
pub struct Aside {
    /// The client that it belongs to, where several calls of one client are to be told from those of others.
    client: u64,
    /// Whether somebody takes questions for this client.
    can_be_asked: bool,
    /// Whether a client that goes away wants the call ended, as it does from 2026-07-28 on.
    ends_with_client: bool,
    notes: Mutex<VecDeque<Note>>,
    has_notes: AtomicBool,
    listener: AtomicWaker,
    is_cancelled: AtomicBool,
    reason: OnceLock<Box<str>>,
    worker: AtomicWaker,
    /// How many ticks the call has been running for.
    age: AtomicU8,
    is_due: AtomicBool,
}

impl Aside {
    /// Of a call of this client, which goes on when the client is cut off.
    pub fn of(client: u64) -> Self {
        Self { client, can_be_asked: true, ..Self::default() }
    }

    /// Of a call that nobody wants any more once its client has gone.
    pub fn ending_with(client: u64) -> Self {
        Self { client, can_be_asked: true, ends_with_client: true, ..Self::default() }
    }

    pub fn client(&self) -> u64 {
        self.client
    }

    pub fn can_be_asked(&self) -> bool {
        self.can_be_asked
    }

    pub(crate) fn ends_with_client(&self) -> bool {
        self.ends_with_client
    }

    /// Adds a note of the server; `false` if its reader is too slow.
    pub fn add(&self, note: Note) -> bool {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() >= MOST_NOTES {
            return false;
        }
        notes.push_back(note);
        self.has_notes.store(true, Ordering::Release);
        drop(notes);
        self.listener.wake();
        true
    }

    pub fn has_notes(&self) -> bool {
        self.has_notes.load(Ordering::Acquire)
    }

    /// The oldest note that nobody has taken yet.
    pub fn take(&self) -> Option<Note> {
        if !self.has_notes() {
            return None;
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let note = notes.pop_front();
        self.has_notes.store(!notes.is_empty(), Ordering::Release);
        note
    }

    /// Counts a tick; at the third, the listener is woken once, to show its client that the call is still running.
    pub fn grow_older(&self) {
        if self.age.fetch_add(1, Ordering::Relaxed) == PATIENCE {
            self.is_due.store(true, Ordering::Release);
            self.listener.wake();
        }
    }

    /// Ready when there is a note to take, or a sign of life is due. One listener at a time.
    pub fn poll_noted(&self, context: &Context<'_>) -> Poll<()> {
        self.listener.register(context.waker());
        if self.has_notes()
            || (self.is_due.load(Ordering::Acquire) && self.is_due.swap(false, Ordering::AcqRel))
        {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    pub async fn noted(&self) {
        poll_fn(|context| self.poll_noted(context)).await;
    }

    /// The client wants the call ended; its reason is passed on as the JSON it is.
    pub fn cancel(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            // A second cancellation changes nothing.
            self.reason.set(reason.into()).unwrap_or_default();
        }
        self.is_cancelled.store(true, Ordering::Release);
        self.worker.wake();
    }

    /// Ready when the client wants the call ended. One worker at a time.
    pub async fn cancelled(&self) {
        poll_fn(|context| {
            self.worker.register(context.waker());
            if self.is_cancelled.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Why the client wants the call ended, if it said so.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.get().map(|reason| &**reason)
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}
