//! The MCP server that clients see.
