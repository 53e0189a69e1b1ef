//! A server as a query sees it: what it offers, and what people have set about how it is asked.

use crate::error::Reason;
use portolan_model::{Item, Tool};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A server's `portolan.query`: the tool through which it is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaySetting {
    pub tool: String,
    /// The argument that takes the query; found from the schema where there is nothing.
    pub argument: Option<String>,
    /// Arguments that are the same in every call.
    pub arguments: Map<String, Value>,
}

/// Whether a server can be asked at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Ready,
    Away(Reason),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub name: String,
    pub standing: Standing,
    /// Only those that the caller may call.
    pub tools: Vec<Arc<Tool>>,
    pub resources: Vec<Arc<Item>>,
    pub setting: Option<WaySetting>,
    /// Absolute paths that the server's own entry gives it to work on, such as a repository among its arguments: it
    /// knows them already, and some tools can be called with nothing else.
    pub places: Vec<String>,
}

impl Target {
    /// A server that is there and offers nothing.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            standing: Standing::Ready,
            tools: Vec::new(),
            resources: Vec::new(),
            setting: None,
            places: Vec::new(),
        }
    }
}
