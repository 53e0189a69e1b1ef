//! Questions of servers on their way to one client, and its answers on their way back.

use crate::client::locked;
use bytes::Bytes;
use portolan_model::ServerName;
use portolan_router::{Desk, Question, Reply};
use portolan_wire::json::{self, Members};
use portolan_wire::tasks::{relate_back, relate_shown};
use portolan_wire::{Abilities, Outcome, Revision, answer, envelope};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::mpsc;

/// How many questions one client may have before it; what is over is declined.
const MOST: usize = 256;

#[derive(Default)]
pub(crate) struct Questions {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Question>>>,
    /// Where questions of no call go, and what they have to be fit for.
    desk: OnceLock<Form>,
    stream: Mutex<Option<mpsc::WeakSender<Bytes>>>,
}

/// What a client can be asked and how.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) revision: Revision,
    pub(crate) abilities: Abilities,
    /// Whether the client sees many servers, and so has to be told which one asks.
    pub(crate) names_server: bool,
}

impl Questions {
    /// The message that asks the client, under an id of ours. What it has not declared is declined at once.
    pub(crate) fn ask(&self, question: Arc<Question>, form: &Form) -> Option<Bytes> {
        let mut open = locked(&self.open);
        open.retain(|_, question| question.is_open());
        if open.len() >= MOST || !form.abilities.allow(&question.method, question.params()) {
            question.decline();
            return None;
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let params = form.params(&question);
        let mut message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"#).into_bytes();
        json::write_text(&question.method, &mut message);
        if let Some(params) = params {
            message.extend_from_slice(br#","params":"#);
            message.extend_from_slice(params.as_bytes());
        }
        message.push(b'}');
        open.insert(id, question);
        Some(message.into())
    }

    /// Takes the client's answer to a question; one to nothing that was asked is dropped.
    pub(crate) fn answered(&self, id: &str, outcome: Outcome<'_>) {
        let question = envelope::own_id(id).and_then(|id| locked(&self.open).remove(&id));
        if let Some(question) = question {
            match outcome {
                Outcome::Result(raw) => give(&question, raw),
                Outcome::Error(raw) => question.answer(Reply::Error(Bytes::copy_from_slice(raw.as_bytes()))),
            }
        }
    }

    /// The message that takes a question back, if the client has it before it.
    pub(crate) fn withdraw(&self, question: &Arc<Question>) -> Option<Bytes> {
        let mut open = locked(&self.open);
        let id = open.iter().find(|(_, other)| Arc::ptr_eq(other, question)).map(|(id, _)| *id)?;
        open.remove(&id);
        let params = format!(r#"{{"requestId":{id},"reason":"the server does not ask any more"}}"#);
        Some(answer::notification("notifications/cancelled", Some(&params)).into())
    }

    /// Nobody is there to answer any more.
    pub(crate) fn give_up(&self) {
        for (_, question) in locked(&self.open).drain() {
            question.decline();
        }
    }

    /// Says what the client can be asked outside of its calls. That is settled once, with the handshake.
    pub(crate) fn agree(&self, form: Form) {
        self.desk.set(form).unwrap_or_default();
    }

    /// Says by which stream it can be reached; streams may come and go.
    pub(crate) fn reach_by(&self, stream: &mpsc::Sender<Bytes>) {
        *locked(&self.stream) = Some(stream.downgrade());
    }
}

impl Desk for Questions {
    fn ask(&self, question: Arc<Question>) {
        let stream = locked(&self.stream).as_ref().and_then(mpsc::WeakSender::upgrade);
        let (Some(stream), Some(form)) = (stream, self.desk.get()) else { return question.decline() };
        if let Some(message) = self.ask(question.clone(), form)
            && stream.try_send(message).is_err()
        {
            question.decline();
        }
    }
}

impl Form {
    /// The params as the client's revision has them.
    pub(crate) fn params(&self, question: &Question) -> Option<String> {
        let raw = question.params()?;
        // Whoever sees many servers knows their tasks by other ids.
        let raw =
            if self.names_server { relate_shown(raw, question.server.as_str()) } else { Cow::Borrowed(raw) };
        if question.method.as_ref() != "elicitation/create" {
            return Some(raw.into_owned());
        }
        let Ok(members) = Members::parse(&raw) else { return Some(raw.into_owned()) };
        let message = self.names_server.then(|| members.get("message").and_then(json::text)).flatten();
        let message = message.map(|text| named(&question.server, &text));
        // Between 2025-11-25 and 2026-07-28 a page that is opened has an id, by which its end can be told.
        let is_page = members.get("mode") == Some(r#""url""#);
        let lacks_id = is_page && self.revision.has_handshake() && members.get("elicitationId").is_none();
        let own_id =
            lacks_id.then(|| format!(r#""portolan-{}""#, portolan_model::fingerprint([raw.as_bytes()])));
        let drops_id = is_page && !self.revision.has_handshake();
        let mut out = Vec::with_capacity(raw.len() + 64);
        let kept = members.iter().filter(|(key, _)| !(drops_id && *key == "elicitationId"));
        let swapped = kept.map(|(key, value)| match &message {
            Some(message) if key == "message" => (key, message.as_str()),
            _ => (key, value),
        });
        let added = own_id.as_deref().map(|id| ("elicitationId", id));
        json::write_object(swapped.chain(added), &mut out);
        String::from_utf8(out).ok()
    }
}

/// Gives a server the client's answer, by the server's own id where it belongs to a task.
pub(crate) fn give(question: &Question, answer: &str) {
    let answer = relate_back(answer, question.server.as_str(), question.params());
    question.answer(Reply::Result(Bytes::copy_from_slice(answer.as_bytes())));
}

/// People have to know who is asking, and behind one address that is no longer plain.
fn named(server: &ServerName, text: &str) -> String {
    let mut out = Vec::new();
    json::write_text(&format!("{server}: {text}"), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
