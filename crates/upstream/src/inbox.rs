//! What a server sends, sorted: replies to their callers, notes to their calls, the rest to whom it concerns.

use crate::error::CallError;
use crate::pending::{Note, Noted, Pending, Reply};
use bytes::Bytes;
use portolan_model::ServerName;
use portolan_telemetry::counters;
use portolan_wire::{Incoming, Message, Outcome, answer, envelope, progress};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Notify, broadcast};

/// A notification of a server that belongs to no call: every client that sees the server may have it.
#[derive(Debug, Clone)]
pub struct Notice {
    pub server: ServerName,
    pub message: Bytes,
}

pub(crate) struct Inbox {
    pub(crate) server: ServerName,
    pub(crate) pending: Pending,
    pub(crate) tools_changed: Notify,
    /// How many replies have come: a server that answers is well.
    pub(crate) answers: AtomicU64,
    notices: broadcast::Sender<Notice>,
    max_depth: usize,
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
}

impl Inbox {
    pub(crate) fn new(server: ServerName, notices: broadcast::Sender<Notice>, max_depth: usize) -> Self {
        Self {
            server,
            pending: Pending::new(),
            tools_changed: Notify::new(),
            answers: AtomicU64::new(0),
            notices,
            max_depth,
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
                    other @ (Taken::Reply(_) | Taken::Failed(_) | Taken::Answer(_)) => last = other,
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
            Message::Request { id, method, .. } => Taken::Answer(if method == "ping" {
                answer::result(id, b"{}")
            } else {
                // No client can be asked yet: declined at once, as by a client without the capability.
                counters::DECLINED.one();
                answer::error(id, -32601, &format!("{method} is not supported by this client"), None)
            }),
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
                if self.pending.note(token, note) == Noted::Dropped {
                    counters::NOTES_DROPPED.one();
                }
            }
            "notifications/tools/list_changed" => self.tools_changed.notify_one(),
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
