//! A fixture that runs by itself over HTTP, for a gateway to connect to.

use std::process::Stdio;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::client::record_lines;
use crate::{DEADLINE, Journal, Record, bin, processes};

/// A running `portolan-fixture` of an HTTP kind. Killed when dropped.
pub struct Fixture {
    child: Child,
    pid: u32,
    url: String,
    kind: &'static str,
    journal: Journal,
    stderr: Arc<Record<String>>,
    _directory: TempDir,
}

impl Fixture {
    /// Streamable HTTP, with more flags.
    pub async fn http(flags: &[&str]) -> Self {
        Self::start("http", flags).await
    }

    /// HTTP+SSE, with more flags.
    pub async fn sse(flags: &[&str]) -> Self {
        Self::start("sse", flags).await
    }

    async fn start(kind: &'static str, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::at(directory.path().join("fixture.journal"));
        let mut command = Command::new(bin("portolan-fixture"));
        command.args(["--transport", kind, "--journal"]).arg(journal.path()).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdout = record_lines(child.stdout.take().unwrap());
        let stderr = record_lines(child.stderr.take().unwrap());
        let line =
            stdout.wait_for("the address of the fixture", |line| line.starts_with("listening on ")).await;
        let url = line.trim_start_matches("listening on ").to_owned();
        let pid = child.id().unwrap();
        Self { child, pid, url, kind, journal, stderr, _directory: directory }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Starting another with `--port` of this one takes its place after it was stopped.
    pub fn port(&self) -> u16 {
        self.url.parse::<http::Uri>().unwrap().port_u16().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    pub fn stderr(&self) -> &Record<String> {
        &self.stderr
    }

    /// This server as an entry of `mcpServers`.
    pub fn entry(&self) -> Value {
        json!({ "type": self.kind, "url": self.url })
    }

    /// Kills it and waits until it is gone; its port is free then.
    pub async fn stop(&mut self) {
        processes::signal(self.pid, Signal::KILL);
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        ended.expect("a killed fixture ends").unwrap();
    }
}
