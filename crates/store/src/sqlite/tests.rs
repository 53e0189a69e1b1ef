//! What holds for SQLite alone, and the suite that holds for every store.

mod folder;
#[cfg(unix)]
mod modes;
mod processes;
mod strangers;
mod trouble;

use super::SqliteStore;
use crate::{ServerRecord, Store};
use portolan_model::{Moment, Origin, ServerId, ServerName, Workspace};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

mod conformance {
    crate::suite::conformance!(super::empty);
}

struct Fresh {
    store: Arc<SqliteStore>,
    _folder: TempDir,
}

impl Fresh {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn settle(self) {
        self.store.integrity().await.unwrap();
        self.store.close().await;
    }
}

async fn empty() -> Fresh {
    let folder = tempfile::tempdir().unwrap();
    Fresh { store: Arc::new(opened(folder.path()).await), _folder: folder }
}

async fn opened(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder).await.unwrap()
}

fn server(name: &str) -> ServerRecord {
    ServerRecord {
        id: ServerId::random(),
        workspace: Workspace::default(),
        name: ServerName::parse(name).unwrap(),
        origin: Origin::Registered,
        description: None,
        sealed_spec: Some(vec![7; 32]),
        is_wanted: true,
        registered_at: Moment::from_millis(1),
        updated_at: Moment::from_millis(2),
    }
}

/// The names of all servers.
async fn names(store: &SqliteStore) -> Vec<String> {
    let servers = store.servers(&Workspace::default()).await.unwrap();
    servers.iter().map(|server| server.name.to_string()).collect()
}

/// The same folder as a power cut would leave it: the database with all that is still in its WAL.
fn crashed(folder: &Path) -> TempDir {
    let image = tempfile::tempdir().unwrap();
    for name in ["portolan.db", "portolan.db-wal"] {
        std::fs::copy(folder.join(name), image.path().join(name)).unwrap();
    }
    image
}
