//! The data folder of a running `serve`: its database, its key, and the note where it can be reached.

use crate::Failure;
use anyhow::{Context as _, anyhow};
use portolan_access::{Key, Vault};
use portolan_config::{Environment, Settings};
use portolan_store::SqliteStore;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where the verbs of a person find a running `serve`.
const NOTE: &str = "serve.json";

/// What a running `serve` leaves in its data folder. It may have ended since without clearing up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) url: String,
    pub(crate) pid: u32,
}

pub(crate) fn folder(settings: &Settings, env: &Environment) -> Result<PathBuf, Failure> {
    portolan_config::data_folder(settings, env).ok_or_else(|| {
        Failure::Wrong(anyhow!("there is no home folder to keep the database in: say where with --data DIR"))
    })
}

/// Opens the database and the vault. Whatever is wrong with them is said before anything is started.
pub(crate) async fn open(
    settings: &Settings,
    env: &Environment,
    folder: &Path,
) -> Result<(SqliteStore, Vault), Failure> {
    let store = SqliteStore::open(folder).await.map_err(|error| Failure::Failed(error.into()))?;
    let key = match portolan_config::secret_key(env) {
        Some(text) => {
            Key::from_text(text.reveal()).map_err(|error| anyhow!("PORTOLAN_SECRET_KEY: {error}"))?
        }
        None => {
            let file =
                portolan_config::key_file(settings, env).context("there is no place for the key file")?;
            let is_sealed = portolan_registry::is_sealed(&store).await;
            if is_sealed.map_err(|error| Failure::Failed(error.into()))? && !file.exists() {
                return Err(Failure::Failed(key_is_gone(&file)));
            }
            Key::load_or_create(&file).map_err(|error| Failure::Failed(error.into()))?
        }
    };
    Ok((store, Vault::new(&key)))
}

/// A new key in its place would open nothing, and hide what is wrong.
fn key_is_gone(file: &Path) -> anyhow::Error {
    anyhow!(
        "the key file {} is gone, and what is sealed in the database cannot be read without it: put it back from a \
         backup, or set PORTOLAN_SECRET_KEY; if it is lost, move the data folder away and begin anew",
        file.display()
    )
}

impl Note {
    /// Leaves the note; without it the verbs need --url, and all else works.
    pub(crate) fn leave(folder: &Path, address: SocketAddr) {
        let note = Self { url: format!("http://{address}"), pid: std::process::id() };
        let written = serde_json::to_string(&note)
            .map_err(std::io::Error::from)
            .and_then(|text| portolan_store::write_private(&folder.join(NOTE), &text));
        if let Err(error) = written {
            tracing::warn!(%error, "the data folder takes no note of the address; the verbs will need --url");
        }
    }

    /// One that cannot be read leads nowhere, which is the same as none.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(NOTE)).ok()?).ok()
    }

    /// A note that stays behind is found stale by whoever follows it.
    pub(crate) fn remove(folder: &Path) {
        std::fs::remove_file(folder.join(NOTE)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serve_has_left_is_read_and_what_cannot_be_read_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Note::read(folder.path()).is_none());
        let file = folder.path().join(NOTE);
        std::fs::write(&file, r#"{"url": "http://127.0.0.1:7777", "pid": 123}"#).unwrap();
        let left = Note::read(folder.path()).unwrap();
        assert_eq!((left.url.as_str(), left.pid), ("http://127.0.0.1:7777", 123));
        std::fs::write(&file, "{").unwrap();
        assert!(Note::read(folder.path()).is_none());
    }
}
