//! Tools of Portolan's own: find the right tool, and call it, for models that are not shown them all.

mod call_tool;
mod connector;
mod describe;
mod query;
mod search_tools;
mod signature;

use async_trait::async_trait;
use portolan_agent::tool::NAME;
use portolan_ask::Asker;
use portolan_catalog::{Catalog, View};
use portolan_finder::Finder;
use portolan_model::{Exposure, Tool};
use portolan_query::TOOL_NAME;
use portolan_router::{OwnAnswer, OwnCall, OwnTools, RouteError};
use portolan_wire::params::Params;
use serde_json::Value;
use std::sync::Arc;

pub(crate) const SEARCH_TOOLS: &str = "search_tools";
pub(crate) const CALL_TOOL: &str = "call_tool";

pub struct Builtins {
    pub catalog: Arc<Catalog>,
    pub finder: Arc<Finder>,
    pub asker: Arc<Asker>,
}

#[async_trait]
impl OwnTools for Builtins {
    fn shown(&self, view: &View) -> Vec<Arc<Tool>> {
        let exposure = match view {
            View::Profile(profile) => profile.exposure,
            View::All | View::Server(_) => Exposure::All,
        };
        let asking = || [query::tool(), self.connector_tool(view)];
        let finding = || [describe::search_tools(&self.catalog.snapshot(), view), describe::call_tool()];
        let shown: Vec<Option<Tool>> = match exposure {
            Exposure::All => Vec::new(),
            Exposure::Search => finding().into_iter().chain(asking()).collect(),
            Exposure::Agents => asking().into(),
        };
        shown.into_iter().flatten().map(Arc::new).collect()
    }

    async fn call(&self, call: OwnCall<'_>) -> Option<Result<OwnAnswer, RouteError>> {
        match call.name {
            SEARCH_TOOLS => Some(self.search_tools(&call).await),
            CALL_TOOL => Some(self.call_tool(&call)),
            TOOL_NAME => Some(self.query(&call).await),
            NAME => Some(self.connector(&call).await),
            _ => None,
        }
    }
}

/// The arguments of a call; nothing where there are none.
fn parsed(params: &Params) -> Value {
    serde_json::from_str(params.get("arguments").unwrap_or("{}")).unwrap_or_default()
}

/// A result with the same in text and in structure.
fn result(text: &str, structured: &Value) -> OwnAnswer {
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
