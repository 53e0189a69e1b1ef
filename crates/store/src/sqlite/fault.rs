//! From what SQLite says to what callers hear; decided here and nowhere else.

use crate::StoreError;
use portolan_model::ServerName;
use sqlx::migrate::MigrateError;
use std::io;
use std::path::Path;

/// SQLite's primary result codes; the low eight bits of the extended ones.
mod primary {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const NO_MEMORY: i32 = 7;
    pub(super) const READ_ONLY: i32 = 8;
    pub(super) const IO_ERROR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANNOT_OPEN: i32 = 14;
    pub(super) const CONSTRAINT: i32 = 19;
    pub(super) const NOT_A_DATABASE: i32 = 26;
}

/// A UNIQUE constraint other than that of a primary key.
const CONSTRAINT_UNIQUE: i32 = 2067;
/// The shared memory file of the WAL could not grow, which is what a full disk looks like there.
const IO_ERROR_SHM_SIZE: i32 = 4874;

/// Why something in the database was not done.
#[derive(Debug)]
pub(super) enum Fault {
    Database(sqlx::Error),
    /// A row holds what we never wrote; the text says which part of it.
    Row(&'static str),
    /// The database is well, and the answer is no.
    Refused(StoreError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl Fault {
    /// What went wrong with writing a server: its name is the only thing in it that must be nobody else's.
    pub(super) fn of_naming(error: sqlx::Error, name: &ServerName) -> Self {
        match code(&error) {
            Some(CONSTRAINT_UNIQUE) => Self::Refused(StoreError::NameTaken(name.clone())),
            Some(_) | None => Self::Database(error),
        }
    }

    /// In the callers' words; `file` is the database.
    pub(super) fn told(self, file: &Path) -> StoreError {
        match self {
            Self::Database(error) => tell(&error, file),
            Self::Row(part) => damaged(file, format!("{part} does not read")),
            Self::Refused(error) => error,
        }
    }
}

/// What went wrong with bringing the tables up to date.
pub(super) fn tell_migration(error: &MigrateError, file: &Path) -> StoreError {
    if let MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) = error {
        return tell(error, file);
    }
    // The database was looked at before, so this is a mistake in the migrations themselves.
    StoreError::Unavailable("its tables could not be brought up to date".to_owned())
}

pub(super) fn damaged(file: &Path, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { path: file.to_owned(), reason: reason.into() }
}

fn tell(error: &sqlx::Error, file: &Path) -> StoreError {
    if let Some(code) = code(error) {
        return tell_code(code, file);
    }
    if let sqlx::Error::Io(error) = error {
        let is_full = error.kind() == io::ErrorKind::StorageFull;
        return if is_full { StoreError::Full } else { unavailable(error.kind().to_string()) };
    }
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return StoreError::Busy;
    }
    if matches!(error, sqlx::Error::PoolClosed) {
        return unavailable("it is closed");
    }
    if matches!(error, sqlx::Error::ColumnDecode { .. }) {
        return damaged(file, "a row does not read");
    }
    unavailable("its driver failed")
}

fn tell_code(code: i32, file: &Path) -> StoreError {
    if code == IO_ERROR_SHM_SIZE {
        return StoreError::Full;
    }
    match code & 0xff {
        primary::BUSY | primary::LOCKED => StoreError::Busy,
        primary::FULL => StoreError::Full,
        primary::CORRUPT => damaged(file, "its pages do not fit together"),
        primary::NOT_A_DATABASE => damaged(file, "it is no SQLite database"),
        primary::NO_MEMORY => unavailable("there is no memory left"),
        primary::READ_ONLY => unavailable("its file cannot be written"),
        primary::CANNOT_OPEN => unavailable("its file cannot be opened"),
        primary::IO_ERROR => unavailable(format!("the disk fails (SQLite code {code})")),
        primary::CONSTRAINT => unavailable(format!("a rule of its tables is broken (SQLite code {code})")),
        _ => unavailable(format!("SQLite code {code}")),
    }
}

/// SQLite's extended result code.
fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

fn unavailable(reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(told: &StoreError, expected: &str) {
        assert_eq!(told.to_string(), expected);
    }

    #[test]
    fn what_sqlite_says_becomes_what_to_do() {
        let file = Path::new("/data/portolan.db");
        let tell = |code| tell_code(code, file);
        // SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT and SQLITE_LOCKED.
        for busy in [5, 517, 6] {
            check(&tell(busy), "the database is busy: try again in a moment");
        }
        for full in [13, 4874] {
            let expected = "there is no room left on the disk of the data folder: free some, and try again";
            check(&tell(full), expected);
        }
        for (code, reason) in [(11, "its pages do not fit together"), (26, "it is no SQLite database")] {
            let told = tell(code);
            assert!(matches!(&told, StoreError::Damaged { path, .. } if path == file), "{told}");
            assert!(told.to_string().contains(reason), "{told}");
        }
        check(&tell(778), "the database does not answer: the disk fails (SQLite code 778)");
        check(&tell(1), "the database does not answer: SQLite code 1");
    }

    #[test]
    fn what_the_driver_says_becomes_what_to_do() {
        let file = Path::new("/data/portolan.db");
        check(&tell(&sqlx::Error::PoolTimedOut, file), "the database is busy: try again in a moment");
        check(&tell(&sqlx::Error::PoolClosed, file), "the database does not answer: it is closed");
        let full = sqlx::Error::Io(io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(tell(&full, file), StoreError::Full));
        let decode =
            sqlx::Error::ColumnDecode { index: "name".to_owned(), source: "a value of somebody's".into() };
        let told = tell(&decode, file).to_string();
        assert!(told.contains("a row does not read") && !told.contains("somebody"), "{told}");
    }
}
