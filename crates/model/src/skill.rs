//! What a skill goes by, and who says that a tool has it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest id.
const MOST: usize = 64;

/// A skill's own id: lower case, readable, and stable, since filters and assignments name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillId(Box<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no id of a skill: it begins with a lower case letter, goes on with lower case letters, digits, - and _, \
     and has at most {MOST} characters"
)]
pub struct BadSkillId(String);

impl SkillId {
    pub fn parse(text: &str) -> Result<Self, BadSkillId> {
        let begins_well = text.starts_with(|first: char| first.is_ascii_lowercase());
        let goes_on_well =
            text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
        if begins_well && goes_on_well && text.len() <= MOST {
            Ok(Self(text.into()))
        } else {
            Err(BadSkillId(text.to_owned()))
        }
    }

    /// The id that a skill of this name gets; `None` where the name has no letter to begin with.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut id = String::new();
        for c in name.chars().flat_map(char::to_lowercase) {
            if c.is_ascii_lowercase() || (c.is_ascii_digit() && !id.is_empty()) {
                id.push(c);
            } else if !id.is_empty() && !id.ends_with('_') {
                id.push('_');
            }
        }
        id.truncate(MOST);
        Self::parse(id.trim_end_matches('_')).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SkillId {
    type Error = BadSkillId;

    fn try_from(text: String) -> Result<Self, BadSkillId> {
        Self::parse(&text)
    }
}

impl From<SkillId> for String {
    fn from(id: SkillId) -> Self {
        id.0.into()
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who says that a tool has a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkillSource {
    Llm,
    Embedding,
    /// A person: nothing but another person, or `force`, changes it.
    Human,
}

impl SkillSource {
    pub const ALL: [Self; 3] = [Self::Llm, Self::Embedding, Self::Human];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Llm => "LLM",
            Self::Embedding => "EMBEDDING",
            Self::Human => "HUMAN",
        }
    }

    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == text)
    }
}

/// What has become of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SuggestionState {
    Pending,
    /// It is a skill now.
    Approved,
    Rejected,
    /// Its tools went to a skill that was there.
    Merged,
}

impl SuggestionState {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Rejected, Self::Merged];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Merged => "MERGED",
        }
    }

    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// A suggestion's own id within one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SuggestionId(pub i64);

impl fmt::Display for SuggestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(SkillId::from_name(name).as_ref().map(SkillId::as_str), expected, "{name}");
    }

    #[test]
    fn an_id_is_lower_case_and_short() {
        for good in ["web_search", "a", "x-2", &"a".repeat(64)] {
            assert_eq!(SkillId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "Web", "2d", "_a", "a b", "é", &"a".repeat(65)] {
            assert!(SkillId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_becomes_an_id() {
        check("Web search", Some("web_search"));
        check("  3D printing & CAD! ", Some("d_printing_cad"));
        check("Überweisung", Some("berweisung"));
        check("搜索", None);
        check(&"ab ".repeat(40), Some(&"ab_".repeat(40)[..64]));
    }

    #[test]
    fn an_id_is_checked_where_it_is_read() {
        assert!(serde_json::from_str::<SkillId>("\"web_search\"").is_ok());
        assert!(serde_json::from_str::<SkillId>("\"Web search\"").is_err());
    }
}
