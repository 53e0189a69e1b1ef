//! The taxonomy that Portolan begins with, read from the text beside this file.

use portolan_model::{Moment, SkillId, Workspace};
use portolan_store::SkillRecord;
use serde::Deserialize;

const TEXT: &str = include_str!("taxonomy.toml");

#[derive(Debug, thiserror::Error)]
#[error("the taxonomy does not read: {0}")]
pub struct TaxonomyError(#[from] toml::de::Error);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taxonomy {
    pub background: Background,
    #[serde(rename = "skill")]
    skills: Vec<Entry>,
}

/// What is said of any tool and any server, whatever it does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    pub tools: Vec<String>,
    pub servers: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: SkillId,
    name: String,
    domain: String,
    description: String,
    keywords: Vec<String>,
    examples: Vec<String>,
}

impl Taxonomy {
    pub fn built_in() -> Result<Self, TaxonomyError> {
        Ok(toml::from_str(TEXT)?)
    }

    /// Its skills as rows that are there from this moment on.
    pub fn skills(&self, workspace: &Workspace, at: Moment) -> Vec<SkillRecord> {
        let record = |entry: &Entry| SkillRecord {
            workspace: workspace.clone(),
            id: entry.id.clone(),
            name: entry.name.clone(),
            description: entry.description.clone(),
            keywords: entry.keywords.clone(),
            examples: entry.examples.clone(),
            domain: entry.domain.clone(),
            is_built_in: true,
            created_at: at,
            updated_at: at,
        };
        self.skills.iter().map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_built_in_taxonomy_reads_and_every_skill_says_what_it_is() {
        let taxonomy = Taxonomy::built_in().unwrap();
        let skills = taxonomy.skills(&Workspace::default(), Moment::from_millis(1));
        assert!((25..=40).contains(&skills.len()), "{}", skills.len());
        let ids: BTreeSet<_> = skills.iter().map(|skill| &skill.id).collect();
        let names: BTreeSet<_> = skills.iter().map(|skill| &skill.name).collect();
        assert_eq!((ids.len(), names.len()), (skills.len(), skills.len()));
        for skill in &skills {
            assert!(skill.is_built_in && !skill.domain.is_empty(), "{}", skill.id);
            assert!(skill.description.ends_with('.'), "{}", skill.id);
            assert!(skill.keywords.len() >= 5 && skill.examples.len() >= 3, "{}", skill.id);
        }
        assert!(!taxonomy.background.tools.is_empty() && !taxonomy.background.servers.is_empty());
    }
}
