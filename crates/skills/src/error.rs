//! What can go wrong when people manage skills; each variant is one thing they can do something about.

use portolan_model::{SkillId, SuggestionState};
use portolan_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error("Skill not found: {0}")]
    NoSuchSkill(String),
    #[error("Skill already exists: {0}")]
    Exists(SkillId),
    #[error("Suggestion not found: {0}")]
    NoSuchSuggestion(String),
    /// Somebody was faster.
    #[error("Suggestion already settled: {suggestion} is {}", .state.as_str())]
    Settled { suggestion: String, state: SuggestionState },
    #[error("Tool not found: {0}")]
    NoSuchTool(String),
    #[error("a tool has at most {most} skills")]
    TooMany { most: usize },
    #[error("{0} is named twice")]
    Twice(SkillId),
    #[error(transparent)]
    Store(#[from] StoreError),
}
