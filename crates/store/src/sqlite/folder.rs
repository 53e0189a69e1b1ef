//! The data folder: private, and one Portolan's at a time.

use super::modes;
use crate::StoreError;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

const LOCK: &str = "portolan.lock";
const DATABASE: &str = "portolan.db";
/// SQLite's own files beside the database. It gives new ones the mode of the database.
const COMPANIONS: [&str; 2] = ["portolan.db-wal", "portolan.db-shm"];

/// A data folder that is ours for as long as this lives, or until it is given back.
pub(super) struct Claim {
    folder: PathBuf,
    /// The system lets go of the lock when the process ends, however it ends.
    lock: File,
}

impl Claim {
    /// Makes the folder if it is missing, keeps others out of it, and takes its lock.
    pub(super) fn on(folder: &Path) -> Result<Self, StoreError> {
        // An absolute path goes on meaning the same folder, and SQLite cannot take it for a URI.
        let folder = std::path::absolute(folder).map_err(|error| unusable(folder, error))?;
        if folder.to_str().is_none() {
            return Err(unusable(&folder, "its path is not UTF-8"));
        }
        create(&folder)?;
        keep_private(&folder);
        let path = folder.join(LOCK);
        let lock = modes::open_file(&path).map_err(|error| unusable(&folder, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { folder, holder: holder(&lock) }),
            Err(TryLockError::Error(error)) => {
                return Err(unusable(&folder, format!("it cannot be locked: {error}")));
            }
        }
        sign(&lock);
        Ok(Self { folder, lock })
    }

    /// The path of the database, which is there after this: empty if it is new, and private in any case.
    pub(super) fn database(&self) -> Result<PathBuf, StoreError> {
        let path = self.folder.join(DATABASE);
        let is_new = !path.exists();
        modes::open_file(&path).map_err(|error| unusable(&path, error))?;
        if is_new {
            modes::sync_folder(&self.folder).map_err(|error| unusable(&self.folder, error))?;
        }
        keep_private(&path);
        for companion in COMPANIONS.map(|name| self.folder.join(name)) {
            if companion.exists() {
                keep_private(&companion);
            }
        }
        Ok(path)
    }

    /// From here on the folder is free for others.
    pub(super) fn give_back(&self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(folder = %self.folder.display(), %error, "the lock of the data folder stays until the end");
        }
    }
}

/// Makes the folder with those above it, in such a way that they are still there after a power cut.
fn create(folder: &Path) -> Result<(), StoreError> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|path| !path.exists()).collect();
    modes::create_folder(folder).map_err(|error| unusable(folder, error))?;
    for parent in missing.iter().filter_map(|path| path.parent()) {
        modes::sync_folder(parent).map_err(|error| unusable(folder, error))?;
    }
    Ok(())
}

/// What cannot be made private is no reason not to start: the files in the folder are private themselves.
fn keep_private(path: &Path) {
    if let Err(error) = modes::keep_others_out(path) {
        tracing::warn!(path = %path.display(), reason = %error, "others may look into it");
    }
}

/// Says in the lock file who holds it. That is a courtesy, and fails without harm on a full disk.
fn sign(mut lock: &File) {
    lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id())).ok();
}

/// Who holds a lock, as far as the file tells.
fn holder(lock: &File) -> Option<String> {
    let mut text = String::new();
    lock.take(32).read_to_string(&mut text).ok()?;
    let pid: u32 = text.trim().parse().ok()?;
    Some(format!("pid {pid}"))
}

fn unusable(path: &Path, reason: impl Display) -> StoreError {
    StoreError::Folder { path: path.to_owned(), reason: reason.to_string() }
}
