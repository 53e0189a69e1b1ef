//! The reading half of the journal: what a fixture really saw.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{DEADLINE, POLL};

/// The journal file of one fixture. It may not exist yet: nothing was seen then.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every complete line, messages and events alike.
    pub fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The messages received, in order.
    pub fn messages(&self) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line.get("event").is_none()).collect()
    }

    /// The events of a kind: start, eof, term, grandchild, get, delete, unauthorized, unparsed.
    pub fn events(&self, event: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["event"] == event).collect()
    }

    /// The messages of a method.
    pub fn of(&self, method: &str) -> Vec<Value> {
        self.messages().into_iter().filter(|line| line["method"] == method).collect()
    }

    /// The calls of a tool.
    pub fn calls(&self, tool: &str) -> Vec<Value> {
        self.of("tools/call").into_iter().filter(|line| line["params"]["name"] == tool).collect()
    }

    /// How many times a tool was executed.
    pub fn executions(&self, tool: &str) -> usize {
        self.calls(tool).len()
    }

    pub fn saw(&self, method: &str) -> bool {
        !self.of(method).is_empty()
    }

    /// How many times the server was started.
    pub fn starts(&self) -> usize {
        self.events("start").len()
    }

    /// Polls the file until it satisfies; panics at the deadline with its last lines.
    pub async fn wait_for(&self, what: &str, satisfies: impl Fn(&Self) -> bool) {
        let wait = async {
            while !satisfies(self) {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(DEADLINE, wait).await.is_err() {
            let lines = self.lines();
            let last: Vec<String> = lines
                .iter()
                .rev()
                .take(20)
                .rev()
                .map(|line| line.to_string().chars().take(300).collect())
                .collect();
            panic!("waited {DEADLINE:?} for {what}; the journal ends with:\n{}", last.join("\n"));
        }
    }

    pub async fn wait_for_method(&self, method: &str) {
        self.wait_for(method, |journal| journal.saw(method)).await;
    }

    pub async fn wait_for_executions(&self, tool: &str, count: usize) {
        let what = format!("{count} executions of {tool}");
        self.wait_for(&what, |journal| journal.executions(tool) >= count).await;
    }
}
