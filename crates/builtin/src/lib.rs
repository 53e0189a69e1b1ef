//! Tools of Portolan's own: find the right tool, and call it, for models that are not shown them all.

mod call_tool;
mod describe;
mod search_tools;
mod signature;

use async_trait::async_trait;
use portolan_catalog::{Catalog, View};
use portolan_finder::Finder;
use portolan_model::{Exposure, Tool};
use portolan_router::{OwnAnswer, OwnCall, OwnTools, RouteError};
use std::sync::Arc;

pub(crate) const SEARCH_TOOLS: &str = "search_tools";
pub(crate) const CALL_TOOL: &str = "call_tool";

pub struct Builtins {
    pub catalog: Arc<Catalog>,
    pub finder: Arc<Finder>,
}

#[async_trait]
impl OwnTools for Builtins {
    fn shown(&self, view: &View) -> Vec<Arc<Tool>> {
        match view {
            View::Profile(profile) if profile.exposure != Exposure::All => {
                let search = describe::search_tools(&self.catalog.snapshot(), view);
                [search, describe::call_tool()].into_iter().flatten().map(Arc::new).collect()
            }
            View::All | View::Profile(_) | View::Server(_) => Vec::new(),
        }
    }

    async fn call(&self, call: OwnCall<'_>) -> Option<Result<OwnAnswer, RouteError>> {
        match call.name {
            SEARCH_TOOLS => Some(self.search_tools(&call).await),
            CALL_TOOL => Some(self.call_tool(&call)),
            _ => None,
        }
    }
}

/// A result with the same in text and in structure.
fn result(text: &str, structured: &serde_json::Value) -> OwnAnswer {
    let result = serde_json::json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
    });
    OwnAnswer::Result(result.to_string().into())
}

/// What a model can read and do better with the next time.
fn complaint(text: &str) -> OwnAnswer {
    let result = serde_json::json!({"content": [{"type": "text", "text": text}], "isError": true});
    OwnAnswer::Result(result.to_string().into())
}
