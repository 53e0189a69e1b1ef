//! MCP as bytes: envelopes over raw JSON, ids, tokens and names spliced without touching payloads.

pub mod abilities;
pub mod answer;
pub mod discovery;
pub mod envelope;
pub mod era;
pub mod headers;
pub mod json;
pub mod level;
pub mod line;
pub mod meta;
pub mod mirror;
pub mod mrtr;
pub mod params;
pub mod progress;
pub mod project;
pub mod revision;
pub mod sse;
pub mod tasks;
pub mod template;

pub use abilities::Abilities;
pub use envelope::{Incoming, Malformed, Message, Outcome};
pub use revision::Revision;
