//! What an agent acts through: one server's tools, and the person behind the client.

use crate::Who;
use crate::calls::Calls;
use async_trait::async_trait;
use portolan_agent::{Call, CallFailed, Consent, Hands};
use portolan_model::{Kind, ServerName, Tool};
use portolan_router::{Note, Question, Reply};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

const ELICIT: &str = "elicitation/create";

pub(crate) struct ServerHands<'h> {
    pub(crate) calls: Calls,
    pub(crate) server: &'h ServerName,
    pub(crate) who: Who<'h>,
}

#[async_trait]
impl Hands for ServerHands<'_> {
    fn tools(&self) -> Vec<Arc<Tool>> {
        let snapshot = self.calls.router.catalog.snapshot();
        let offer = snapshot.servers().get(self.server).and_then(|entry| entry.offer());
        let tools = offer.map(|offer| offer.tools.as_slice()).unwrap_or_default().iter();
        tools.filter(|tool| self.who.view.has(Kind::Tools, self.server, &tool.name)).cloned().collect()
    }

    async fn call(&self, call: Call<'_>) -> Result<Box<RawValue>, CallFailed> {
        let made = self.calls.tool(self.server, call.tool, call.arguments.get(), &call.cancelled);
        match tokio::time::timeout(call.within, made).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(trouble)) => Err(CallFailed { reason: trouble.reason() }),
            Err(_) => Err(CallFailed { reason: "it took too long".to_owned() }),
        }
    }

    async fn confirm(&self, question: &str) -> Consent {
        let params = json!({
            "message": question,
            "requestedSchema": {
                "type": "object",
                "properties": {"confirm": {"type": "boolean", "title": "Yes, do it", "default": false}},
                "required": ["confirm"],
            },
        });
        let Some(reply) = ask_client(self.server, self.who, ELICIT, &params.to_string()).await else {
            return Consent::CannotAsk;
        };
        let Reply::Result(result) = reply else { return Consent::CannotAsk };
        let answer: Value = serde_json::from_slice(&result).unwrap_or_default();
        let is_accepted = answer["action"] == "accept" && answer["content"]["confirm"] == true;
        if is_accepted { Consent::Confirmed } else { Consent::Declined }
    }
}

/// What the client whose call this is answers to a question; `None` if it cannot be asked this.
pub(crate) async fn ask_client(
    server: &ServerName,
    who: Who<'_>,
    method: &str,
    params: &str,
) -> Option<Reply> {
    let aside = who.aside.filter(|aside| aside.can_be_asked())?;
    if !who.caller.party.abilities.allow(method, Some(params)) {
        return None;
    }
    let (question, answer) = Question::new(server.clone(), method, Some(params.to_owned().into()), None);
    if !aside.add(Note::Question(question.clone())) {
        return None;
    }
    let mut withdrawal = Withdrawal { who, question: Some(question) };
    let reply = answer.await.ok();
    withdrawal.question = None;
    reply
}

/// A question that nobody waits for any more is taken back.
struct Withdrawal<'w> {
    who: Who<'w>,
    /// Nothing once it is answered.
    question: Option<Arc<Question>>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if let (Some(aside), Some(question)) = (self.who.aside, self.question.take()) {
            aside.add(Note::Withdrawn(question));
        }
    }
}
