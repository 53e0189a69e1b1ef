//! What people do about skills: their word goes to the store at once, and whoever follows the changes is told.

use super::Sorter;
use super::looks::number;
use crate::anchors::MOST_SKILLS;
use crate::error::SkillError;
use portolan_model::{Moment, SkillId, SkillSource, ToolId};
use portolan_store::{
    Among, Assignment, Overwrite, Page, Settled, SkillRecord, SuggestionRecord, ToolFinder, ToolRecord,
    ToolSkills, Verdict,
};

/// A skill as somebody wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDraft {
    pub id: SkillId,
    pub name: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub examples: Vec<String>,
    pub domain: String,
}

/// What is to change of a skill; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillPatch {
    pub name: Option<String>,
    pub description: Option<String>,
    pub keywords: Option<Vec<String>>,
    pub examples: Option<Vec<String>>,
    pub domain: Option<String>,
}

/// Tells when it goes out of scope, and so when whoever wanted the change leaves before it is done, too.
struct Telling<F: FnMut()>(F);

impl<F: FnMut()> Drop for Telling<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Sorter {
    /// Makes these the skills of a tool, which goes by its id, the first of them its primary one. With none at all the
    /// models decide again.
    pub async fn assign(&self, tool: &str, skills: &[String]) -> Result<(), SkillError> {
        if skills.len() > MOST_SKILLS {
            return Err(SkillError::TooMany { most: MOST_SKILLS });
        }
        let found = self.tool(tool).await?;
        let known = self.skills().await?;
        let mut ids: Vec<SkillId> = Vec::with_capacity(skills.len());
        for key in skills {
            let skill = known.iter().find(|skill| skill.id.as_str() == key);
            let skill = skill.ok_or_else(|| SkillError::NoSuchSkill(key.clone()))?;
            if ids.contains(&skill.id) {
                return Err(SkillError::Twice(skill.id.clone()));
            }
            ids.push(skill.id.clone());
        }
        // Without skills it counts as changed, so that it is looked at again.
        let fingerprint = if ids.is_empty() { String::new() } else { found.fingerprint };
        let assignment = |(rank, skill): (usize, SkillId)| Assignment {
            skill,
            confidence: 1.0,
            source: SkillSource::Human,
            is_primary: rank == 0,
        };
        let assignments = ids.into_iter().enumerate().map(assignment).collect();
        let tool_skills = ToolSkills { tool: found.name, fingerprint, assignments };
        let _telling = Telling(|| {
            self.changed();
            self.discovered(found.server);
        });
        Ok(self.store.assign_skills(found.server, &[tool_skills], Overwrite::Everything).await?)
    }

    async fn tool(&self, key: &str) -> Result<ToolRecord, SkillError> {
        let none = || SkillError::NoSuchTool(key.to_owned());
        let id = number(key).map(ToolId).ok_or_else(none)?;
        let finder = ToolFinder {
            workspace: self.workspace.clone(),
            among: Some(Among::Ids(vec![id])),
            ..ToolFinder::default()
        };
        self.store.tools(&finder, Page::ALL).await?.items.pop().ok_or_else(none)
    }

    /// The skill as it is then.
    pub async fn add_skill(&self, draft: SkillDraft) -> Result<SkillRecord, SkillError> {
        let _one = self.changing.lock().await;
        let skill = self.record(draft);
        let _telling = Telling(|| self.changed());
        if !self.store.add_skill(&skill).await? {
            return Err(SkillError::Exists(skill.id));
        }
        // One that was removed and comes back is a built-in one if it was.
        self.skill(skill.id.as_str()).await
    }

    /// The skill as it is then.
    pub async fn change_skill(&self, key: &str, patch: SkillPatch) -> Result<SkillRecord, SkillError> {
        let _one = self.changing.lock().await;
        let before = self.skill(key).await?;
        let skill = SkillRecord {
            name: patch.name.unwrap_or(before.name),
            description: patch.description.unwrap_or(before.description),
            keywords: patch.keywords.unwrap_or(before.keywords),
            examples: patch.examples.unwrap_or(before.examples),
            domain: patch.domain.unwrap_or(before.domain),
            updated_at: Moment::now(),
            ..before
        };
        let _telling = Telling(|| self.changed());
        if !self.store.change_skill(&skill).await? {
            return Err(SkillError::NoSuchSkill(key.to_owned()));
        }
        Ok(skill)
    }

    /// Takes it from its tools, of which those that have no other are classified anew.
    pub async fn remove_skill(&self, key: &str) -> Result<(), SkillError> {
        let _one = self.changing.lock().await;
        let skill = self.skill(key).await?;
        let _telling = Telling(|| {
            self.changed();
            self.resume();
        });
        if !self.store.remove_skill(&self.workspace, &skill.id).await? {
            return Err(SkillError::NoSuchSkill(key.to_owned()));
        }
        Ok(())
    }

    /// Adds this skill, and the tools that the suggestion is about have it.
    pub async fn approve(&self, key: &str, draft: SkillDraft) -> Result<SuggestionRecord, SkillError> {
        self.conclude(key, Verdict::Approve(Box::new(self.record(draft)))).await
    }

    /// Nothing comes of it, and it is not made again.
    pub async fn reject(&self, key: &str) -> Result<SuggestionRecord, SkillError> {
        self.conclude(key, Verdict::Reject).await
    }

    /// The tools that the suggestion is about have this skill, which is there already.
    pub async fn merge(&self, key: &str, into: &str) -> Result<SuggestionRecord, SkillError> {
        self.conclude(key, Verdict::Merge(self.skill(into).await?.id)).await
    }

    async fn conclude(&self, key: &str, verdict: Verdict) -> Result<SuggestionRecord, SkillError> {
        let _one = self.changing.lock().await;
        let suggestion = self.suggestion(key).await?.id;
        let _telling = Telling(|| self.changed());
        let settled = self.store.settle_suggestion(suggestion, &verdict, Moment::now()).await?;
        let skill = match verdict {
            Verdict::Approve(skill) => Some(skill.id),
            Verdict::Merge(skill) => Some(skill),
            Verdict::Reject => None,
        };
        match (settled, skill) {
            (Settled::Done(record), _) => Ok(record),
            (Settled::Already(state), _) => Err(SkillError::Settled { suggestion: key.to_owned(), state }),
            (Settled::SkillTaken, Some(skill)) => Err(SkillError::Exists(skill)),
            (Settled::NoSuchSkill, Some(skill)) => Err(SkillError::NoSuchSkill(skill.into())),
            // A rejection names no skill that could be in the way.
            (Settled::NoSuchSuggestion | Settled::SkillTaken | Settled::NoSuchSkill, _) => {
                Err(SkillError::NoSuchSuggestion(key.to_owned()))
            }
        }
    }

    /// A skill of people's own, as a row that is there from now on.
    fn record(&self, draft: SkillDraft) -> SkillRecord {
        let now = Moment::now();
        SkillRecord {
            workspace: self.workspace.clone(),
            id: draft.id,
            name: draft.name,
            description: draft.description,
            keywords: draft.keywords,
            examples: draft.examples,
            domain: draft.domain,
            is_built_in: false,
            created_at: now,
            updated_at: now,
        }
    }
}
