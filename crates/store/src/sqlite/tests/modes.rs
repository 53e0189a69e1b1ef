//! Modes: what is in the data folder is its owner's alone, from the first moment on.

use super::{opened, server};
use crate::Store;
use crate::sqlite::modes::keep_others_out;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn nobody_else_reads_the_database() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("data");
    let store = opened(&folder).await;
    store.add_server(&server("github")).await.unwrap();
    store.ping().await.unwrap();
    assert_eq!(mode(&folder), 0o700);
    for file in ["portolan.db", "portolan.db-wal", "portolan.db-shm", "portolan.lock"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
}

#[tokio::test]
async fn what_others_may_read_is_taken_from_them() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("data");
    opened(&folder).await.close().await;
    let backup = folder.join("portolan.db");
    set_mode(&folder, 0o755);
    set_mode(&backup, 0o644);
    fs::write(folder.join("portolan.db-wal"), "").unwrap();
    set_mode(&folder.join("portolan.db-wal"), 0o666);
    let store = opened(&folder).await;
    store.add_server(&server("github")).await.unwrap();
    assert_eq!(mode(&folder), 0o700);
    for file in [backup, folder.join("portolan.db-wal")] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_folder_for_everybody_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o1777);
    assert!(keep_others_out(folder.path()).is_err());
    assert_eq!(mode(folder.path()), 0o1777);
    set_mode(folder.path(), 0o2750);
    keep_others_out(folder.path()).unwrap();
    assert_eq!(mode(folder.path()), 0o2700);
}
