//! What a client looks at: everything, a part of it, or one server by itself.

use portolan_model::{Kind, Profile, ServerName};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    All,
    /// A part of everything, under the same names.
    Profile(Arc<Profile>),
    /// One server under its own names, as if nobody stood between.
    Server(ServerName),
}

impl View {
    /// The server that is looked at by itself.
    pub fn alone(&self) -> Option<&ServerName> {
        match self {
            Self::Server(server) => Some(server),
            Self::All | Self::Profile(_) => None,
        }
    }

    pub fn has_server(&self, server: &ServerName) -> bool {
        match self {
            Self::All => true,
            Self::Profile(profile) => profile.admits_server(server),
            Self::Server(own) => own == server,
        }
    }

    /// Whether something of a server is in it; profiles choose among tools.
    pub fn has(&self, kind: Kind, server: &ServerName, key: &str) -> bool {
        match self {
            Self::Profile(profile) if kind == Kind::Tools => profile.admits_tool(server, key),
            Self::All | Self::Profile(_) | Self::Server(_) => self.has_server(server),
        }
    }
}
