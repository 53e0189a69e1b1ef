//! What happens beside a running call: the server's notes on their way to the client, and the client's wish to end it.

use crate::pending::Note;
use futures_util::task::AtomicWaker;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

/// Notes waiting for one slow client; what is over is dropped and counted.
const MOST_NOTES: usize = 64;

/// One allocation a call, made before the call and dropped after it. Few calls ever have a note or are cancelled, so
/// both cost next to nothing until they happen.
#[derive(Debug, Default)]
pub struct Aside {
    notes: Mutex<VecDeque<Note>>,
    has_notes: AtomicBool,
    listener: AtomicWaker,
    is_cancelled: AtomicBool,
    worker: AtomicWaker,
}

impl Aside {
    /// Adds a note of the server; `false` if its reader is too slow.
    pub(crate) fn add(&self, note: Note) -> bool {
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

    /// Ready when there is a note to take. One listener at a time.
    pub fn poll_noted(&self, context: &Context<'_>) -> Poll<()> {
        self.listener.register(context.waker());
        if self.has_notes() { Poll::Ready(()) } else { Poll::Pending }
    }

    pub async fn noted(&self) {
        poll_fn(|context| self.poll_noted(context)).await;
    }

    /// The client wants the call ended.
    pub fn cancel(&self) {
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

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}
