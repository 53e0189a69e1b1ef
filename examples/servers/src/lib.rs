//! Two small MCP servers that need nothing but Rust.
