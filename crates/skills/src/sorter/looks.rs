//! What people are shown of skills.

use super::Sorter;
use crate::error::SkillError;
use portolan_model::{SkillId, SuggestionId, SuggestionState};
use portolan_store::{Page, SkillRecord, Slice, StoreError, SuggestionRecord};
use std::collections::HashMap;

impl Sorter {
    /// All skills, by id.
    pub async fn skills(&self) -> Result<Vec<SkillRecord>, StoreError> {
        self.store.skills(&self.workspace).await
    }

    /// One skill, by its id.
    pub async fn skill(&self, key: &str) -> Result<SkillRecord, SkillError> {
        let found = self.skills().await?.into_iter().find(|skill| skill.id.as_str() == key);
        found.ok_or_else(|| SkillError::NoSuchSkill(key.to_owned()))
    }

    /// How many of the tools that servers list now have each skill; one that none has is left out.
    pub async fn counts(&self) -> Result<HashMap<SkillId, u64>, StoreError> {
        Ok(self.store.skill_counts(&self.workspace).await?.into_iter().collect())
    }

    /// The latest first.
    pub async fn suggestions(
        &self,
        state: Option<SuggestionState>,
        page: Page,
    ) -> Result<Slice<SuggestionRecord>, StoreError> {
        self.store.suggestions(&self.workspace, state, page).await
    }

    /// One suggestion, by its id.
    pub async fn suggestion(&self, key: &str) -> Result<SuggestionRecord, SkillError> {
        let none = || SkillError::NoSuchSuggestion(key.to_owned());
        let id = number(key).map(SuggestionId).ok_or_else(none)?;
        self.store.suggestion(id).await?.ok_or_else(none)
    }
}

/// The number that is written so, and in no other way.
pub(super) fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}
