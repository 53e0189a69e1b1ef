//! Tasks as people would say them, each written from what one tool of the crawl says of itself.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Task {
    /// What the crawl calls the server of the right tool.
    pub(crate) server: String,
    /// The right tool.
    pub(crate) tool: String,
    /// What is searched for, word for word.
    pub(crate) wish: String,
    pub(crate) arguments: Value,
}

pub(crate) fn all() -> Result<Vec<Task>> {
    serde_json::from_str(include_str!("../tasks.json")).context("tasks.json is not as it should be")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tasks_are_of_different_servers_and_do_not_name_their_tools() {
        let tasks = all().unwrap();
        let servers: HashSet<&str> = tasks.iter().map(|task| task.server.as_str()).collect();
        assert_eq!(servers.len(), tasks.len());
        for task in &tasks {
            assert!(!task.wish.contains(&task.tool) && task.arguments.is_object(), "{task:?}");
        }
    }
}
