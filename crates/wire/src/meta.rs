//! Keys in `_meta`: those that MCP reserves for the protocol itself, and our own.

/// In a list: servers that are still in their first try, whose tools may be missing from it.
pub const PENDING: &str = "portolan/pending";
/// In a list: servers of which only a part is shown, because their own lists have no end or are over a limit.
pub const PARTIAL: &str = "portolan/partial";
/// In `initialize` and `server/discover`: the Portolan that is asking.
pub const VIA: &str = "portolan/via";
/// In their results and in a list for another Portolan: who can be reached through us, ourselves included.
pub const INSTANCES: &str = "portolan/instances";

/// From 2026-07-28 on every request says for itself what a handshake used to settle.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Log messages of this level and above are wanted for this one request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// On a stream of `subscriptions/listen`: the request that opened it.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The extension under which tasks are declared.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// On messages that belong to a task of 2025-11-25.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// What is written anew for each hop and so never passed on.
pub fn is_of_one_hop(key: &str) -> bool {
    matches!(key, PROTOCOL_VERSION | CLIENT_INFO | CLIENT_CAPABILITIES | LOG_LEVEL)
}
