//! What one server offers, as its discovery found it.

use serde_json::value::RawValue;
use std::sync::Arc;

/// A tool as its server defined it. `definition` keeps the server's own bytes.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: Box<str>,
    pub definition: Box<RawValue>,
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.definition.get() == other.definition.get()
    }
}

/// A tool that is not offered, and why, so that people can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub tool: String,
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// In the server's own order.
    pub tools: Vec<Arc<Tool>>,
    pub left_out: Vec<LeftOut>,
    /// The listing was cut short (an endless or repeated cursor, or the cap).
    pub is_partial: bool,
    /// The Portolan instances that this server leads to, itself included; empty for any other program.
    pub instances: Vec<String>,
}
