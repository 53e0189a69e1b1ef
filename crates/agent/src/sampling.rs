//! The calling client's own model, by MCP sampling: with tools where the client has them, else by a protocol in words.

mod blocks;
mod words;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use portolan_llm::{Answer, Chat, ChatModel, LlmError, Turn, Usage};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::timeout;

/// What an answer may have where nobody says less: MCP wants a number.
const USUAL_TOKENS: u32 = 4096;
/// What the model is called until the client has said its name.
const NAMELESS: &str = "the client's model";
/// A person may have to allow each request, so this is long.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// What is longer is no answer to anything that is asked here.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// A client that can be asked to sample.
#[async_trait]
pub trait Sampler: Send + Sync {
    /// Whether it has declared `sampling.tools`. One that has not must not be sent any.
    fn can_use_tools(&self) -> bool;

    /// Sends `sampling/createMessage` with these params, and gives back the result.
    async fn create_message(&self, params: Box<RawValue>) -> Result<Box<RawValue>, SampleFailed>;
}

/// The client refused, failed or went away, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SampleFailed {
    pub reason: String,
}

/// A client's model, for one query.
pub struct Sampling {
    sampler: Arc<dyn Sampler>,
    name: OnceLock<String>,
}

impl Sampling {
    pub fn new(sampler: Arc<dyn Sampler>) -> Self {
        Self { sampler, name: OnceLock::new() }
    }

    /// One request, read as far as it is the same for both ways.
    async fn sample(&self, params: &Params<'_>) -> Result<blocks::Reply, LlmError> {
        let params =
            to_raw_value(params).map_err(|error| LlmError::Misconfigured { reason: error.to_string() })?;
        let answer = self.sampler.create_message(params).await.map_err(|failed| LlmError::Unavailable {
            reason: format!("the client did not sample: {failed}"),
        })?;
        if answer.get().len() > LARGEST_ANSWER {
            return Err(LlmError::TooLarge { limit: LARGEST_ANSWER });
        }
        let reply = blocks::read(&answer)?;
        if let Some(model) = &reply.model {
            // The first name stays.
            let _ = self.name.set(model.clone());
        }
        Ok(reply)
    }

    async fn with_tools(&self, chat: &Chat) -> Result<Turn, LlmError> {
        let system = bound(chat);
        let reply = self.sample(&blocks::params(&system, chat)).await?;
        let usage = estimate(chat, &reply);
        Ok(reply.into_turn(usage))
    }

    /// A model that answers with something else than it was asked for is told so, once.
    async fn in_words(&self, chat: &Chat) -> Result<Turn, LlmError> {
        let mut messages = words::messages(chat);
        let system = words::system(chat);
        let reply = self.sample(&words::params(&system, &messages, chat)).await?;
        let mut usage = estimate(chat, &reply);
        let complaint = match words::read(&reply, chat) {
            Ok(spoken) => return Ok(spoken.into_turn(&reply, usage)),
            Err(LlmError::Garbage { reason, .. }) => reason,
            Err(error) => return Err(error),
        };
        messages.push(words::said("assistant", reply.text.clone()));
        messages.push(words::said("user", words::complaint(&complaint)));
        let again = self.sample(&words::params(&system, &messages, chat)).await?;
        usage = usage.plus(estimate(chat, &again));
        words::read_at_last(&again, chat).map(|spoken| spoken.into_turn(&again, usage))
    }
}

#[async_trait]
impl ChatModel for Sampling {
    fn name(&self) -> &str {
        self.name.get().map_or(NAMELESS, String::as_str)
    }

    async fn turn(&self, chat: &Chat) -> Result<Turn, LlmError> {
        let limit = chat.within.map_or(LONGEST_WAIT, |less| less.min(LONGEST_WAIT));
        let turn = async {
            if chat.tools.is_empty() || self.sampler.can_use_tools() {
                self.with_tools(chat).await
            } else {
                self.in_words(chat).await
            }
        };
        timeout(limit, turn).await.map_err(|_| LlmError::TimedOut { limit })?
    }
}

/// The params of `sampling/createMessage`. A temperature is left out: only the client knows whether its model takes one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    messages: Vec<blocks::Message<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    system_prompt: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<blocks::Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<blocks::Choice>,
}

/// The system prompt, and in it what the answer has to be: MCP has no other way to bind it.
fn bound(chat: &Chat) -> Cow<'_, str> {
    match &chat.answer {
        Answer::Text => Cow::Borrowed(&chat.system),
        Answer::Object { schema, .. } => Cow::Owned(format!(
            "{}\n\nThe answer is one JSON object that fits this JSON schema:\n{schema}",
            chat.system
        )),
    }
}

/// MCP does not say what was used.
fn estimate(chat: &Chat, reply: &blocks::Reply) -> Usage {
    let answer = u64::try_from(reply.bytes.div_ceil(3)).unwrap_or(u64::MAX);
    Usage { output: answer, ..chat.at_most(0) }
}
