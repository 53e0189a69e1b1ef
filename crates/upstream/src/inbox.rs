//! What a server sends, sorted: replies to their callers, notes to their calls, the rest to whom it concerns.

use crate::error::CallError;
use crate::pending::{Note, Noted, Pending, Reply};
use crate::question::{Desk, Later, Question};
use bytes::Bytes;
use portolan_model::{Kind, Kinds, ServerName};
use portolan_telemetry::counters;
use portolan_wire::json::{self, Members};
use portolan_wire::tasks::related;
use portolan_wire::{Incoming, Message, Outcome, answer, envelope, progress};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;

/// How many questions of one session may be open; a server that asks more gets no for an answer.
const MOST_QUESTIONS: usize = 64;

/// A notification of a server that belongs to no call: every client that sees the server may have it.
#[derive(Debug, Clone)]
pub struct Notice {
    pub server: ServerName,
    pub message: Bytes,
}

pub(crate) struct Inbox {
    pub(crate) server: ServerName,
    pub(crate) pending: Pending,
    /// The lists that the server says to have changed since somebody looked.
    changed: AtomicU8,
    told_of_change: Notify,
    /// The server has said what it will tell on the stream that stands.
    pub(crate) acknowledged: Notify,
    /// How many replies have come: a server that answers is well.
    pub(crate) answers: AtomicU64,
    /// The client to which everything on this session belongs, where there is one.
    owner: Option<Arc<dyn Desk>>,
    /// By the server's own ids, so that it can take one back.
    questions: Mutex<HashMap<Box<str>, Asked>>,
    notices: broadcast::Sender<Notice>,
    max_depth: usize,
}

struct Asked {
    at: Instant,
    question: Arc<Question>,
    call: Option<u64>,
}

/// What is left to do with a message.
#[derive(Debug)]
pub(crate) enum Taken {
    Done,
    /// The reply to the call on whose stream the message came.
    Reply(Reply),
    /// The call on whose stream the message came cannot get a reply any more.
    Failed(CallError),
    /// The server asked something; this goes back to it.
    Answer(Vec<u8>),
    /// The server asked something that takes its time.
    Later(Later),
}

impl Inbox {
    pub(crate) fn new(
        server: ServerName,
        notices: broadcast::Sender<Notice>,
        max_depth: usize,
        owner: Option<Arc<dyn Desk>>,
    ) -> Self {
        Self {
            server,
            pending: Pending::new(),
            changed: AtomicU8::new(0),
            told_of_change: Notify::new(),
            acknowledged: Notify::new(),
            answers: AtomicU64::new(0),
            owner,
            questions: Mutex::default(),
            notices,
            max_depth,
        }
    }

    /// Says that lists have changed, or may have.
    pub(crate) fn change(&self, kinds: Kinds) {
        self.changed.fetch_or(kinds.bits(), Ordering::AcqRel);
        self.told_of_change.notify_one();
    }

    /// Waits until lists have changed, and says which.
    pub(crate) async fn changed(&self) -> Kinds {
        loop {
            let kinds = Kinds::from_bits(self.changed.swap(0, Ordering::AcqRel));
            if !kinds.is_empty() {
                return kinds;
            }
            self.told_of_change.notified().await;
        }
    }

    /// Sorts one message. `call` is the call on whose own stream it came, where the transport has such streams.
    pub(crate) fn take(&self, bytes: &Bytes, call: Option<u64>) -> Taken {
        match envelope::parse(bytes, self.max_depth) {
            Ok(Incoming::One(message)) => self.sort(bytes, message, call),
            Ok(Incoming::Batch(entries)) => self.take_batch(&entries, call),
            Err(malformed) => {
                counters::UNREADABLE.one();
                tracing::debug!(server = %self.server, %malformed, "a message of the server is unreadable");
                self.blame_caller(bytes, &malformed, call)
            }
        }
    }

    /// 2025-03-26 servers may answer with an array; its entries are messages like any other.
    fn take_batch(&self, entries: &[&str], call: Option<u64>) -> Taken {
        let mut last = Taken::Done;
        for entry in entries {
            let bytes = Bytes::copy_from_slice(entry.as_bytes());
            match envelope::parse_one(entry) {
                Ok(message) => match self.sort(&bytes, message, call) {
                    Taken::Done => {}
                    other @ (Taken::Reply(_) | Taken::Failed(_) | Taken::Answer(_) | Taken::Later(_)) => {
                        last = other;
                    }
                },
                Err(_) => counters::UNREADABLE.one(),
            }
        }
        last
    }

    fn sort(&self, bytes: &Bytes, message: Message<'_>, call: Option<u64>) -> Taken {
        match message {
            Message::Reply { id, outcome } => self.reply(bytes, id, outcome, call),
            Message::Notification { method, params } => {
                self.notification(bytes, &method, params, call);
                Taken::Done
            }
            Message::Request { id, method, params } if method != "ping" => {
                let params = params.map(|params| bytes.slice_ref(params.as_bytes()));
                self.question(id, &method, params, call)
            }
            Message::Request { id, .. } => Taken::Answer(answer::result(id, b"{}")),
        }
    }

    fn reply(&self, bytes: &Bytes, id: &str, outcome: Outcome<'_>, call: Option<u64>) -> Taken {
        let reply = match outcome {
            Outcome::Result(raw) => Reply::Result(bytes.slice_ref(raw.as_bytes())),
            Outcome::Error(raw) => Reply::Error(bytes.slice_ref(raw.as_bytes())),
        };
        self.answers.fetch_add(1, Ordering::Relaxed);
        let own = envelope::own_id(id);
        match (own, call) {
            (Some(own), Some(call)) if own == call => Taken::Reply(reply),
            // An error that could not be tied to a request came on the request's own stream all the same.
            (None, Some(_)) if matches!(reply, Reply::Error(_)) => Taken::Reply(reply),
            (Some(own), _) if self.pending.complete(own, Ok(reply)) => Taken::Done,
            _ => {
                counters::UNKNOWN_REPLIES.one();
                tracing::debug!(server = %self.server, id, "a reply that nobody waits for was dropped");
                Taken::Done
            }
        }
    }

    fn notification(&self, bytes: &Bytes, method: &str, params: Option<&str>, call: Option<u64>) {
        match method {
            "notifications/progress" => {
                let (Some(token), Some(params)) = (progress::own_token(params), params) else { return };
                let note = Note::Progress(bytes.slice_ref(params.as_bytes()));
                match self.pending.note(token, note) {
                    Noted::Dropped => counters::NOTES_DROPPED.one(),
                    // The call may have been answered with a task, which goes on.
                    Noted::NoSuchCall if related(params).is_some() => self.broadcast(bytes),
                    Noted::Passed | Noted::NotWanted | Noted::NoSuchCall => {}
                }
            }
            "notifications/tools/list_changed" => self.change(Kinds::NONE.with(Kind::Tools)),
            "notifications/prompts/list_changed" => self.change(Kinds::NONE.with(Kind::Prompts)),
            "notifications/resources/list_changed" => {
                self.change(Kinds::NONE.with(Kind::Resources).with(Kind::Templates));
            }
            "notifications/subscriptions/acknowledged" => self.acknowledged.notify_waiters(),
            "notifications/cancelled" => self.withdraw(params),
            // Who has subscribed is told, and nobody else: these belong to no call.
            "notifications/resources/updated" | "notifications/tasks/status" | "notifications/tasks" => {
                self.broadcast(bytes);
            }
            _ => {
                // Pipes and HTTP+SSE do not say which call a message belongs to; a single call is no question.
                let owner = call.or_else(|| self.pending.sole());
                let noted = owner.map(|id| self.pending.note(id, Note::Other(bytes.clone())));
                match noted {
                    Some(Noted::Passed) => {}
                    Some(Noted::Dropped) => counters::NOTES_DROPPED.one(),
                    Some(Noted::NotWanted | Noted::NoSuchCall) | None => self.broadcast(bytes),
                }
            }
        }
    }

    fn broadcast(&self, bytes: &Bytes) {
        let notice = Notice { server: self.server.clone(), message: bytes.clone() };
        // Without a client there is nobody to tell.
        self.notices.send(notice).unwrap_or_default();
    }

    /// Hands a question to the one client that it can be meant for. Where that is not certain it is declined, as by a
    /// client without the capability: better no answer than the wrong person's.
    fn question(&self, id: &str, method: &str, params: Option<Bytes>, call: Option<u64>) -> Taken {
        let declined = |why: &str| {
            counters::DECLINED.one();
            tracing::debug!(server = %self.server, method, why, "a question of the server is declined");
            Taken::Answer(answer::error(
                id,
                -32601,
                &format!("{method} is not supported by this client: {why}"),
                None,
            ))
        };
        let mut questions = self.questions();
        questions.retain(|_, asked| asked.question.is_open());
        if questions.len() >= MOST_QUESTIONS {
            return declined("too many questions are open");
        }
        let key = json::text(id).map(|key| key.as_ref().into());
        let (question, answered) = Question::new(self.server.clone(), method, params, key);
        let call = call.or_else(|| self.pending.of_one_client());
        let noted = call.map(|call| self.pending.note(call, Note::Question(question.clone())));
        match (noted, &self.owner) {
            (Some(Noted::Passed), _) => {}
            (Some(Noted::Dropped), _) => return declined("the client does not keep up"),
            (_, Some(owner)) => owner.ask(question.clone()),
            (None | Some(Noted::NotWanted | Noted::NoSuchCall), None) => {
                return declined("it cannot be told whose call it belongs to");
            }
        }
        questions.insert(id.into(), Asked { at: Instant::now(), question, call });
        Taken::Later(Later { id: id.into(), answered })
    }

    /// Whether a question has been open for this long.
    pub(crate) fn has_asked_for(&self, long: Duration) -> bool {
        self.questions().values().any(|asked| asked.question.is_open() && asked.at.elapsed() >= long)
    }

    /// Says that a question has been answered, so that its call's time runs again.
    pub(crate) fn answered(&self, id: &str) {
        let call = self.questions().remove(id).and_then(|asked| asked.call);
        if let Some(call) = call {
            self.pending.answered(call);
        }
    }

    /// The server takes a question back.
    fn withdraw(&self, params: Option<&str>) {
        let id = params.and_then(|params| Members::parse(params).ok()?.get("requestId"));
        let Some(asked) = id.and_then(|id| self.questions().remove(id)) else { return };
        if let Some(call) = asked.call {
            self.pending.note(call, Note::Withdrawn(asked.question.clone()));
            self.pending.answered(call);
        }
        asked.question.decline();
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<Box<str>, Asked>> {
        // Critical sections here insert and remove; a panic in one leaves nothing half-done.
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An unreadable message that still names its call fails that call at once.
    fn blame_caller(&self, bytes: &Bytes, malformed: &envelope::Malformed, call: Option<u64>) -> Taken {
        let Some(id) = envelope::id_in_wreck(bytes) else { return Taken::Done };
        if call == Some(id) {
            return Taken::Failed(self.broken(malformed));
        }
        if call.is_none() {
            self.pending.complete(id, Err(self.broken(malformed)));
        }
        Taken::Done
    }

    pub(crate) fn broken(&self, reason: &dyn std::fmt::Display) -> CallError {
        CallError::Protocol { server: self.server.clone(), reason: reason.to_string() }
    }

    pub(crate) fn lost(&self, reason: impl Into<String>) -> CallError {
        CallError::Lost { server: self.server.clone(), reason: reason.into() }
    }

    pub(crate) fn unsent(&self, reason: impl Into<String>) -> CallError {
        CallError::NotSent { server: self.server.clone(), reason: reason.into() }
    }
}
