//! What a server is: its name, how it is reached, and what people set for it.

use crate::pattern::ToolFilter;
use crate::query_way::QueryWay;
use crate::secret::Secret;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The name of a server: `^[a-z][a-z0-9_-]*$`, at most 255 characters. It holds no dot and no colon, so the
/// first of those in a tool's full name always ends it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "server name {0:?} is not usable: names start with a lower-case letter, go on with lower-case letters, \
     digits, `-` or `_`, and have at most 255 characters"
)]
pub struct BadServerName(pub String);

impl ServerName {
    pub const MAX_LEN: usize = 255;

    pub fn parse(text: &str) -> Result<Self, BadServerName> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        let rest_is_fine = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
            && text.len() <= Self::MAX_LEN;
        if starts_well && rest_is_fine { Ok(Self(text.into())) } else { Err(BadServerName(text.to_owned())) }
    }

    /// The nearest usable name to a key that another program allowed (`My Server` → `my-server`), if there is one.
    pub fn nearest(key: &str) -> Option<Self> {
        let mut name: String = key
            .trim()
            .chars()
            .map(|c| match c.to_ascii_lowercase() {
                c @ ('a'..='z' | '0'..='9' | '-' | '_') => c,
                _ => '-',
            })
            .collect();
        let start = name.find(|c: char| c.is_ascii_lowercase())?;
        name.drain(..start);
        name.truncate(Self::MAX_LEN);
        Self::parse(name.trim_end_matches('-')).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl std::borrow::Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A server as people wrote it down. Values are not expanded here: `${TOKEN}` stays `${TOKEN}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub name: ServerName,
    pub transport: TransportSpec,
    pub description: Option<String>,
    /// The limit of one call; the general one where absent.
    pub timeout: Option<Duration>,
    pub tools: ToolFilter,
    /// Where to ask whether the server is well; without it the session itself is asked.
    pub health_check_url: Option<Secret>,
    pub sharing: Sharing,
    /// How a query asks the server; without it the best safe way is found for each query.
    pub query: Option<QueryWay>,
    pub origin: Origin,
}

/// Who shares a session with whom, for a server that wants a handshake: what it may ask of its client it learns there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// Clients that declare the same share a session.
    #[default]
    Pooled,
    /// All share one, and nobody can be asked anything.
    Shared,
    /// Clients that can be asked something share with nobody.
    PerClient,
}

impl Sharing {
    pub const ALL: [Self; 3] = [Self::Pooled, Self::Shared, Self::PerClient];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pooled => "pooled",
            Self::Shared => "shared",
            Self::PerClient => "per_client",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sharing| sharing.as_str() == text)
    }
}

/// Who wrote a server down; that decides whose values it may read and how far its addresses are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The operator's own file: reads the environment, and may point anywhere.
    File,
    /// A caller of the REST surface: reads the secret store, and its addresses stand under the policy.
    Registered,
}

impl Origin {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "FILE",
            Self::Registered => "REGISTERED",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportSpec {
    Stdio { command: String, args: Vec<Secret>, env: BTreeMap<String, Secret>, cwd: Option<String> },
    Remote { kind: RemoteKind, url: Secret, headers: BTreeMap<String, Secret> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    Http,
    Sse,
    /// Nobody said: Streamable HTTP is tried first, HTTP+SSE after.
    Detect,
}

/// A server's address with every value expanded, made when a session starts and dropped with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Child(ChildSpec),
    Remote { kind: RemoteKind, url: Secret, headers: BTreeMap<String, Secret>, origin: Origin },
}

/// Where a server is, with every value expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub endpoint: Endpoint,
    pub health_check_url: Option<Secret>,
}

/// A program to start. `env` is its whole environment: nothing is inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSpec {
    pub command: String,
    pub args: Vec<Secret>,
    pub env: BTreeMap<String, Secret>,
    pub cwd: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn br_001_names_are_lower_case_start_with_a_letter_and_end_at_255() {
        for good in ["a", "github", "my-server_2", &"a".repeat(255)] {
            assert!(ServerName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "A", "a.b", "a:b", "a b", "-a", "é", &"a".repeat(256)] {
            assert!(ServerName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_nearest_name_keeps_what_it_can() {
        let near = |key| ServerName::nearest(key).map(|n| n.to_string());
        assert_eq!(near("GitHub").as_deref(), Some("github"));
        assert_eq!(near("My Server!").as_deref(), Some("my-server"));
        assert_eq!(near("@acme/tools").as_deref(), Some("acme-tools"));
        assert_eq!(near("42"), None);
    }
}
