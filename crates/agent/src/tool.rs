//! The tool `query_mcp_connector` as clients are shown it.

use serde_json::{Value, json};

use crate::ask::MOST_TOOLS;

pub const NAME: &str = "query_mcp_connector";

/// Bytes of names.
const LONGEST_NAMES: usize = 400;

const DESCRIPTION: &str = "Execute a query using a specific MCP connector agent. This tool delegates to a dedicated connector agent that will \
     analyze the query, select relevant tools, determine execution order, and synthesize results. Use this when you need \
     capabilities from external MCP connectors like GitHub, Linear, Jira, custom APIs, etc.";

/// Its definition. `connectors` are the names of those that whoever lists it may ask, `usual_tools` the calls that a query may make
/// where nobody says how many.
pub fn definition(connectors: &[&str], usual_tools: u32) -> Value {
    let description = match connectors {
        [] => DESCRIPTION.to_owned(),
        names => format!("{DESCRIPTION} Connectors right now: {}.", listed(names)),
    };
    json!({
        "name": NAME,
        "title": "Ask a connector",
        "description": description,
        "inputSchema": input_schema(usual_tools),
        "outputSchema": output_schema(),
        // What the agent does depends on its server's tools: it may change things, and reaches out.
        "annotations": {
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true,
        },
    })
}

/// As many names as there is room for: every conversation carries them.
fn listed(names: &[&str]) -> String {
    let mut bytes = 0;
    let fits = |name: &&&str| {
        bytes += name.len() + 2;
        bytes <= LONGEST_NAMES
    };
    let shown: Vec<&str> = names.iter().take_while(fits).copied().collect();
    let more = names.len() - shown.len();
    let all = shown.join(", ");
    if more == 0 { all } else { format!("{all} and {more} more") }
}

fn input_schema(usual_tools: u32) -> Value {
    json!({
        "type": "object",
        "properties": {
            "connectorId": {
                "type": "string",
                "description": "External ID of the MCP connector to use: the server's id or its name",
            },
            "query": {
                "type": "string",
                "description": "Detailed query to execute via the connector. Be specific about what information you need \
                                and any constraints.",
            },
            "context": {
                "type": "string",
                "description": "Additional context from previous interactions that might help the connector agent",
            },
            "maxTools": {
                "type": "integer", "minimum": 0, "maximum": MOST_TOOLS, "default": usual_tools,
                "description": "Maximum number of tools the connector agent can use",
            },
            "allowDestructive": {
                "type": "boolean", "default": false,
                "description": "Whether the agent may call tools that destroy something without asking the user",
            },
        },
        "required": ["connectorId", "query"],
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": { "type": "string", "enum": ["success", "error"] },
            "data": { "type": "string", "description": "Synthesized answer from the connector agent" },
            "error": {
                "type": "object",
                "properties": { "code": { "type": "string" }, "message": { "type": "string" }, "details": { "type": "object" } },
                "required": ["code", "message"],
            },
            "metadata": {
                "type": "object",
                "properties": {
                    "connectorId": { "type": "string" },
                    "connectorName": { "type": "string" },
                    "toolsUsed": { "type": "array", "items": { "type": "string" } },
                    "contexts": { "type": "array", "description": "What the tools returned, whole" },
                    "answer": { "type": "string" },
                    "trace": { "type": "array", "items": { "type": "object" }, "description": "The agent's steps" },
                    "model": { "type": ["string", "null"] },
                    "usage": { "type": "object" },
                    "notes": { "type": "array", "items": { "type": "string" } },
                },
                "required": ["connectorId", "connectorName", "toolsUsed", "contexts", "answer"],
            },
        },
        "required": ["status", "data", "metadata"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_names_the_connectors_and_is_a_built_in_s() {
        let tool = definition(&["github", "linear"], 10);
        assert!(tool["description"].as_str().unwrap().ends_with("Connectors right now: github, linear."));
        assert!(definition(&[], 10)["description"].as_str().unwrap().ends_with("custom APIs, etc."));
        assert!(portolan_model::name::BUILT_IN.contains(&tool["name"].as_str().unwrap()));
    }

    #[test]
    fn a_thousand_connectors_are_not_all_named() {
        let names: Vec<String> = (0..1000).map(|n| format!("server-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let tool = definition(&names, 10);
        let description = tool["description"].as_str().unwrap();
        assert!(
            description.len() < DESCRIPTION.len() + 500 && description.contains("server-0"),
            "{description}"
        );
        assert!(description.ends_with(" more."), "{description}");
    }
}
