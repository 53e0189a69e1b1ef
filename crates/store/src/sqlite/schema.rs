//! The tables: what brings them up to date, and whether a file is one that we may touch.

use super::fault::{self, Fault};
use crate::StoreError;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr as _, SqliteConnection};
use std::path::Path;

const REGISTRY: &str = include_str!("../../migrations/0001_registry.sql");
const VECTORS: &str = include_str!("../../migrations/0002_vectors.sql");
const SKILLS: &str = include_str!("../../migrations/0003_skills.sql");
const AGENTS: &str = include_str!("../../migrations/0004_agents.sql");

/// All migrations, the oldest first.
fn migrations() -> Migrator {
    let one = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(vec![
        one(1, "registry", REGISTRY),
        one(2, "vectors", VECTORS),
        one(3, "skills", SKILLS),
        one(4, "agents", AGENTS),
    ])
}

pub(super) async fn migrate(db: &mut SqliteConnection, file: &Path) -> Result<(), StoreError> {
    migrations().run(db).await.map_err(|error| fault::tell_migration(&error, file))
}

/// Looks at a database before anything may write to it: one that is newer, damaged or somebody else's stays as it is.
pub(super) async fn inspect(file: &Path, options: &SqliteConnectOptions) -> Result<(), StoreError> {
    let told = |error: sqlx::Error| Fault::from(error).told(file);
    // A reader writes nothing back when it leaves, where a writer would empty the WAL into the file. Only if we ended in
    // the very first moment of a new database there is a journal, which a writer alone can undo.
    let has_journal = file.with_extension("db-journal").exists();
    let mut db = options.clone().read_only(!has_journal).connect().await.map_err(told)?;
    let verdict = judge(&mut db, file).await;
    db.close().await.map_err(told)?;
    verdict
}

async fn judge(db: &mut SqliteConnection, file: &Path) -> Result<(), StoreError> {
    let told = |error: sqlx::Error| Fault::from(error).told(file);
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .fetch_all(&mut *db)
        .await
        .map_err(told)?;
    if tables.iter().any(|table| table == "_sqlx_migrations") {
        let applied: Vec<(i64, Vec<u8>)> = sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations")
            .fetch_all(&mut *db)
            .await
            .map_err(told)?;
        recognise(&applied, file)?;
    } else if !tables.is_empty() {
        return Err(fault::damaged(file, "it is the database of another program"));
    }
    let page: i64 = sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut *db).await.map_err(told)?;
    if is_cut_off(file, page.cast_unsigned()) {
        return Err(fault::damaged(file, "its end is missing"));
    }
    check(db, "PRAGMA quick_check(1)", file).await
}

/// Whether the last page is not all there. With a WAL that is no loss: it holds the page still.
fn is_cut_off(file: &Path, page: u64) -> bool {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    length(&file.with_extension("db-wal")) == 0 && !length(file).is_multiple_of(page)
}

/// Whether the migrations that were applied are ones that we have.
fn recognise(applied: &[(i64, Vec<u8>)], file: &Path) -> Result<(), StoreError> {
    let known = migrations();
    for (version, checksum) in applied {
        match known.iter().find(|migration| migration.version == *version) {
            None => return Err(StoreError::Newer { path: file.to_owned() }),
            Some(migration) if *migration.checksum != **checksum => {
                return Err(fault::damaged(file, "its tables are not those of any release"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Everything that SQLite itself can find: broken pages and indexes, and rows that point nowhere.
pub(super) async fn check_all(db: &mut SqliteConnection, file: &Path) -> Result<(), StoreError> {
    check(db, "PRAGMA integrity_check(1)", file).await?;
    let orphan = sqlx::query("PRAGMA foreign_key_check")
        .fetch_optional(db)
        .await
        .map_err(|error| Fault::from(error).told(file))?;
    match orphan {
        Some(_) => Err(fault::damaged(file, "a row belongs to a server that is not there")),
        None => Ok(()),
    }
}

/// Runs one of SQLite's checks, which answer `ok` or tell what they found.
async fn check(db: &mut SqliteConnection, pragma: &'static str, file: &Path) -> Result<(), StoreError> {
    let finding: String =
        sqlx::query_scalar(pragma).fetch_one(db).await.map_err(|error| Fault::from(error).told(file))?;
    if finding == "ok" {
        return Ok(());
    }
    // Its first line is a heading where there are several.
    let finding = finding.lines().last().unwrap_or_default();
    Err(fault::damaged(file, format!("SQLite finds: {finding}")))
}
