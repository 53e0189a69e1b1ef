//! How our own tools are described: what can be found is said right there, so that models look for it.

use crate::{CALL_TOOL, SEARCH_TOOLS};
use portolan_catalog::{Snapshot, View};
use portolan_model::{Kind, Tool};
use serde_json::{Value, json};

/// What is said of all servers together, in bytes: every conversation carries it.
const MOST: usize = 1_200;
/// Tools that are named for one server.
const NAMED: usize = 6;

pub(crate) fn search_tools(snapshot: &Snapshot, view: &View) -> Option<Tool> {
    tool(
        SEARCH_TOOLS,
        &json!({
            "name": SEARCH_TOOLS,
            "title": "Find tools",
            "description": description(snapshot, view),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What is to be done, in plain words; several steps may be named at once."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "How many tools are wanted."},
                    "servers": {"type": "array", "items": {"type": "string"}, "description": "Only tools of these servers."},
                    "skills": {"type": "array", "items": {"type": "string"}, "description": "Only tools that have one of these skills."},
                    "include_schemas": {"type": "boolean", "default": false, "description": "Whether whole input schemas are wanted too."},
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "tools": {"type": "array", "items": {"type": "object", "properties": {
                        "name": {"type": "string"},
                        "server": {"type": "string"},
                        "signature": {"type": "string"},
                        "description": {"type": "string"},
                        "score": {"type": "number"},
                        "skills": {"type": "array", "items": {"type": "string"}},
                        "input_schema": {"type": "object"},
                    }, "required": ["name", "server", "signature", "description", "score"]}},
                    "searched": {"type": "integer"},
                    "skills": {"type": "array", "items": {"type": "string"}},
                    "words_only": {"type": "string"},
                },
                "required": ["tools", "searched"],
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false, "title": "Find tools"},
        }),
    )
}

pub(crate) fn call_tool() -> Option<Tool> {
    tool(
        CALL_TOOL,
        &json!({
            "name": CALL_TOOL,
            "title": "Call a tool",
            "description": "Calls a tool that search_tools has found. Its answer is the tool's own; wrong arguments are answered with the tool's schema.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The tool's name as search_tools tells it."},
                    "arguments": {"type": "object", "description": "What the tool's signature asks for."},
                },
                "required": ["name"],
                "additionalProperties": false,
            },
        }),
    )
}

pub(crate) fn tool(name: &str, definition: &Value) -> Option<Tool> {
    let definition = serde_json::value::to_raw_value(definition).ok()?;
    Some(Tool { name: name.into(), definition })
}

/// What is behind it right now: how much, and of which servers with what.
fn description(snapshot: &Snapshot, view: &View) -> String {
    let mut servers: Vec<(&str, Vec<&str>)> = Vec::new();
    for (server, entry) in snapshot.servers().iter().filter(|(server, _)| view.has_server(server)) {
        let tools = entry.offer().map(|offer| offer.tools.as_slice()).unwrap_or_default();
        let seen = tools.iter().map(|tool| &*tool.name).filter(|tool| view.has(Kind::Tools, server, tool));
        let seen: Vec<&str> = seen.collect();
        if !seen.is_empty() {
            servers.push((server.as_str(), seen));
        }
    }
    let tools: usize = servers.iter().map(|(_, tools)| tools.len()).sum();
    let mut text = format!(
        "Finds the right tools among {tools} of {} servers by what they do. Call it first whenever a task may need a tool, then \
         call what it found with {CALL_TOOL}. Servers:",
        servers.len()
    );
    for (at, (server, tools)) in servers.iter().enumerate() {
        let named = tools.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if tools.len() > NAMED { ", …" } else { "" };
        let line = format!("\n- {server} ({}): {named}{more}", tools.len());
        if text.len() + line.len() > MOST {
            let rest: Vec<&str> = servers[at..].iter().map(|(server, _)| *server).collect();
            let rest = rest.join(", ");
            let room = MOST.saturating_sub(text.len());
            let cut = &rest[..rest.floor_char_boundary(room.min(rest.len()))];
            text.push_str("\n- ");
            text.push_str(cut);
            if cut.len() < rest.len() {
                text.push('…');
            }
            break;
        }
        text.push_str(&line);
    }
    text
}
