//! The requests in flight on one session, by our own ids.

use crate::aside::Aside;
use crate::error::CallError;
use crate::question::Question;
use bytes::Bytes;
use portolan_model::ServerName;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// The answer of a server, as raw JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Result(Bytes),
    Error(Bytes),
}

/// What a server says while a call is running.
#[derive(Debug, Clone)]
pub enum Note {
    /// The params of a progress notification; its token is still ours.
    Progress(Bytes),
    /// A whole notification.
    Other(Bytes),
    /// Something that only the client can answer.
    Question(Arc<Question>),
    /// The server does not want to know any more.
    Withdrawn(Arc<Question>),
}

/// Progress extends a request's deadline, but a server cannot keep a caller for ever.
const LONGEST: Duration = Duration::from_hours(1);
/// Longer than any process runs, and short enough to be added to a moment.
const FOR_EVER: Duration = Duration::from_hours(24 * 365 * 10);
/// How long a call waits for its client to answer a question: a person may have to be found first.
const FOR_AN_ANSWER: Duration = Duration::from_mins(10);

struct Waiting {
    reply: oneshot::Sender<Result<Reply, CallError>>,
    aside: Option<Arc<Aside>>,
    timeout: Duration,
    deadline: Instant,
    /// Whatever the progress, not beyond this.
    at_last: Instant,
    is_written: bool,
    /// Questions to its client that are open.
    questions: u32,
    /// Not work, but a stream that stands for as long as the session.
    is_standing: bool,
}

#[derive(Default)]
struct Table {
    waiting: HashMap<u64, Waiting>,
    /// How many of them stand.
    standing: usize,
    /// Why no more requests are taken.
    closed: Option<CallError>,
    /// When the sweeper will next look for requests that are over their deadline; `None` while it sleeps for good.
    looks_at: Option<Instant>,
}

impl Table {
    /// Nothing is in flight but what stands.
    fn is_idle(&self) -> bool {
        self.waiting.len() == self.standing
    }

    fn remove(&mut self, id: u64) -> Option<Waiting> {
        let removed = self.waiting.remove(&id)?;
        self.standing -= usize::from(removed.is_standing);
        Some(removed)
    }
}

pub(crate) struct Pending {
    table: Mutex<Table>,
    next_id: AtomicU64,
    emptied: Notify,
    /// Tells the sweeper that it has to look earlier than it thought.
    rearmed: Notify,
}

/// One request in flight; dropping it forgets the request, and a late reply is then nobody's.
pub(crate) struct Ticket<'p> {
    pub(crate) id: u64,
    pub(crate) reply: oneshot::Receiver<Result<Reply, CallError>>,
    pending: &'p Pending,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // Closed first: a sender that is dropped wakes its receiver, which is the very task that runs here, and that
        // costs a turn of the scheduler and the wake-up of an idle thread with every call.
        self.reply.close();
        self.pending.take(self.id);
    }
}

impl Pending {
    pub(crate) fn new() -> Self {
        Self {
            table: Mutex::default(),
            next_id: AtomicU64::new(1),
            emptied: Notify::new(),
            rearmed: Notify::new(),
        }
    }

    /// Every critical section is a few instructions; a panic in one leaves nothing half-done.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request that stands for as long as the session does; nobody waits for its end.
    pub(crate) fn stand(&self) -> Result<Ticket<'_>, CallError> {
        let ticket = self.open(FOR_EVER, None)?;
        let mut table = self.lock();
        if let Some(entry) = table.waiting.get_mut(&ticket.id) {
            entry.is_standing = true;
            table.standing += 1;
        }
        drop(table);
        Ok(ticket)
    }

    pub(crate) fn open(&self, timeout: Duration, aside: Option<Arc<Aside>>) -> Result<Ticket<'_>, CallError> {
        let (reply, receiver) = oneshot::channel();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let deadline = now + timeout;
        let mut table = self.lock();
        if let Some(reason) = &table.closed {
            return Err(unsent(reason));
        }
        let at_last = now + timeout.max(LONGEST);
        table.waiting.insert(
            id,
            Waiting {
                reply,
                aside,
                timeout,
                deadline,
                at_last,
                is_written: false,
                questions: 0,
                is_standing: false,
            },
        );
        if table.looks_at.is_none_or(|at| at > deadline) {
            table.looks_at = Some(deadline);
            self.rearmed.notify_one();
        }
        drop(table);
        Ok(Ticket { id, reply: receiver, pending: self })
    }

    /// Fails requests that are over their deadline, for as long as it is polled. A timer for each request would be set and
    /// cleared with each; this one is set about once for as long as a request may take, however many there are.
    pub(crate) async fn sweep(&self, server: &ServerName) {
        loop {
            let looks_at = self.lock().looks_at;
            let due = async {
                match looks_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.rearmed.notified() => {}
                () = due => self.fail_overdue(server),
            }
        }
    }

    fn fail_overdue(&self, server: &ServerName) {
        let now = Instant::now();
        let mut table = self.lock();
        let overdue: Vec<u64> =
            table.waiting.iter().filter(|(_, entry)| entry.deadline <= now).map(|(id, _)| *id).collect();
        for id in overdue {
            if let Some(entry) = table.remove(id) {
                let error = CallError::TimedOut { server: server.clone(), limit: entry.timeout };
                // A caller that has gone needs no answer.
                entry.reply.send(Err(error)).unwrap_or_default();
            }
        }
        table.looks_at = table.waiting.values().map(|entry| entry.deadline).min();
        if table.is_idle() {
            self.emptied.notify_waiters();
        }
    }

    /// Says that a request's bytes are about to go out; `false` if nobody waits for it any more.
    pub(crate) fn begin_write(&self, id: u64) -> bool {
        self.lock().waiting.get_mut(&id).map(|entry| entry.is_written = true).is_some()
    }

    fn take(&self, id: u64) -> Option<Waiting> {
        let mut table = self.lock();
        let taken = table.remove(id);
        if table.is_idle() {
            self.emptied.notify_waiters();
        }
        taken
    }

    /// Hands a reply to whoever waits for it; `false` if nobody does.
    pub(crate) fn complete(&self, id: u64, outcome: Result<Reply, CallError>) -> bool {
        self.take(id).is_some_and(|waiting| waiting.reply.send(outcome).is_ok())
    }

    /// Passes a note to the call it belongs to. Progress gives the call more time.
    pub(crate) fn note(&self, id: u64, note: Note) -> Noted {
        let mut table = self.lock();
        let Some(entry) = table.waiting.get_mut(&id) else { return Noted::NoSuchCall };
        if matches!(note, Note::Question(_)) && !entry.aside.as_ref().is_some_and(|a| a.can_be_asked()) {
            return Noted::NotWanted;
        }
        match note {
            Note::Progress(_) if entry.questions == 0 => {
                entry.deadline = (Instant::now() + entry.timeout).min(entry.at_last);
            }
            Note::Question(_) => {
                entry.questions += 1;
                entry.deadline = (Instant::now() + entry.timeout.max(FOR_AN_ANSWER)).min(entry.at_last);
            }
            Note::Progress(_) | Note::Other(_) | Note::Withdrawn(_) => {}
        }
        match &entry.aside {
            Some(aside) if aside.add(note) => Noted::Passed,
            Some(_) => Noted::Dropped,
            None => Noted::NotWanted,
        }
    }

    /// A question of this call has been answered: from here on it is the server's time again.
    pub(crate) fn answered(&self, id: u64) {
        if let Some(entry) = self.lock().waiting.get_mut(&id) {
            entry.questions = entry.questions.saturating_sub(1);
            if entry.questions == 0 {
                entry.deadline = (Instant::now() + entry.timeout).min(entry.at_last);
            }
        }
        // The sweeper may have meant to sleep for longer.
        self.rearm();
    }

    fn rearm(&self) {
        let mut table = self.lock();
        table.looks_at = table.waiting.values().map(|entry| entry.deadline).min();
        drop(table);
        self.rearmed.notify_one();
    }

    /// The client's call in flight, if there is exactly one; what we ask ourselves does not count.
    pub(crate) fn sole(&self) -> Option<u64> {
        let table = self.lock();
        let mut calls = table.waiting.iter().filter(|(_, entry)| entry.aside.is_some());
        match (calls.next(), calls.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// The latest call in flight, if all of them are of one client: whatever the server asks is for that one.
    pub(crate) fn of_one_client(&self) -> Option<u64> {
        let table = self.lock();
        let mut found: Option<(u64, u64)> = None;
        for (id, entry) in &table.waiting {
            let Some(aside) = &entry.aside else { continue };
            match found {
                Some((_, client)) if client != aside.client() => return None,
                Some((latest, _)) if latest > *id => {}
                _ => found = Some((*id, aside.client())),
            }
        }
        found.map(|(id, _)| id)
    }

    /// Takes no more requests; those in flight go on, for each has an answer of its own to wait for.
    pub(crate) fn refuse(&self, reason: &CallError) {
        self.lock().closed.get_or_insert_with(|| reason.clone());
    }

    /// Ends every call: what was written is lost, what was not may go elsewhere. Later calls are refused.
    pub(crate) fn close(&self, reason: &CallError) -> usize {
        let waiting = {
            let mut table = self.lock();
            table.closed.get_or_insert_with(|| reason.clone());
            table.standing = 0;
            std::mem::take(&mut table.waiting)
        };
        let given_up = waiting.values().filter(|entry| !entry.is_standing).count();
        for (_, entry) in waiting {
            let outcome = if entry.is_written { written(reason) } else { unsent(reason) };
            // A caller that has gone needs no answer.
            entry.reply.send(Err(outcome)).unwrap_or_default();
        }
        self.emptied.notify_waiters();
        given_up
    }

    /// Why no more requests are taken, if that is so.
    pub(crate) fn closed(&self) -> Option<CallError> {
        self.lock().closed.clone()
    }

    /// Waits until nothing is in flight.
    pub(crate) async fn idle(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.lock().is_idle() {
                return;
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

/// Whatever was not sent of another call: this one was, and may have taken effect.
fn written(reason: &CallError) -> CallError {
    match reason {
        CallError::NotSent { server, reason } => {
            CallError::Lost { server: server.clone(), reason: reason.clone() }
        }
        CallError::Lost { .. }
        | CallError::TimedOut { .. }
        | CallError::Cancelled
        | CallError::TooLarge { .. }
        | CallError::Busy { .. }
        | CallError::Protocol { .. } => reason.clone(),
    }
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

    const LIMIT: Duration = Duration::from_mins(1);

    fn lost() -> CallError {
        CallError::Lost { server: ServerName::parse("s").unwrap(), reason: "gone".into() }
    }

    #[tokio::test]
    async fn closing_tells_written_calls_that_they_are_lost_and_others_that_they_may_go_elsewhere() {
        let pending = Pending::new();
        let (mut written, mut queued) =
            (pending.open(LIMIT, None).unwrap(), pending.open(LIMIT, None).unwrap());
        assert!(pending.begin_write(written.id));
        // Whether the call that noticed was sent or not says nothing of the others.
        pending.close(&unsent(&lost()));
        assert!(matches!((&mut written.reply).await, Ok(Err(CallError::Lost { .. }))));
        assert!(matches!((&mut queued.reply).await, Ok(Err(CallError::NotSent { .. }))));
        assert!(matches!(pending.open(LIMIT, None), Err(CallError::NotSent { .. })));
    }

    #[tokio::test]
    async fn f16_f17_a_reply_reaches_its_own_call_once_and_nobody_else() {
        let pending = Pending::new();
        let mut first = pending.open(LIMIT, None).unwrap();
        let second = pending.open(LIMIT, Some(Arc::default())).unwrap();
        let reply = || Ok(Reply::Result(Bytes::from_static(b"1")));
        assert!(!pending.complete(999, reply()));
        assert!(pending.complete(first.id, reply()));
        assert!(!pending.complete(first.id, reply()));
        assert!(matches!((&mut first.reply).await, Ok(Ok(Reply::Result(_)))));
        assert_eq!(pending.sole(), Some(second.id));
        drop(second);
        pending.idle().await;
    }

    #[tokio::test(start_paused = true)]
    async fn f15_a_request_fails_at_its_deadline_and_progress_moves_it() {
        let pending = Pending::new();
        let server = ServerName::parse("s").unwrap();
        let (mut plain, mut busy) = (pending.open(LIMIT, None).unwrap(), pending.open(LIMIT, None).unwrap());
        let begun = Instant::now();
        let calls = async {
            tokio::time::sleep(LIMIT / 2).await;
            pending.note(busy.id, Note::Progress(Bytes::new()));
            assert!(matches!((&mut plain.reply).await, Ok(Err(CallError::TimedOut { .. }))));
            assert_eq!(begun.elapsed().as_secs(), 60);
            assert!(matches!((&mut busy.reply).await, Ok(Err(CallError::TimedOut { .. }))));
            assert_eq!(begun.elapsed().as_secs(), 90);
        };
        tokio::select! {
            () = calls => {}
            () = pending.sweep(&server) => {}
        }
    }
}
