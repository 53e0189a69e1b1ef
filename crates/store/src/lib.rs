//! What survives a restart: one trait, its records, and the database in the data folder.

mod error;
mod records;
pub mod sqlite;
#[cfg(test)]
mod suite;

pub use error::StoreError;
pub use records::{
    AgentDay, AgentTallyRecord, Among, Assignment, AssignmentFinder, AssignmentRecord, ClassificationRecord,
    Curation, EventRecord, HistoryRecord, OpenTool, Overwrite, Page, SecretRecord, ServerRecord, Settled,
    SkillRecord, Slice, SuggestionDraft, SuggestionRecord, ToolDraft, ToolFinder, ToolRecord, ToolSkills,
    ToolsChange, VectorRecord, Verdict,
};
pub use sqlite::{SqliteStore, write_private};

use async_trait::async_trait;
use portolan_model::{Moment, ServerId, SkillId, SuggestionId, SuggestionState, Workspace};

/// Everything that is kept. What a method has returned `Ok` for survives a power cut.
#[async_trait]
pub trait Store: Send + Sync {
    /// Whether it answers at all.
    async fn ping(&self) -> Result<(), StoreError>;

    /// All servers of a workspace, by name.
    async fn servers(&self, workspace: &Workspace) -> Result<Vec<ServerRecord>, StoreError>;
    /// `NameTaken` if the workspace has a server of that name.
    async fn add_server(&self, server: &ServerRecord) -> Result<(), StoreError>;
    /// Writes every field of a known server but its id, workspace, origin and `registered_at`. `NoSuchServer`, or
    /// `NameTaken` if it was to get the name of another.
    async fn change_server(&self, server: &ServerRecord) -> Result<(), StoreError>;
    /// Deletes the server with its tools, curations and history; `false` if there was none.
    async fn remove_server(&self, server: ServerId) -> Result<bool, StoreError>;

    /// Makes these the server's tools, in this order. Those that are there already keep their ids; only what differs is
    /// written. Of two tools of one name the last one holds. `NoSuchServer` if it is gone meanwhile.
    async fn put_tools(&self, server: ServerId, tools: &[ToolDraft]) -> Result<ToolsChange, StoreError>;
    /// Tools in the order of their server's name and then their own place in its list, each with its skills, and how many
    /// there are in all.
    async fn tools(&self, finder: &ToolFinder, page: Page) -> Result<Slice<ToolRecord>, StoreError>;
    /// What people have set for a tool; it outlives the tool's absence and goes with the server. `false` if the server
    /// has no such tool.
    async fn curate(&self, server: ServerId, tool: &str, curation: &Curation) -> Result<bool, StoreError>;
    /// The curations of a server's tools in the order of the tools' own names, those of absent tools included.
    async fn curations(&self, server: ServerId) -> Result<Vec<(String, Curation)>, StoreError>;

    /// Appends to the history; entries of servers that are gone are left out. Each server keeps its latest thousand.
    async fn add_history(&self, entries: &[HistoryRecord]) -> Result<(), StoreError>;
    /// The latest first.
    async fn history(&self, server: ServerId, page: Page) -> Result<Slice<HistoryRecord>, StoreError>;

    /// Appends events under their own ids; the latest thousand are kept. One whose id is there already stays as it is,
    /// so events may be sent again.
    async fn add_events(&self, events: &[EventRecord]) -> Result<(), StoreError>;
    /// All events that are kept, the oldest first.
    async fn events(&self) -> Result<Vec<EventRecord>, StoreError>;

    /// The secrets of a workspace, by name.
    async fn secrets(&self, workspace: &Workspace) -> Result<Vec<SecretRecord>, StoreError>;
    async fn put_secret(&self, secret: &SecretRecord) -> Result<(), StoreError>;
    /// `false` if there was none.
    async fn remove_secret(&self, workspace: &Workspace, name: &str) -> Result<bool, StoreError>;

    /// A value that the program or its people set while it runs.
    async fn setting(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    async fn put_setting(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;

    /// What a model makes of texts, by their hashes; what is not there is left out.
    async fn vectors(&self, model: &str, hashes: &[String]) -> Result<Vec<VectorRecord>, StoreError>;
    /// Keeps them; only so many are, and the oldest go first.
    async fn put_vectors(&self, model: &str, vectors: &[VectorRecord]) -> Result<(), StoreError>;

    /// What connector agents have done, those that never did anything left out.
    async fn agent_tallies(&self) -> Result<Vec<AgentTallyRecord>, StoreError>;
    /// Writes what one has done so far. `NoSuchServer` if it is gone meanwhile.
    async fn put_agent_tally(&self, tally: &AgentTallyRecord) -> Result<(), StoreError>;

    /// The skills of a workspace, by id.
    async fn skills(&self, workspace: &Workspace) -> Result<Vec<SkillRecord>, StoreError>;
    /// Adds those whose ids were never there, and says how many. What people changed or removed stays so.
    async fn add_missing_skills(&self, skills: &[SkillRecord]) -> Result<usize, StoreError>;
    /// `false` if the workspace has a skill of that id.
    async fn add_skill(&self, skill: &SkillRecord) -> Result<bool, StoreError>;
    /// Writes what a skill says; its id, workspace, `is_built_in` and `created_at` stay. `false` if there is none.
    async fn change_skill(&self, skill: &SkillRecord) -> Result<bool, StoreError>;
    /// Takes the skill away from all tools. Where it was the primary one, the next best is; tools that are left without
    /// any are `DISCOVERED` again. `false` if there was none.
    async fn remove_skill(&self, workspace: &Workspace, skill: &SkillId) -> Result<bool, StoreError>;
    /// How many of the tools that servers list now have each skill; skills that none has are left out.
    async fn skill_counts(&self, workspace: &Workspace) -> Result<Vec<(SkillId, u64)>, StoreError>;
    /// How many of the tools that servers list now have any skill.
    async fn classified_tools(&self, workspace: &Workspace) -> Result<u64, StoreError>;

    /// Which tools have which skills, those of absent tools included: by server and tool, the primary skill first, then
    /// by confidence.
    async fn assignments(&self, finder: &AssignmentFinder) -> Result<Vec<AssignmentRecord>, StoreError>;
    /// Makes these the skills of tools of a server, which are `CLASSIFIED` with that, and wait for no suggestion any more if
    /// they have some. A tool that a person has spoken for keeps its skills unless they are to be overwritten.
    /// `NoSuchServer` if it is gone meanwhile.
    async fn assign_skills(
        &self,
        server: ServerId,
        tools: &[ToolSkills],
        overwrite: Overwrite,
    ) -> Result<(), StoreError>;

    /// How far the classification of a server's tools is, or of these among them, by their names; a tool that is not there is `DISCOVERED`.
    async fn classifications(
        &self,
        server: ServerId,
        among: Option<&[String]>,
    ) -> Result<Vec<ClassificationRecord>, StoreError>;
    /// Writes how far it is. `NoSuchServer` if it is gone meanwhile.
    async fn put_classifications(
        &self,
        server: ServerId,
        records: &[ClassificationRecord],
    ) -> Result<(), StoreError>;
    /// The tools that servers list now and that wait for their skills, those with the fewest failed tries first: every one
    /// that is not `CLASSIFIED`, or has changed since. One that a suggestion waits for waits with it.
    async fn open_tools(
        &self,
        workspace: &Workspace,
        server: Option<ServerId>,
        limit: u32,
    ) -> Result<Vec<OpenTool>, StoreError>;

    /// Adds it, or its tools to the one of that name that waits. One of a name that was rejected is not made again.
    async fn suggest(&self, draft: &SuggestionDraft) -> Result<(), StoreError>;
    /// The latest first.
    async fn suggestions(
        &self,
        workspace: &Workspace,
        state: Option<SuggestionState>,
        page: Page,
    ) -> Result<Slice<SuggestionRecord>, StoreError>;
    async fn suggestion(&self, suggestion: SuggestionId) -> Result<Option<SuggestionRecord>, StoreError>;
    /// What a person makes of it. Tools that get a skill by it have it by that person's word.
    async fn settle_suggestion(
        &self,
        suggestion: SuggestionId,
        verdict: &Verdict,
        at: Moment,
    ) -> Result<Settled, StoreError>;
}
