//! Nouns and pure rules: no tokio, no I/O.

pub mod fingerprint;
pub mod hex;
pub mod lifecycle;
pub mod name;
pub mod offer;
pub mod pattern;
pub mod secret;
pub mod server;

pub use fingerprint::fingerprint;
pub use hex::hex;
pub use lifecycle::{Event, Lifecycle, State};
pub use name::{NameStyle, ToolName};
pub use offer::{LeftOut, Offer, Tool};
pub use pattern::ToolFilter;
pub use secret::Secret;
pub use server::{ChildSpec, Endpoint, RemoteKind, ServerName, ServerSpec, TransportSpec};
