//! The folder: it is made, it is one store's at a time, and what was acknowledged stays in it.

use super::{crashed, names, opened, server};
use crate::{Store, StoreError};
use std::path::Path;

#[tokio::test]
async fn the_folder_and_those_above_it_are_made() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("share/portolan data?#%20");
    let store = opened(&folder).await;
    store.add_server(&server("github")).await.unwrap();
    store.close().await;
    assert!(folder.join("portolan.db").exists());
    assert_eq!(names(&opened(&folder).await).await, ["github"]);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    for (turn, name) in ["alpha", "beta", "gamma"].into_iter().enumerate() {
        let store = opened(folder.path()).await;
        assert_eq!(names(&store).await, ["alpha", "beta"][..turn]);
        store.add_server(&server(name)).await.unwrap();
        store.put_setting("turn", name.as_bytes()).await.unwrap();
        assert_eq!(names(&opened(crashed(folder.path()).path()).await).await.last().unwrap(), name);
        // One is closed in order, the others are just dropped.
        if turn == 1 {
            store.close().await;
        }
    }
    let store = opened(folder.path()).await;
    assert_eq!(names(&store).await, ["alpha", "beta", "gamma"]);
    assert_eq!(store.setting("turn").await.unwrap().as_deref(), Some(&b"gamma"[..]));
    store.integrity().await.unwrap();
}

#[tokio::test]
async fn closing_leaves_the_database_alone_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    store.add_server(&server("github")).await.unwrap();
    assert_eq!(names(&store).await, ["github"]);
    store.close().await;
    store.close().await;
    let mut left: Vec<_> =
        folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["portolan.db", "portolan.lock"]);
    for refusal in [store.ping().await.unwrap_err(), store.add_server(&server("late")).await.unwrap_err()] {
        assert_eq!(refusal.to_string(), "the database does not answer: it is closed");
    }
}

#[tokio::test]
async fn f57_a_folder_is_one_stores_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    let refusal = super::SqliteStore::open(folder.path()).await.err().unwrap();
    let us = format!("pid {}", std::process::id());
    assert!(
        matches!(&refusal, StoreError::InUse { folder: named, holder } if named == folder.path() && *holder == Some(us)),
        "{refusal}"
    );
    drop(first);
    let second = opened(folder.path()).await;
    second.close().await;
    // A store that is closed frees its folder even while somebody still holds it.
    opened(folder.path()).await;
}

#[tokio::test]
async fn a_lock_file_without_a_name_is_still_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let _store = opened(folder.path()).await;
    std::fs::write(folder.path().join("portolan.lock"), "nobody").unwrap();
    let refusal = super::SqliteStore::open(folder.path()).await.err().unwrap();
    assert!(matches!(refusal, StoreError::InUse { holder: None, .. }), "{refusal}");
}

#[track_caller]
fn check_unusable(refusal: &StoreError, named: &Path) {
    let StoreError::Folder { path, reason } = refusal else { panic!("{refusal}") };
    assert_eq!(path, named);
    assert!(refusal.to_string().contains(&named.display().to_string()) && !reason.is_empty(), "{refusal}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named() {
    let outer = tempfile::tempdir().unwrap();
    let file = outer.path().join("file");
    std::fs::write(&file, "").unwrap();
    for folder in [file.join("within"), file] {
        check_unusable(&super::SqliteStore::open(&folder).await.err().unwrap(), &folder);
    }
    let folder = outer.path().join("taken");
    std::fs::create_dir_all(folder.join("portolan.db")).unwrap();
    check_unusable(&super::SqliteStore::open(&folder).await.err().unwrap(), &folder.join("portolan.db"));
}

/// Nobody can make a file in this folder, not even those whom modes do not stop.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_is_read_only_is_named() {
    let folder = Path::new("/proc/self/fd");
    check_unusable(&super::SqliteStore::open(folder).await.err().unwrap(), folder);
}
