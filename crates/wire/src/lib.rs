//! MCP as bytes: envelopes, codecs, revisions, projection.
