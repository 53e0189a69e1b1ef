//! A model at a provider: chats in its dialect, and what it turns out not to take.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use portolan_outbound::{Origin, Outbound};
use serde::Serialize;

use crate::chat::{Chat, ChatModel, Turn};
use crate::concession::Manners;
use crate::post::{Deadline, Post};
use crate::provider::{Addresses, Dialect, Provider};
use crate::{LlmError, anthropic, openai};

/// One model, shared by everybody who asks it.
pub struct Client {
    pub(crate) provider: Provider,
    pub(crate) addresses: Addresses,
    pub(crate) post: Post,
    manners: Mutex<Manners>,
}

impl Client {
    /// `origin` says who wrote the address: one that came over REST is held against the policy before it is dialled.
    pub fn new(outbound: Outbound, origin: Origin, provider: Provider) -> Result<Self, LlmError> {
        let addresses = provider.addresses()?;
        let headers = provider.headers()?;
        let post = Post { outbound, origin, headers, key: provider.api_key.clone() };
        Ok(Self { provider, addresses, post, manners: Mutex::default() })
    }

    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    fn write(&self, chat: &Chat, manners: Manners) -> Result<Bytes, LlmError> {
        let most = self.provider.max_tokens;
        let max_tokens = chat.max_tokens.map_or(most, |fewer| fewer.min(most));
        let model = self.provider.model.as_str();
        match self.provider.kind {
            Dialect::OpenAi => written(&openai::Request::new(model, chat, max_tokens, manners)),
            Dialect::Anthropic => written(&anthropic::Request::new(model, chat, max_tokens, manners)),
        }
    }

    fn read(&self, answer: &[u8], asked: usize, chat: &Chat, manners: Manners) -> Result<Turn, LlmError> {
        match self.provider.kind {
            Dialect::OpenAi => openai::read(answer, asked),
            Dialect::Anthropic => anthropic::read(answer, asked, chat, manners),
        }
    }

    fn manners(&self) -> Manners {
        *self.manners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, found: Manners) {
        let mut manners = self.manners.lock().unwrap_or_else(PoisonError::into_inner);
        *manners = manners.and(found);
    }
}

#[async_trait]
impl ChatModel for Client {
    fn name(&self) -> &str {
        &self.provider.model
    }

    async fn turn(&self, chat: &Chat) -> Result<Turn, LlmError> {
        let most = self.provider.timeout;
        let deadline = Deadline::within(chat.within.map_or(most, |less| less.min(most)));
        let mut manners = self.manners();
        loop {
            let request = self.write(chat, manners)?;
            let asked = request.len();
            match self.post.send(&self.addresses.chat, request, deadline).await {
                Ok(answer) => {
                    // Only now it is sure that the refusals were about what was left out since.
                    self.remember(manners);
                    let turn = self.read(&answer, asked, chat, manners);
                    return turn.map_err(|error| self.post.masked(error, &answer));
                }
                Err(LlmError::Rejected { status: status @ (400 | 422), reason }) => {
                    let Some(humbler) = manners.concede(chat, &reason) else {
                        return Err(LlmError::Rejected { status, reason });
                    };
                    tracing::debug!(model = self.provider.model, reason, "asking the model for less");
                    manners = humbler;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("provider", &self.provider).finish_non_exhaustive()
    }
}

pub(crate) fn written(request: &impl Serialize) -> Result<Bytes, LlmError> {
    let written = serde_json::to_vec(request);
    written.map(Bytes::from).map_err(|error| LlmError::Misconfigured { reason: error.to_string() })
}
