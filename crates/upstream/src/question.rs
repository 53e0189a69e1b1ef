//! What a server asks a client: sampling, elicitation, roots. Every question gets exactly one answer.

use crate::pending::Reply;
use bytes::Bytes;
use portolan_model::ServerName;
use portolan_wire::{Abilities, answer};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// One question on its way to the client whose call caused it. One that is dropped unanswered counts as declined.
#[derive(Debug)]
pub struct Question {
    pub server: ServerName,
    pub method: Box<str>,
    pub params: Option<Bytes>,
    /// The server's own name for it, where that is a text.
    pub key: Option<Box<str>>,
    answer: Mutex<Option<oneshot::Sender<Reply>>>,
}

impl Question {
    pub fn new(
        server: ServerName,
        method: &str,
        params: Option<Bytes>,
        key: Option<Box<str>>,
    ) -> (Arc<Self>, oneshot::Receiver<Reply>) {
        let (answer, answered) = oneshot::channel();
        let question = Self { server, method: method.into(), params, key, answer: Mutex::new(Some(answer)) };
        (Arc::new(question), answered)
    }

    pub fn params(&self) -> Option<&str> {
        // They came out of a message that was read as text.
        self.params.as_deref().and_then(|params| std::str::from_utf8(params).ok())
    }

    /// Answers it; a second answer changes nothing.
    pub fn answer(&self, reply: Reply) {
        if let Some(sender) = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The server may have given up by now.
            sender.send(reply).unwrap_or_default();
        }
    }

    /// Declines it as a client without the capability does.
    pub fn decline(&self) {
        let text = format!("{} is not supported by this client", self.method);
        self.answer(Reply::Error(answer::error_object(-32601, &text, None).into()));
    }

    /// Whether there is still somebody to answer.
    pub fn is_open(&self) -> bool {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.as_ref().is_some_and(|sender| !sender.is_closed())
    }
}

/// Where a client takes questions that belong to none of its calls.
pub trait Desk: Send + Sync {
    fn ask(&self, question: Arc<Question>);
}

/// On whose behalf a request goes out.
#[derive(Clone)]
pub struct Party {
    /// Requests of one client carry one number: what servers ask meanwhile is for that client.
    pub client: u64,
    pub abilities: Abilities,
    /// Only where the client can be reached outside of its calls.
    pub desk: Option<Arc<dyn Desk>>,
}

impl Party {
    /// One that cannot be asked anything.
    pub fn nobody() -> Self {
        Self { client: 0, abilities: Abilities::default(), desk: None }
    }
}

/// A question of a server that somebody is answering.
#[derive(Debug)]
pub(crate) struct Later {
    pub(crate) id: Box<str>,
    pub(crate) answered: oneshot::Receiver<Reply>,
}

impl Later {
    /// The message that goes back to the server, once there is an answer.
    pub(crate) async fn message(self) -> Vec<u8> {
        match self.answered.await {
            Ok(Reply::Result(result)) => answer::result(&self.id, &result),
            Ok(Reply::Error(error)) => answer::raw_error(&self.id, &error),
            Err(_) => answer::error(&self.id, -32603, "the client has gone without an answer", None),
        }
    }
}
