//! Trouble while the store runs: others hold the database, the disk is full, callers give up.

use super::{names, opened, server};
use crate::sqlite::SqliteStore;
use crate::{Page, Store, StoreError, ToolDraft, ToolFinder};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use std::path::Path;
use std::time::Duration;

/// Long enough to be waited for, short enough for a test.
const PATIENCE: Duration = Duration::from_millis(50);

async fn somebody_else(folder: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(folder.join("portolan.db")).connect().await.unwrap()
}

async fn say(db: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(db).await.unwrap();
}

fn drafts(count: usize, text: &str) -> Vec<ToolDraft> {
    let draft = |number| ToolDraft {
        name: format!("tool_{number}"),
        description: None,
        definition: text.repeat(1000),
        fingerprint: text.to_owned(),
    };
    (0..count).map(draft).collect()
}

#[track_caller]
fn check_busy(refusal: &StoreError) {
    assert!(matches!(refusal, StoreError::Busy), "{refusal}");
    assert_eq!(refusal.to_string(), "the database is busy: try again in a moment");
}

#[tokio::test]
async fn f53_a_database_that_another_process_writes_to_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_with_patience(folder.path(), PATIENCE).await.unwrap();
    let known = server("github");
    store.add_server(&known).await.unwrap();
    let mut other = somebody_else(folder.path()).await;
    say(&mut other, "BEGIN EXCLUSIVE").await;
    check_busy(&store.add_server(&server("late")).await.unwrap_err());
    check_busy(&store.put_setting("key", b"value").await.unwrap_err());
    // Whether there is anything to write is decided under the lock, or the other could change it meanwhile.
    check_busy(&store.put_tools(known.id, &[]).await.unwrap_err());
    // Readers do not mind.
    assert_eq!(names(&store).await, ["github"]);
    say(&mut other, "ROLLBACK").await;
    store.add_server(&server("late")).await.unwrap();
    assert_eq!(names(&store).await, ["github", "late"]);
}

#[tokio::test]
async fn f53_whoever_waits_behind_one_that_waits_hears_busy_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_with_patience(folder.path(), PATIENCE).await.unwrap();
    let mut other = somebody_else(folder.path()).await;
    say(&mut other, "BEGIN EXCLUSIVE").await;
    let one = async || store.put_setting("key", b"value").await.unwrap_err();
    let refusals: [StoreError; 4] = tokio::join!(one(), one(), one(), one()).into();
    for refusal in &refusals {
        check_busy(refusal);
    }
    say(&mut other, "COMMIT").await;
    store.put_setting("key", b"value").await.unwrap();
}

#[tokio::test]
async fn f53_a_database_that_another_process_keeps_to_itself_is_busy_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    opened(folder.path()).await.close().await;
    let mut other = somebody_else(folder.path()).await;
    say(
        &mut other,
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE theirs (text TEXT); ROLLBACK",
    )
    .await;
    let refusal = SqliteStore::open_with_patience(folder.path(), PATIENCE).await.err().unwrap();
    check_busy(&refusal);
    drop(other);
    // The other's connection ends on a thread of its own, which an open with the usual patience waits for.
    opened(folder.path()).await.add_server(&server("github")).await.unwrap();
}

#[tokio::test]
async fn readers_do_not_wait_for_our_own_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_with_patience(folder.path(), PATIENCE).await.unwrap();
    let mut writing = store.write().await.unwrap();
    crate::sqlite::servers::add(&mut writing, &server("github")).await.unwrap();
    assert_eq!(names(&store).await, [""; 0]);
    store.ping().await.unwrap();
    store.end(writing, Ok(())).await.unwrap();
    assert_eq!(names(&store).await, ["github"]);
}

#[tokio::test]
async fn a_commit_is_on_the_disk_and_readers_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&store.writer).await.unwrap();
    let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&store.writer).await.unwrap();
    let foreign_keys: i64 = sqlx::query_scalar("PRAGMA foreign_keys").fetch_one(&store.writer).await.unwrap();
    // 2 is FULL.
    assert_eq!((journal.as_str(), synchronous, foreign_keys), ("wal", 2, 1));
    let refusal = sqlx::query("DELETE FROM servers").execute(&store.readers).await.unwrap_err();
    assert_eq!(
        store.told(refusal.into()).to_string(),
        "the database does not answer: its file cannot be written"
    );
}

#[tokio::test]
async fn f55_a_full_disk_refuses_writes_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let known = server("github");
    store.add_server(&known).await.unwrap();
    store.put_tools(known.id, &drafts(3, "small")).await.unwrap();
    let before = store.tools(&ToolFinder::default(), Page::ALL).await.unwrap();
    for round in 0..3 {
        // The database may not grow: to SQLite that is a disk without room.
        sqlx::raw_sql("PRAGMA max_page_count = 1").execute(&store.writer).await.unwrap();
        let refusal = store.put_tools(known.id, &drafts(100, "large")).await.unwrap_err();
        assert!(matches!(refusal, StoreError::Full), "round {round}: {refusal}");
        assert_eq!(names(&store).await, ["github"]);
        assert_eq!(store.tools(&ToolFinder::default(), Page::ALL).await.unwrap(), before);
    }
    sqlx::raw_sql("PRAGMA max_page_count = 1000000").execute(&store.writer).await.unwrap();
    store.put_tools(known.id, &drafts(100, "large")).await.unwrap();
    assert_eq!(store.tools(&ToolFinder::default(), Page::ALL).await.unwrap().total, 100);
    store.integrity().await.unwrap();
}

#[tokio::test]
async fn a_write_that_is_given_up_happens_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let known = server("github");
    store.add_server(&known).await.unwrap();
    let lists = [drafts(20, "one"), drafts(20, "two")];
    store.put_tools(known.id, &lists[1]).await.unwrap();
    for turns in 0..60 {
        let patience = async {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            done = store.put_tools(known.id, &lists[turns % 2]) => { done.unwrap(); }
            () = patience => {}
        }
        let found = store.tools(&ToolFinder::default(), Page::ALL).await.unwrap().items;
        assert!(found.len() == 20 && found.iter().all(|tool| tool.fingerprint == found[0].fingerprint));
    }
    store.put_tools(known.id, &drafts(5, "end")).await.unwrap();
    assert_eq!(store.tools(&ToolFinder::default(), Page::ALL).await.unwrap().total, 5);
    store.integrity().await.unwrap();
}
