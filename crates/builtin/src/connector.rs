//! `query_mcp_connector`: a question to one server's agent.

use crate::{Builtins, complaint, parsed};
use portolan_agent::{Ask, tool};
use portolan_ask::Who;
use portolan_catalog::View;
use portolan_model::Tool;
use portolan_router::{CallError, OwnAnswer, OwnCall, RouteError};
use serde_json::json;

impl Builtins {
    pub(crate) fn connector_tool(&self, view: &View) -> Option<Tool> {
        let agents = self.asker.agents(view);
        let names: Vec<&str> = agents.iter().map(|standing| standing.card.name.as_str()).collect();
        crate::describe::tool(tool::NAME, &tool::definition(&names, self.asker.usual_tools()))
    }

    pub(crate) async fn connector(&self, call: &OwnCall<'_>) -> Result<OwnAnswer, RouteError> {
        let ask = match Ask::read(&parsed(call.params)) {
            Ok(ask) => ask,
            Err(wrong) => return Ok(complaint(&wrong.to_string())),
        };
        let who = Who { view: call.view, caller: call.caller, aside: Some(call.aside) };
        let report = self.asker.ask(&ask, who).await;
        if call.aside.is_cancelled() {
            return Err(CallError::Cancelled.into());
        }
        let result = json!({
            "content": [{"type": "text", "text": report.data()}],
            "structuredContent": report,
            "isError": report.failure.is_some(),
        });
        Ok(OwnAnswer::Result(result.to_string().into()))
    }
}
