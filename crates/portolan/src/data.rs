//! The data folder of a running `serve`: its database, its key, and the note where it can be reached.

use crate::Failure;
use anyhow::{Context as _, anyhow};
use portolan_access::{Key, Vault};
use portolan_config::{Environment, Settings};
use portolan_store::SqliteStore;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where the verbs of a person find a running `serve`.
const NOTE: &str = "serve.json";

/// What a running `serve` leaves in its data folder.
#[derive(Debug, Clone, Serialize)]
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
            Key::load_or_create(&file).map_err(|error| Failure::Failed(error.into()))?
        }
    };
    Ok((store, Vault::new(&key)))
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

    /// A note that stays behind is found stale by whoever follows it.
    pub(crate) fn remove(folder: &Path) {
        std::fs::remove_file(folder.join(NOTE)).unwrap_or_default();
    }
}
