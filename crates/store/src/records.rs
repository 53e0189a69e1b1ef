//! The rows, as the rest of the program sees them.

mod agents;
mod skills;

pub use agents::{AgentDay, AgentTallyRecord};
pub use skills::{
    Assignment, AssignmentFinder, AssignmentRecord, ClassificationRecord, OpenTool, Overwrite, Settled,
    SkillRecord, SuggestionDraft, SuggestionRecord, ToolSkills, Verdict,
};

use portolan_model::{Moment, Origin, ServerId, ServerName, SkillId, ToolId, Workspace};

/// A server. How it is reached is sealed: whoever reads the database learns nothing from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRecord {
    pub id: ServerId,
    pub workspace: Workspace,
    pub name: ServerName,
    pub origin: Origin,
    pub description: Option<String>,
    /// Absent for a server of the file: its values stay there.
    pub sealed_spec: Option<Vec<u8>>,
    /// Whether it is meant to be connected.
    pub is_wanted: bool,
    pub registered_at: Moment,
    pub updated_at: Moment,
}

/// A tool as its server lists it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDraft {
    pub name: String,
    pub description: Option<String>,
    /// The server's own bytes.
    pub definition: String,
    /// Of the definition: a tool whose fingerprint is the stored one is not touched.
    pub fingerprint: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolRecord {
    pub id: ToolId,
    pub server: ServerId,
    pub server_name: ServerName,
    pub name: String,
    /// The server's own; a curation's goes before it.
    pub description: Option<String>,
    pub definition: String,
    pub fingerprint: String,
    pub curation: Curation,
    /// The primary one first, then by confidence.
    pub skills: Vec<Assignment>,
    pub first_seen_at: Moment,
    /// When its definition was last another one; `None` if it never was.
    pub changed_at: Option<Moment>,
}

/// What people have set for a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curation {
    pub is_enabled: bool,
    /// Shown instead of the server's own.
    pub description: Option<String>,
}

impl Default for Curation {
    fn default() -> Self {
        Self { is_enabled: true, description: None }
    }
}

/// Which tools are looked for; everything where nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFinder {
    pub workspace: Workspace,
    pub server: Option<ServerId>,
    pub name: Option<String>,
    pub skill: Option<SkillId>,
    pub among: Option<Among>,
}

/// Tools that somebody has at hand, some thousand of them at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Among {
    Ids(Vec<ToolId>),
    Names(Vec<(ServerId, String)>),
}

/// How many tools came, changed and went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolsChange {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// One turn in a server's life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRecord {
    /// Given by the store; 0 until then.
    pub id: i64,
    pub server: ServerId,
    /// `CONNECTING`, `CONNECTED`, `DEGRADED`, `ERROR`, `DISCONNECTED`, …
    pub event: String,
    pub details: Option<String>,
    pub at: Moment,
}

/// Something that happened, as the stream of events tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    pub id: i64,
    /// `server.registered`, `server.status`, …
    pub kind: String,
    /// A JSON object.
    pub data: String,
    pub at: Moment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRecord {
    pub workspace: Workspace,
    pub name: String,
    pub sealed: Vec<u8>,
    pub updated_at: Moment,
}

/// What a text means, as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorRecord {
    /// The fingerprint of the text.
    pub text_hash: String,
    pub vector: Vec<u8>,
}

/// A window on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub offset: u32,
}

impl Page {
    pub const ALL: Self = Self { limit: u32::MAX, offset: 0 };
}

/// What the window shows, and how long the list is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice<T> {
    pub items: Vec<T>,
    pub total: u64,
}
