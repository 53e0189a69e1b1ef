//! MCP as bytes: envelopes over raw JSON, ids, tokens and names spliced without touching payloads.

pub mod answer;
pub mod call;
pub mod discovery;
pub mod envelope;
pub mod json;
pub mod level;
pub mod line;
pub mod meta;
pub mod progress;
pub mod project;
pub mod revision;
pub mod sse;

pub use envelope::{Incoming, Malformed, Message, Outcome};
pub use revision::Revision;
