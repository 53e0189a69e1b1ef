//! What can go wrong with the store, in words without SQL.

use portolan_model::ServerName;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("Server already exists: {0}")]
    NameTaken(ServerName),
    #[error("the server is not in the store any more")]
    NoSuchServer,
    /// Somebody else holds the database; it may be free in a moment.
    #[error("the database is busy: try again in a moment")]
    Busy,
    #[error("there is no room left on the disk of the data folder: free some, and try again")]
    Full,
    /// Another process works on the same folder.
    #[error("{folder} is in use by another Portolan{}: stop it, or give this one a folder of its own with --data", .holder.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
    InUse { folder: PathBuf, holder: Option<String> },
    #[error(
        "{path} was written by a newer Portolan: start that one, or move the file away to begin with an empty registry"
    )]
    Newer { path: PathBuf },
    #[error(
        "{path} is damaged ({reason}): restore it from a backup, or move it away to begin with an empty registry; it was \
         not changed"
    )]
    Damaged { path: PathBuf, reason: String },
    #[error("the data folder {path} cannot be used: {reason}")]
    Folder { path: PathBuf, reason: String },
    /// Anything else; the text is for the log, and holds no values.
    #[error("the database does not answer: {0}")]
    Unavailable(String),
}
