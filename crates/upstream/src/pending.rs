//! The requests in flight on one session, by our own ids.

use crate::aside::Aside;
use crate::error::CallError;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// The answer of a server, as raw JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Result(Bytes),
    Error(Bytes),
}

/// What a server says while a call is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The params of a progress notification; its token is still ours.
    Progress(Bytes),
    /// A whole notification.
    Other(Bytes),
}

struct Waiting {
    reply: oneshot::Sender<Result<Reply, CallError>>,
    aside: Option<Arc<Aside>>,
    last_progress: Option<Instant>,
    is_written: bool,
}

enum Table {
    Open(HashMap<u64, Waiting>),
    Closed(CallError),
}

pub(crate) struct Pending {
    table: Mutex<Table>,
    next_id: AtomicU64,
    emptied: Notify,
}

/// One request in flight; dropping it forgets the request, and a late reply is then nobody's.
pub(crate) struct Ticket<'p> {
    pub(crate) id: u64,
    pub(crate) reply: oneshot::Receiver<Result<Reply, CallError>>,
    pending: &'p Pending,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.pending.take(self.id);
    }
}

impl Pending {
    pub(crate) fn new() -> Self {
        Self {
            table: Mutex::new(Table::Open(HashMap::new())),
            next_id: AtomicU64::new(1),
            emptied: Notify::new(),
        }
    }

    /// Every critical section is a few instructions; a panic in one leaves nothing half-done.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn open(&self, aside: Option<Arc<Aside>>) -> Result<Ticket<'_>, CallError> {
        let (reply, receiver) = oneshot::channel();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        match &mut *self.lock() {
            Table::Open(waiting) => {
                waiting.insert(id, Waiting { reply, aside, last_progress: None, is_written: false });
            }
            Table::Closed(reason) => return Err(unsent(reason)),
        }
        Ok(Ticket { id, reply: receiver, pending: self })
    }

    /// Says that a request's bytes are about to go out; `false` if nobody waits for it any more.
    pub(crate) fn begin_write(&self, id: u64) -> bool {
        match &mut *self.lock() {
            Table::Open(waiting) => waiting.get_mut(&id).map(|w| w.is_written = true).is_some(),
            Table::Closed(_) => false,
        }
    }

    fn take(&self, id: u64) -> Option<Waiting> {
        let mut table = self.lock();
        let Table::Open(waiting) = &mut *table else { return None };
        let taken = waiting.remove(&id);
        if waiting.is_empty() {
            self.emptied.notify_waiters();
        }
        taken
    }

    /// Hands a reply to whoever waits for it; `false` if nobody does.
    pub(crate) fn complete(&self, id: u64, outcome: Result<Reply, CallError>) -> bool {
        self.take(id).is_some_and(|waiting| waiting.reply.send(outcome).is_ok())
    }

    /// Passes a note to the call it belongs to; `None` gives it back where there is no such call.
    pub(crate) fn note(&self, id: u64, note: Note) -> Noted {
        let mut table = self.lock();
        let Table::Open(waiting) = &mut *table else { return Noted::NoSuchCall };
        let Some(entry) = waiting.get_mut(&id) else { return Noted::NoSuchCall };
        if matches!(note, Note::Progress(_)) {
            entry.last_progress = Some(Instant::now());
        }
        match &entry.aside {
            Some(aside) if aside.add(note) => Noted::Passed,
            Some(_) => Noted::Dropped,
            None => Noted::NotWanted,
        }
    }

    pub(crate) fn last_progress(&self, id: u64) -> Option<Instant> {
        match &*self.lock() {
            Table::Open(waiting) => waiting.get(&id)?.last_progress,
            Table::Closed(_) => None,
        }
    }

    /// The call in flight, if there is exactly one.
    pub(crate) fn sole(&self) -> Option<u64> {
        match &*self.lock() {
            Table::Open(waiting) if waiting.len() == 1 => waiting.keys().next().copied(),
            Table::Open(_) | Table::Closed(_) => None,
        }
    }

    /// Ends every call: what was written is lost, what was not may go elsewhere. Later calls are refused.
    pub(crate) fn close(&self, reason: &CallError) {
        let old = {
            let mut table = self.lock();
            if matches!(*table, Table::Closed(_)) {
                return;
            }
            std::mem::replace(&mut *table, Table::Closed(reason.clone()))
        };
        if let Table::Open(waiting) = old {
            for (_, entry) in waiting {
                let outcome = if entry.is_written { reason.clone() } else { unsent(reason) };
                // A caller that has gone needs no answer.
                entry.reply.send(Err(outcome)).unwrap_or_default();
            }
        }
        self.emptied.notify_waiters();
    }

    /// Waits until nothing is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            match &*self.lock() {
                Table::Open(waiting) if !waiting.is_empty() => {}
                Table::Open(_) | Table::Closed(_) => return,
            }
            emptied.await;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    Passed,
    /// Its reader is too slow.
    Dropped,
    NotWanted,
    NoSuchCall,
}

fn unsent(reason: &CallError) -> CallError {
    match reason {
        CallError::Lost { server, reason } => {
            CallError::NotSent { server: server.clone(), reason: reason.clone() }
        }
        CallError::NotSent { .. }
        | CallError::TimedOut { .. }
        | CallError::Cancelled
        | CallError::TooLarge { .. }
        | CallError::Busy { .. }
        | CallError::Protocol { .. } => reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_model::ServerName;

    fn lost() -> CallError {
        CallError::Lost { server: ServerName::parse("s").unwrap(), reason: "gone".into() }
    }

    #[tokio::test]
    async fn closing_tells_written_calls_that_they_are_lost_and_others_that_they_may_go_elsewhere() {
        let pending = Pending::new();
        let (mut written, mut queued) = (pending.open(None).unwrap(), pending.open(None).unwrap());
        assert!(pending.begin_write(written.id));
        pending.close(&lost());
        assert!(matches!((&mut written.reply).await, Ok(Err(CallError::Lost { .. }))));
        assert!(matches!((&mut queued.reply).await, Ok(Err(CallError::NotSent { .. }))));
        assert!(matches!(pending.open(None), Err(CallError::NotSent { .. })));
    }

    #[tokio::test]
    async fn f16_f17_a_reply_reaches_its_own_call_once_and_nobody_else() {
        let pending = Pending::new();
        let mut first = pending.open(None).unwrap();
        let second = pending.open(None).unwrap();
        let reply = || Ok(Reply::Result(Bytes::from_static(b"1")));
        assert!(!pending.complete(999, reply()));
        assert!(pending.complete(first.id, reply()));
        assert!(!pending.complete(first.id, reply()));
        assert!(matches!((&mut first.reply).await, Ok(Ok(Reply::Result(_)))));
        assert_eq!(pending.sole(), Some(second.id));
        drop(second);
        pending.idle().await;
    }
}
