//! The tool as clients see it: its name, its description and its two schemas.

/// What clients call.
pub const TOOL_NAME: &str = "mcp__proxy__aggregator__query";

pub const DESCRIPTION: &str = "Query multiple MCP servers concurrently and receive ranked, aggregated results optimized for LLM context efficiency.";

/// What a query may say; [`crate::QueryInput::read`] holds it to this.
pub const INPUT_SCHEMA: &str = include_str!("definition/input.json");

/// What an answer says at least. Where there is more to tell (who else had a result, which servers failed and why),
/// an answer has members beside these.
pub const OUTPUT_SCHEMA: &str = include_str!("definition/output.json");
