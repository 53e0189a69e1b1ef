//! A model that keeps to the budget of whoever asks it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::LlmError;
use crate::budget::{Admission, Budget, Limits, Owner};
use crate::chat::{Chat, ChatModel, Turn};

/// A model on one owner's account. What it may not ask is refused before anything is sent.
#[derive(Clone)]
pub struct Metered {
    pub model: Arc<dyn ChatModel>,
    pub budget: Arc<Budget>,
    pub owner: Owner,
    pub limits: Limits,
    /// What one answer may have at most: the provider's own limit.
    pub max_tokens: u32,
}

#[async_trait]
impl ChatModel for Metered {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn turn(&self, chat: &Chat) -> Result<Turn, LlmError> {
        let at_most = chat.at_most(self.max_tokens);
        let admission =
            Admission { owner: &self.owner, limits: self.limits, model: self.model.name(), at_most };
        let permit = self.budget.admit(admission).map_err(LlmError::OverBudget)?;
        let turn = self.model.turn(chat).await?;
        permit.settle(turn.usage);
        Ok(turn)
    }
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered")
            .field("owner", &self.owner)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
