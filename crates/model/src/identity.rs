//! Ids that outlive names, the moment something happened, and the tenant that something belongs to.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A server's own id: it stays when the server is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerId(uuid::Uuid);

impl ServerId {
    /// A new one that nobody has.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }
}

impl FromStr for ServerId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        uuid::Uuid::parse_str(text).map(Self)
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A tool's own id within one store: it stays as long as the server goes on offering the tool, whatever its definition
/// becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId(pub i64);

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A tenant. There is one so far.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workspace(Box<str>);

impl Workspace {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self("default".into())
    }
}

impl From<&str> for Workspace {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

/// A moment of the calendar, to the millisecond; written as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    /// Milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.3}"),
            // Beyond the calendar's last year there is nothing better to say.
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_rfc_3339_in_utc() {
        assert_eq!(Moment::from_millis(1_736_330_400_005).to_string(), "2025-01-08T10:00:00.005Z");
        assert_eq!(Moment::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn an_id_reads_back_what_it_shows() {
        let id = ServerId::random();
        assert_eq!(id.to_string().parse::<ServerId>().ok(), Some(id));
        assert!("github".parse::<ServerId>().is_err());
    }
}
