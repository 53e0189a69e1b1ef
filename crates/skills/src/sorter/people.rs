//! What people do about skills: their word goes to the store at once, and whoever follows the changes is told.

use super::Sorter;
use crate::anchors::MOST_SKILLS;
use portolan_model::{Moment, ServerId, SkillId, SkillSource, SuggestionId};
use portolan_store::{
    Assignment, Overwrite, Page, Settled, SkillRecord, StoreError, ToolFinder, ToolSkills, Verdict,
};

/// What came of a person's assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assigned {
    Done,
    NoSuchTool,
    NoSuchSkill(SkillId),
    /// A tool has three skills at most.
    TooMany,
    Twice(SkillId),
}

impl Sorter {
    /// Makes these the skills of a tool, the first of them its primary one. With none at all the models decide again.
    pub async fn assign(
        &self,
        server: ServerId,
        tool: &str,
        skills: &[SkillId],
    ) -> Result<Assigned, StoreError> {
        if skills.len() > MOST_SKILLS {
            return Ok(Assigned::TooMany);
        }
        if let Some(twice) = skills.iter().enumerate().find(|(at, skill)| skills[..*at].contains(skill)) {
            return Ok(Assigned::Twice(twice.1.clone()));
        }
        let known = self.store.skills(&self.workspace).await?;
        if let Some(unknown) = skills.iter().find(|skill| known.iter().all(|known| known.id != **skill)) {
            return Ok(Assigned::NoSuchSkill(unknown.clone()));
        }
        let finder = ToolFinder {
            workspace: self.workspace.clone(),
            server: Some(server),
            name: Some(tool.to_owned()),
        };
        let Some(found) = self.store.tools(&finder, Page::ALL).await?.items.pop() else {
            return Ok(Assigned::NoSuchTool);
        };
        let assignment = |(rank, skill): (usize, &SkillId)| Assignment {
            skill: skill.clone(),
            confidence: 1.0,
            source: SkillSource::Human,
            is_primary: rank == 0,
        };
        let tool_skills = ToolSkills {
            tool: found.name,
            // Without skills it counts as changed, so that it is looked at again.
            fingerprint: if skills.is_empty() { String::new() } else { found.fingerprint },
            assignments: skills.iter().enumerate().map(assignment).collect(),
        };
        self.store.assign_skills(server, &[tool_skills], Overwrite::Everything).await?;
        self.changed();
        self.discovered(server);
        Ok(Assigned::Done)
    }

    /// `false` if there is a skill of that id.
    pub async fn add_skill(&self, skill: &SkillRecord) -> Result<bool, StoreError> {
        let done = self.store.add_skill(skill).await?;
        self.changed();
        Ok(done)
    }

    /// `false` if there is none of that id.
    pub async fn change_skill(&self, skill: &SkillRecord) -> Result<bool, StoreError> {
        let done = self.store.change_skill(skill).await?;
        self.changed();
        Ok(done)
    }

    /// Takes it from its tools, of which those that have no other are classified anew; `false` if there is none.
    pub async fn remove_skill(&self, skill: &SkillId) -> Result<bool, StoreError> {
        let done = self.store.remove_skill(&self.workspace, skill).await?;
        self.changed();
        self.resume();
        Ok(done)
    }

    /// Approves, rejects or merges a suggestion.
    pub async fn settle_suggestion(
        &self,
        suggestion: SuggestionId,
        verdict: &Verdict,
    ) -> Result<Settled, StoreError> {
        let settled = self.store.settle_suggestion(suggestion, verdict, Moment::now()).await?;
        self.changed();
        Ok(settled)
    }
}
