//! Skills and what belongs to them, as rows.

use portolan_model::{
    Classification, Moment, ServerId, SkillId, SkillSource, SuggestionId, SuggestionState, Workspace,
};

/// Something that tools can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRecord {
    pub workspace: Workspace,
    pub id: SkillId,
    pub name: String,
    pub description: String,
    pub keywords: Vec<String>,
    /// Sentences as servers write them of such tools.
    pub examples: Vec<String>,
    /// The larger field that it is part of.
    pub domain: String,
    /// Of the taxonomy that Portolan begins with.
    pub is_built_in: bool,
    pub created_at: Moment,
    pub updated_at: Moment,
}

/// That a tool has a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub skill: SkillId,
    /// 0 to 1.
    pub confidence: f64,
    pub source: SkillSource,
    pub is_primary: bool,
}

/// An assignment with the tool that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct AssignmentRecord {
    pub server: ServerId,
    pub tool: String,
    pub assignment: Assignment,
}

/// Which assignments are looked for; everything where nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssignmentFinder {
    pub workspace: Workspace,
    pub server: Option<ServerId>,
    pub skill: Option<SkillId>,
}

/// All skills that a tool has from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSkills {
    pub tool: String,
    /// Of the definition that was looked at.
    pub fingerprint: String,
    pub assignments: Vec<Assignment>,
}

/// What happens to what a person has assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Overwrite {
    /// It stays; the tool counts as classified.
    KeepPersons,
    /// It goes, because somebody asked for that.
    Everything,
}

/// How far the classification of a tool is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassificationRecord {
    pub tool: String,
    pub state: Classification,
    /// Of the definition that was looked at.
    pub fingerprint: String,
    /// How often it failed in a row.
    pub tries: u32,
    pub last_error: Option<String>,
}

/// A tool that waits for its skills, with how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTool {
    pub server: ServerId,
    pub tool: String,
    pub state: Classification,
    pub tries: u32,
}

/// A skill that seems to be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestionDraft {
    pub workspace: Workspace,
    pub name: String,
    pub description: String,
    /// The tools that nothing fits.
    pub tools: Vec<(ServerId, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestionRecord {
    pub id: SuggestionId,
    pub workspace: Workspace,
    pub name: String,
    pub description: String,
    pub state: SuggestionState,
    /// The skill that it became or was merged into.
    pub skill: Option<SkillId>,
    pub tools: Vec<(ServerId, String)>,
    pub created_at: Moment,
    pub settled_at: Option<Moment>,
}

/// What a person makes of a suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This skill is added, and the tools have it.
    Approve(Box<SkillRecord>),
    Reject,
    /// The tools have this skill, which is there already.
    Merge(SkillId),
}

/// What came of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    Done(SuggestionRecord),
    NoSuchSuggestion,
    /// Somebody was faster.
    Already(SuggestionState),
    /// There is a skill of the id that it was to get.
    SkillTaken,
    /// There is no skill to merge it into.
    NoSuchSkill,
}
