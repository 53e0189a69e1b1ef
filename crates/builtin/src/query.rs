//! `mcp__proxy__aggregator__query`: one question to many servers.

use crate::{Builtins, parsed, result};
use portolan_ask::Who;
use portolan_model::Tool;
use portolan_query::{DESCRIPTION, INPUT_SCHEMA, OUTPUT_SCHEMA, QueryError, QueryInput, TOOL_NAME};
use portolan_router::{CallError, OwnAnswer, OwnCall, RouteError};
use serde_json::{Value, json};

pub(crate) fn tool() -> Option<Tool> {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    crate::describe::tool(
        TOOL_NAME,
        &json!({
            "name": TOOL_NAME,
            "title": "Ask all servers",
            "description": DESCRIPTION,
            "inputSchema": schema(INPUT_SCHEMA),
            "outputSchema": schema(OUTPUT_SCHEMA),
            // What may change something is never called by it.
            "annotations": {"readOnlyHint": true, "openWorldHint": true, "title": "Ask all servers"},
        }),
    )
}

impl Builtins {
    pub(crate) async fn query(&self, call: &OwnCall<'_>) -> Result<OwnAnswer, RouteError> {
        let input = match QueryInput::read(&parsed(call.params)) {
            Ok(input) => input,
            Err(error) => return Ok(said(&error)),
        };
        let who = Who { view: call.view, caller: call.caller, aside: Some(call.aside) };
        let output = tokio::select! {
            output = self.asker.query(&input, who) => output,
            () = call.aside.cancelled() => return Err(CallError::Cancelled.into()),
        };
        Ok(match output {
            // The seed wants the very structure as text: models of old clients read nothing else.
            Ok(output) => {
                let structured = output.structured();
                result(&structured.to_string(), &structured)
            }
            Err(error) => said(&error),
        })
    }
}

fn said(error: &QueryError) -> OwnAnswer {
    OwnAnswer::Error(error.to_json().to_string().into())
}
