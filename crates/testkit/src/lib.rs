//! Real scripted MCP servers and recording clients for tests.
