//! The store in the data folder: one SQLite database, one process, nobody else's to read.
//!
//! What is kept when the power goes is decided here. The journal is a WAL with `synchronous = FULL`: a commit returns
//! when its pages are on the disk, and costs one flush. A write is one `BEGIN IMMEDIATE` transaction, so it happens
//! whole or not at all, and finds out at its start whether somebody else is writing. All writes go through one
//! connection: they wait for each other in our own queue, in order, instead of asking SQLite again and again. Readers
//! have connections of their own, never wait for a writer, and see one moment of the database for as long as a method
//! takes. They are opened when they are needed and closed when they idle.
//!
//! A file that we do not understand is looked at by a reader before anything may write to it, and stays as it is.

mod agents;
mod classifications;
mod fault;
mod folder;
mod journal;
mod modes;
mod schema;
mod servers;
mod skills;
mod suggestions;
#[cfg(test)]
mod tests;
mod tools;
mod values;
mod vectors;

pub use modes::write_private;

use crate::{
    AgentTallyRecord, AssignmentFinder, AssignmentRecord, ClassificationRecord, Curation, EventRecord,
    HistoryRecord, OpenTool, Overwrite, Page, SecretRecord, ServerRecord, Settled, SkillRecord, Slice, Store,
    StoreError, SuggestionDraft, SuggestionRecord, ToolDraft, ToolFinder, ToolRecord, ToolSkills,
    ToolsChange, VectorRecord, Verdict,
};
use async_trait::async_trait;
use fault::Fault;
use folder::Claim;
use portolan_model::{Moment, ServerId, SkillId, SuggestionId, SuggestionState, Workspace};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqliteConnection, SqliteTransaction};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A quarter of a MiB a connection instead of two: the system keeps the file in memory anyway, and an idle gateway is to
/// stay small.
const PAGES_IN_MEMORY: &str = "-256";
/// As many different statements as a connection uses again and again.
const STATEMENTS: usize = 16;
/// How many rows are written by one statement: each is a way to the thread of the connection and back.
const ROWS: usize = 100;
/// How long a lock that somebody else holds on the database is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Readers beside the one writer; each is a thread.
const READERS: u32 = 2;
/// After this long without work a reader is closed.
const READER_IDLE: Duration = Duration::from_mins(1);
/// A WAL that one large write has made longer than this is cut back afterwards.
const WAL_BYTES: &str = "4194304";

/// The store of a gateway that runs by itself.
pub struct SqliteStore {
    readers: SqlitePool,
    writer: SqlitePool,
    file: PathBuf,
    /// Let go of after the connections.
    claim: Claim,
}

impl SqliteStore {
    /// Opens the database in this folder, both made where they are missing, and brings its tables up to date.
    ///
    /// `InUse` if another process has it, `Newer` or `Damaged` for a file that is then left as it is, `Folder` for one
    /// that cannot be used.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_with_patience(folder, PATIENCE).await
    }

    async fn open_with_patience(folder: &Path, patience: Duration) -> Result<Self, StoreError> {
        let claim = Claim::on(folder)?;
        let file = claim.database()?;
        let told = |error: sqlx::Error| Fault::from(error).told(&file);
        // Statements are not logged: what is slow shows elsewhere, and SQL is nobody's business.
        let reader = SqliteConnectOptions::new()
            .filename(&file)
            .busy_timeout(patience)
            .pragma("cache_size", PAGES_IN_MEMORY)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        schema::inspect(&file, &reader).await?;
        let writer = pool(1, patience).idle_timeout(None).connect_with(durable(reader.clone()));
        let writer = writer.await.map_err(told)?;
        schema::migrate(&mut *writer.acquire().await.map_err(told)?, &file).await?;
        let readers =
            pool(READERS, patience).idle_timeout(READER_IDLE).connect_lazy_with(reader.read_only(true));
        Ok(Self { readers, writer, file, claim })
    }

    /// Lets what is under way finish, empties the WAL into the database, and frees the folder. Every method fails
    /// afterwards.
    pub async fn close(&self) {
        if self.writer.is_closed() {
            return;
        }
        // The readers first: the last connection tidies up after all, and only the writer may.
        self.readers.close().await;
        let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&self.writer).await;
        if let Err(error) = emptied {
            // Nothing is lost: the next start reads the WAL.
            let error = self.told(error.into());
            tracing::warn!(%error, "the write-ahead log could not be emptied");
        }
        self.writer.close().await;
        self.claim.give_back();
    }

    /// Checks the whole database, which takes its time: `Damaged` if anything in it is not as it should be.
    pub async fn integrity(&self) -> Result<(), StoreError> {
        let mut db = self.readers.acquire().await.map_err(|error| self.told(error.into()))?;
        schema::check_all(&mut db, &self.file).await
    }

    async fn read(&self) -> Result<SqliteTransaction<'static>, StoreError> {
        self.readers.begin().await.map_err(|error| self.told(error.into()))
    }

    async fn write(&self) -> Result<SqliteTransaction<'static>, StoreError> {
        self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.told(error.into()))
    }

    /// Ends a transaction in the way that its work went.
    async fn end<T>(
        &self,
        transaction: SqliteTransaction<'static>,
        work: Result<T, Fault>,
    ) -> Result<T, StoreError> {
        match work {
            Ok(outcome) => {
                transaction.commit().await.map_err(|error| self.told(error.into()))?;
                Ok(outcome)
            }
            Err(fault) => {
                // SQLite may have rolled back by itself; what fails here is what the fault tells anyway.
                transaction.rollback().await.ok();
                Err(self.told(fault))
            }
        }
    }

    fn told(&self, fault: Fault) -> StoreError {
        fault.told(&self.file)
    }
}

/// What makes a connection one that may write.
fn durable(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // On macOS a plain flush stops at the drive's own memory.
        .pragma("fullfsync", "ON")
        .pragma("journal_size_limit", WAL_BYTES)
}

fn pool(connections: u32, patience: Duration) -> PoolOptions<Sqlite> {
    PoolOptions::new()
        .max_connections(connections)
        .max_lifetime(None)
        // Whoever stands behind one that waits for a lock in vain may still find the database free.
        .acquire_timeout(patience * 2)
        // SQLite ends a transaction by itself when the disk is full. sqlx then believes that it goes on, and its
        // connection can begin no other: such a one is replaced.
        .before_acquire(|db: &mut SqliteConnection, _| {
            let is_free = !db.is_in_transaction();
            Box::pin(async move { Ok(is_free) })
        })
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        let answer = sqlx::query("SELECT count(*) FROM sqlite_schema").fetch_one(&self.readers).await;
        answer.map(|_| ()).map_err(|error| self.told(error.into()))
    }

    async fn servers(&self, workspace: &Workspace) -> Result<Vec<ServerRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = servers::all(&mut db, workspace).await;
        self.end(db, found).await
    }

    async fn add_server(&self, server: &ServerRecord) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = servers::add(&mut db, server).await;
        self.end(db, done).await
    }

    async fn change_server(&self, server: &ServerRecord) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = servers::change(&mut db, server).await;
        self.end(db, done).await
    }

    async fn remove_server(&self, server: ServerId) -> Result<bool, StoreError> {
        let mut db = self.write().await?;
        let done = servers::remove(&mut db, server).await;
        self.end(db, done).await
    }

    async fn put_tools(&self, server: ServerId, tools: &[ToolDraft]) -> Result<ToolsChange, StoreError> {
        let mut db = self.write().await?;
        let done = tools::put(&mut db, server, tools).await;
        self.end(db, done).await
    }

    async fn tools(&self, finder: &ToolFinder, page: Page) -> Result<Slice<ToolRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = tools::find(&mut db, finder, page).await;
        self.end(db, found).await
    }

    async fn curate(&self, server: ServerId, tool: &str, curation: &Curation) -> Result<bool, StoreError> {
        let mut db = self.write().await?;
        let done = tools::curate(&mut db, server, tool, curation).await;
        self.end(db, done).await
    }

    async fn curations(&self, server: ServerId) -> Result<Vec<(String, Curation)>, StoreError> {
        let mut db = self.read().await?;
        let found = tools::curations(&mut db, server).await;
        self.end(db, found).await
    }

    async fn add_history(&self, entries: &[HistoryRecord]) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = journal::add_history(&mut db, entries).await;
        self.end(db, done).await
    }

    async fn history(&self, server: ServerId, page: Page) -> Result<Slice<HistoryRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = journal::history(&mut db, server, page).await;
        self.end(db, found).await
    }

    async fn add_events(&self, events: &[EventRecord]) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = journal::add_events(&mut db, events).await;
        self.end(db, done).await
    }

    async fn events(&self) -> Result<Vec<EventRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = journal::events(&mut db).await;
        self.end(db, found).await
    }

    async fn secrets(&self, workspace: &Workspace) -> Result<Vec<SecretRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = values::secrets(&mut db, workspace).await;
        self.end(db, found).await
    }

    async fn put_secret(&self, secret: &SecretRecord) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = values::put_secret(&mut db, secret).await;
        self.end(db, done).await
    }

    async fn remove_secret(&self, workspace: &Workspace, name: &str) -> Result<bool, StoreError> {
        let mut db = self.write().await?;
        let done = values::remove_secret(&mut db, workspace, name).await;
        self.end(db, done).await
    }

    async fn setting(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut db = self.read().await?;
        let found = values::setting(&mut db, key).await;
        self.end(db, found).await
    }

    async fn put_setting(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = values::put_setting(&mut db, key, value).await;
        self.end(db, done).await
    }

    async fn vectors(&self, model: &str, hashes: &[String]) -> Result<Vec<VectorRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = vectors::find(&mut db, model, hashes).await;
        self.end(db, found).await
    }

    async fn put_vectors(&self, model: &str, records: &[VectorRecord]) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = vectors::put(&mut db, model, records).await;
        self.end(db, done).await
    }

    async fn agent_tallies(&self) -> Result<Vec<AgentTallyRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = agents::all(&mut db).await;
        self.end(db, found).await
    }

    async fn put_agent_tally(&self, tally: &AgentTallyRecord) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = agents::put(&mut db, tally).await;
        self.end(db, done).await
    }

    async fn skills(&self, workspace: &Workspace) -> Result<Vec<SkillRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = skills::all(&mut db, workspace).await;
        self.end(db, found).await
    }

    async fn add_missing_skills(&self, records: &[SkillRecord]) -> Result<usize, StoreError> {
        let mut db = self.write().await?;
        let done = skills::add_missing(&mut db, records).await;
        self.end(db, done).await
    }

    async fn add_skill(&self, skill: &SkillRecord) -> Result<bool, StoreError> {
        let mut db = self.write().await?;
        let done = skills::add(&mut db, skill).await;
        self.end(db, done).await
    }

    async fn change_skill(&self, skill: &SkillRecord) -> Result<bool, StoreError> {
        let mut db = self.write().await?;
        let done = skills::change(&mut db, skill).await;
        self.end(db, done).await
    }

    async fn remove_skill(&self, workspace: &Workspace, skill: &SkillId) -> Result<bool, StoreError> {
        let mut db = self.write().await?;
        let done = skills::remove(&mut db, workspace, skill).await;
        self.end(db, done).await
    }

    async fn skill_counts(&self, workspace: &Workspace) -> Result<Vec<(SkillId, u64)>, StoreError> {
        let mut db = self.read().await?;
        let found = classifications::counts(&mut db, workspace).await;
        self.end(db, found).await
    }

    async fn classified_tools(&self, workspace: &Workspace) -> Result<u64, StoreError> {
        let mut db = self.read().await?;
        let found = classifications::classified(&mut db, workspace).await;
        self.end(db, found).await
    }

    async fn assignments(&self, finder: &AssignmentFinder) -> Result<Vec<AssignmentRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = classifications::assignments(&mut db, finder).await;
        self.end(db, found).await
    }

    async fn assign_skills(
        &self,
        server: ServerId,
        tools: &[ToolSkills],
        overwrite: Overwrite,
    ) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = classifications::assign(&mut db, server, tools, overwrite).await;
        self.end(db, done).await
    }

    async fn classifications(
        &self,
        server: ServerId,
        among: Option<&[String]>,
    ) -> Result<Vec<ClassificationRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = classifications::of_server(&mut db, server, among).await;
        self.end(db, found).await
    }

    async fn put_classifications(
        &self,
        server: ServerId,
        records: &[ClassificationRecord],
    ) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = classifications::put(&mut db, server, records).await;
        self.end(db, done).await
    }

    async fn open_tools(
        &self,
        workspace: &Workspace,
        server: Option<ServerId>,
        limit: u32,
    ) -> Result<Vec<OpenTool>, StoreError> {
        let mut db = self.read().await?;
        let found = classifications::open(&mut db, workspace, server, limit).await;
        self.end(db, found).await
    }

    async fn suggest(&self, draft: &SuggestionDraft) -> Result<(), StoreError> {
        let mut db = self.write().await?;
        let done = suggestions::add(&mut db, draft).await;
        self.end(db, done).await
    }

    async fn suggestions(
        &self,
        workspace: &Workspace,
        state: Option<SuggestionState>,
        page: Page,
    ) -> Result<Slice<SuggestionRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = suggestions::find(&mut db, workspace, state, page).await;
        self.end(db, found).await
    }

    async fn suggestion(&self, suggestion: SuggestionId) -> Result<Option<SuggestionRecord>, StoreError> {
        let mut db = self.read().await?;
        let found = suggestions::one(&mut db, suggestion).await;
        self.end(db, found).await
    }

    async fn settle_suggestion(
        &self,
        suggestion: SuggestionId,
        verdict: &Verdict,
        at: Moment,
    ) -> Result<Settled, StoreError> {
        let mut db = self.write().await?;
        let done = suggestions::settle(&mut db, suggestion, verdict, at).await;
        self.end(db, done).await
    }
}
