//! What the embedding model reads of a tool and of a server.

use portolan_search::{server_passage, spaced};
use portolan_store::{ServerRecord, ToolRecord};

/// Whoever searches embeds tools as well, and the same text is embedded once: so the text is given from outside.
pub trait Passages: Send + Sync {
    fn tool(&self, tool: &ToolRecord) -> String;

    /// `None` for one that says nothing of itself.
    fn server(&self, server: &ServerRecord) -> Option<String>;
}

/// The words of the name and the description, a person's own if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainPassages;

impl Passages for PlainPassages {
    fn tool(&self, tool: &ToolRecord) -> String {
        format!("{}: {}", spaced(&tool.name), description(tool))
    }

    fn server(&self, server: &ServerRecord) -> Option<String> {
        Some(server_passage(server.name.as_str(), server.description.as_deref()?))
    }
}

pub(crate) fn description(tool: &ToolRecord) -> &str {
    let curated = tool.curation.description.as_deref();
    curated.or(tool.description.as_deref()).unwrap_or_default()
}
