//! What can go wrong when people manage servers; each variant is one thing they can do something about.

use portolan_model::State;
use portolan_store::StoreError;

/// One field of a request that cannot be taken, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldProblem {
    /// The way to it within the body: `["connection_config", "url"]`.
    pub loc: Vec<String>,
    pub msg: String,
}

impl FieldProblem {
    pub fn new(loc: &[&str], msg: impl Into<String>) -> Self {
        Self { loc: loc.iter().map(|part| (*part).to_owned()).collect(), msg: msg.into() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("Server not found: {0}")]
    NoSuchServer(String),
    #[error("Tool not found: {0}")]
    NoSuchTool(String),
    #[error("Secret not found: {0}")]
    NoSuchSecret(String),
    #[error("Server already exists: {0}")]
    NameTaken(String),
    #[error("the request cannot be taken")]
    Invalid(Vec<FieldProblem>),
    /// What was asked needs a session.
    #[error("server {server} is {state}: connect it first")]
    NotConnected { server: String, state: State },
    #[error("server {0} is written in the configuration file: change it there")]
    InFile(String),
    #[error(
        "registering a server that runs a program is switched off here: set `stdio.register = \"on\"`, or write it into \
         the configuration file"
    )]
    StdioOff,
    #[error("{limit} servers are registered, which is the limit (`limits.servers`)")]
    TooMany { limit: usize },
    /// The secret key does not open what is stored.
    #[error("{0}")]
    Sealed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}
