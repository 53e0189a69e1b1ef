//! Logs go to standard error, always: standard output may be carrying MCP.

use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// Starts logging at a level (`info`) or by a filter (`portolan_upstream=debug,info`).
pub fn start(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|e| format!("log filter {filter:?}: {e}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .try_init()
        .map_err(|e| e.to_string())
}
