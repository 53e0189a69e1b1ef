//! Files that are newer, damaged or no database at all: refused with their path, and not a byte of them changed.

use super::{crashed, names, opened, server};
use crate::sqlite::SqliteStore;
use crate::{Store, StoreError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A closed database with enough in it to have many pages.
async fn filled() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    fill(&store).await;
    store.close().await;
    folder
}

async fn fill(store: &SqliteStore) {
    store.add_server(&server("github")).await.unwrap();
    for number in 0..50 {
        store.put_setting(&format!("setting {number}"), &[number; 3000]).await.unwrap();
    }
}

/// A folder with this as its database.
fn holding(bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("portolan.db"), bytes).unwrap();
    folder
}

async fn raw(folder: &Path, mode: SqliteJournalMode) -> SqliteConnection {
    let file = folder.join("portolan.db");
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true).journal_mode(mode);
    options.connect().await.unwrap()
}

/// What opening this folder says, after which its database and its WAL are what they were.
async fn refusal(folder: &Path) -> StoreError {
    let bytes =
        || ["portolan.db", "portolan.db-wal"].map(|name| fs::read(folder.join(name)).unwrap_or_default());
    let before = bytes();
    let refusal = SqliteStore::open(folder).await.err().expect("it was opened");
    assert!(before == bytes(), "it was changed: {refusal}");
    // Nor by a second try, now that the first has left its own files beside it.
    SqliteStore::open(folder).await.err().expect("it was opened");
    assert!(before == bytes(), "it was changed: {refusal}");
    refusal
}

async fn check_damaged(folder: &Path, why: &str) {
    let refusal = refusal(folder).await;
    let named = folder.join("portolan.db");
    assert!(matches!(&refusal, StoreError::Damaged { path, .. } if *path == named), "{refusal}");
    let text = refusal.to_string();
    assert!(text.contains(why) && text.contains("restore it from a backup"), "{text}");
}

#[tokio::test]
async fn f56_a_newer_database_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    fill(&store).await;
    let from_the_future =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                           VALUES (99, 'sails', 1, x'00', 0)";
    sqlx::query(from_the_future).execute(&store.writer).await.unwrap();
    // The newer one may have been killed: then the WAL alone knows that it is newer.
    let killed = crashed(folder.path());
    assert!(fs::metadata(killed.path().join("portolan.db-wal")).unwrap().len() > 0);
    store.close().await;
    for folder in [killed, folder] {
        let refusal = refusal(folder.path()).await;
        let named = folder.path().join("portolan.db");
        assert!(matches!(&refusal, StoreError::Newer { path } if *path == named), "{refusal}");
        assert!(refusal.to_string().contains("newer Portolan"), "{refusal}");
    }
}

#[tokio::test]
async fn f56_what_is_no_database_stays_as_it_is() {
    check_damaged(holding(b"# Notes\nnothing here is a database\n").path(), "no SQLite database").await;
    check_damaged(holding(&[0; 8192]).path(), "no SQLite database").await;
    // SQLite itself would take this one for a new database.
    check_damaged(holding(b"S").path(), "its end is missing").await;
}

#[tokio::test]
async fn f56_a_truncated_database_stays_as_it_is() {
    let folder = filled().await;
    let whole = fs::read(folder.path().join("portolan.db")).unwrap();
    assert!(whole.len() > 20 * 4096);
    for kept in [1, 16, 99, 100, 512, 4095, 4096, 8192, whole.len() / 2, whole.len() - 4096, whole.len() - 1]
    {
        check_damaged(holding(&whole[..kept]).path(), "").await;
    }
    assert_eq!(names(&opened(holding(&whole).path()).await).await, ["github"]);
}

#[tokio::test]
async fn f56_a_database_with_a_broken_page_stays_as_it_is() {
    let folder = filled().await;
    let whole = fs::read(folder.path().join("portolan.db")).unwrap();
    let pages = whole.len() / 4096;
    for page in [1, pages / 2, pages - 1] {
        let mut broken = whole.clone();
        broken[page * 4096..(page + 1) * 4096].fill(0xa5);
        check_damaged(holding(&broken).path(), "").await;
    }
}

#[tokio::test]
async fn the_database_of_another_program_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = raw(folder.path(), SqliteJournalMode::Delete).await;
    sqlx::query("CREATE TABLE notes (text TEXT)").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    check_damaged(folder.path(), "another program").await;
}

#[tokio::test]
async fn tables_that_no_release_has_made_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    sqlx::query("UPDATE _sqlx_migrations SET checksum = x'00'").execute(&store.writer).await.unwrap();
    store.close().await;
    check_damaged(folder.path(), "not those of any release").await;
}

#[tokio::test]
async fn an_empty_file_is_a_new_database() {
    let folder = holding(b"");
    let store = opened(folder.path()).await;
    assert_eq!(names(&store).await, [""; 0]);
    store.add_server(&server("github")).await.unwrap();
    store.integrity().await.unwrap();
}

#[tokio::test]
async fn f54_a_first_start_that_was_cut_off_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = raw(folder.path(), SqliteJournalMode::Delete).await;
    // With next to no memory of its own SQLite writes to the file before the end of the transaction.
    sqlx::raw_sql("PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (text TEXT)")
        .execute(&mut db)
        .await
        .unwrap();
    for _ in 0..100 {
        sqlx::query("INSERT INTO half VALUES (hex(randomblob(2000)))").execute(&mut db).await.unwrap();
    }
    let image = tempfile::tempdir().unwrap();
    for name in ["portolan.db", "portolan.db-journal"] {
        fs::copy(folder.path().join(name), image.path().join(name)).unwrap();
    }
    assert!(fs::metadata(image.path().join("portolan.db")).unwrap().len() > 0);
    let store = opened(image.path()).await;
    store.add_server(&server("github")).await.unwrap();
    store.integrity().await.unwrap();
}

#[tokio::test]
async fn a_check_finds_rows_that_belong_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    store.integrity().await.unwrap();
    let orphan =
        "PRAGMA foreign_keys = OFF; INSERT INTO history (server_id, event, at) VALUES ('none', 'ERROR', 1)";
    sqlx::raw_sql(orphan).execute(&mut raw(folder.path(), SqliteJournalMode::Wal).await).await.unwrap();
    let finding = store.integrity().await.unwrap_err();
    assert!(finding.to_string().contains("belongs to a server that is not there"), "{finding}");
}

#[tokio::test]
async fn a_row_that_we_never_wrote_is_damage_and_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    store.add_server(&server("github")).await.unwrap();
    sqlx::query("UPDATE servers SET name = 'Not A Name'").execute(&store.writer).await.unwrap();
    let refusal = store.servers(&portolan_model::Workspace::default()).await.unwrap_err();
    assert!(matches!(&refusal, StoreError::Damaged { .. }), "{refusal}");
    let text = refusal.to_string();
    assert!(text.contains("the name of a server does not read") && !text.contains("Not A Name"), "{text}");
}
