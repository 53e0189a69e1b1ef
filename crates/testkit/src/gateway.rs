//! The real `portolan` binary under test: configured, started, watched and, in any case, ended.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::client::record_lines;
use crate::processes::{self, Process};
use crate::{DEADLINE, HttpClient, Journal, Profile, Record, Rest, StdioClient, bin};

/// What the gateway prints once it can be connected to.
const LISTENING: &str = "listening on http://";

/// How much of its log a failed test shows.
const SHOWN_LOG_LINES: usize = 60;

/// A gateway that is still being set up.
#[derive(Clone)]
pub struct GatewayBuilder {
    directory: Arc<TempDir>,
    config: Value,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    program: Option<PathBuf>,
}

impl GatewayBuilder {
    /// Replaces the whole configuration.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Adds an entry to `mcpServers`.
    #[must_use]
    pub fn server(mut self, name: &str, entry: Value) -> Self {
        self.config["mcpServers"][name] = entry;
        self
    }

    /// Adds a fixture over stdio with these flags; `Gateway::journal` reads what it saw.
    #[must_use]
    pub fn fixture(self, name: &str, flags: &[&str]) -> Self {
        let entry = self.fixture_entry(name, flags);
        self.server(name, entry)
    }

    /// The entry that `fixture` adds, for one that is to be changed before.
    pub fn fixture_entry(&self, name: &str, flags: &[&str]) -> Value {
        fixture_entry(&journal_path(self.directory.path(), name), flags)
    }

    /// What a stdio fixture of that name will see.
    pub fn journal(&self, server: &str) -> Journal {
        Journal::at(journal_path(self.directory.path(), server))
    }

    /// An argument after the testkit's own.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Another program than `portolan`, for a look at how others behave.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// The directory of the configuration, the journals and whatever the test puts there.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts `portolan serve` on a free port and waits until it listens.
    pub async fn serve(self) -> Gateway {
        let mut gateway = self.start_serve();
        let line = gateway.stderr.wait_for("the gateway's address", |line| line.contains(LISTENING)).await;
        let (_, rest) = line.split_once(LISTENING).unwrap();
        let is_address = |c: char| c.is_ascii_alphanumeric() || ".:[]".contains(c);
        gateway.address = rest.chars().take_while(|c| is_address(*c)).collect();
        gateway
    }

    /// Starts `portolan serve` and does not wait: for gateways that are expected to refuse.
    pub fn start_serve(self) -> Gateway {
        let mut first = ["serve", "--listen", "127.0.0.1:0", "--data"].map(OsString::from).to_vec();
        first.push(self.directory.path().join("data").into());
        self.start(&first, Stdio::null(), Stdio::null())
    }

    /// Starts the stdio form, with a client on its pipes that has not said anything yet.
    pub fn stdio(self, profile: Profile) -> (Gateway, StdioClient) {
        let mut gateway = self.start(&[], Stdio::piped(), Stdio::piped());
        let child = &mut gateway.child;
        let client = StdioClient::attach(child.stdin.take().unwrap(), child.stdout.take().unwrap(), profile);
        (gateway, client)
    }

    fn start(self, first: &[OsString], stdin: Stdio, stdout: Stdio) -> Gateway {
        let config = self.directory.path().join("portolan.json");
        std::fs::write(&config, self.config.to_string()).unwrap();
        let program = self.program.clone().unwrap_or_else(|| bin("portolan"));
        let mut command = Command::new(&program);
        command.args(first).arg("--config").arg(&config).args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let stderr = record_lines(child.stderr.take().unwrap());
        let pid = child.id().unwrap();
        Gateway { child, pid, set_up: self, config, address: String::new(), stderr }
    }
}

/// A running gateway. When dropped, it and everything it started is killed.
pub struct Gateway {
    child: Child,
    pid: u32,
    set_up: GatewayBuilder,
    config: PathBuf,
    address: String,
    stderr: Arc<Record<String>>,
}

impl Gateway {
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder {
            directory: Arc::new(tempfile::Builder::new().prefix("portolan-test-").tempdir().unwrap()),
            config: json!({ "mcpServers": {} }),
            arguments: Vec::new(),
            // What tools mean is of no interest to most tests, and takes time to find out.
            environment: vec![("PORTOLAN_SEARCH_EMBEDDINGS".into(), "off".into())],
            program: None,
        }
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The endpoint of all servers.
    pub fn url(&self) -> String {
        self.url_of("/mcp")
    }

    pub fn url_of(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The endpoint of one server by itself.
    pub fn server_url(&self, server: &str) -> String {
        self.url_of(&format!("/servers/{server}/mcp"))
    }

    /// A client of the REST surface.
    pub fn rest(&self) -> Rest {
        Rest::new(&self.address)
    }

    /// A connected client of all servers.
    pub async fn connect(&self) -> HttpClient {
        HttpClient::connect(&self.url()).await
    }

    /// A connected client of one server by itself.
    pub async fn connect_to(&self, server: &str) -> HttpClient {
        HttpClient::connect(&self.server_url(server)).await
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn directory(&self) -> &Path {
        self.set_up.directory()
    }

    /// The folder of its database.
    pub fn data(&self) -> PathBuf {
        self.directory().join("data")
    }

    pub fn config_path(&self) -> &Path {
        &self.config
    }

    /// What a stdio fixture of that name saw.
    pub fn journal(&self, server: &str) -> Journal {
        Journal::at(journal_path(self.directory(), server))
    }

    /// An entry for `rewrite_config` like the one that `GatewayBuilder::fixture` writes.
    pub fn fixture_entry(&self, server: &str, flags: &[&str]) -> Value {
        fixture_entry(&journal_path(self.directory(), server), flags)
    }

    /// Replaces the configuration file in one step, as editors do.
    pub fn rewrite_config(&self, config: &Value) {
        self.rewrite_config_text(&config.to_string());
    }

    /// The same with any text, which need not be JSON.
    pub fn rewrite_config_text(&self, text: &str) {
        let new = self.config.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, &self.config).unwrap();
    }

    /// All lines of its stderr, old and new.
    pub fn stderr(&self) -> &Record<String> {
        &self.stderr
    }

    /// Waits for a line of stderr that holds this text, and returns the line.
    pub async fn stderr_contains(&self, text: &str) -> String {
        self.stderr.wait_for(&format!("{text:?} on stderr"), |line| line.contains(text)).await
    }

    /// Everything alive that it started: descendants, the members of their groups, and whatever carries the
    /// mark of this test in its command line.
    pub fn children(&self) -> Vec<u32> {
        self.family().into_iter().map(|process| process.pid).collect()
    }

    /// The fixtures among its children, those that `--grandchild` started included.
    pub fn fixtures(&self) -> Vec<u32> {
        let is_fixture = |process: &Process| process.command.contains("portolan-fixture");
        self.family().into_iter().filter(is_fixture).map(|process| process.pid).collect()
    }

    fn family(&self) -> Vec<Process> {
        let mut family = processes::family_of(self.pid);
        for process in processes::mentioning(self.directory().to_str().unwrap()) {
            if process.pid != self.pid && !family.contains(&process) {
                family.push(process);
            }
        }
        family
    }

    pub fn signal(&self, signal: Signal) {
        processes::signal(self.pid, signal);
    }

    /// Another one like it, in the same folder and with the configuration as it is written there now.
    pub fn another(&self) -> GatewayBuilder {
        let text = std::fs::read_to_string(&self.config).unwrap();
        self.set_up.clone().config(serde_json::from_str(&text).unwrap())
    }

    /// Ends it in order; what it leaves is a gateway to set up and start in the same folder.
    pub async fn stop(mut self) -> GatewayBuilder {
        self.signal(Signal::TERM);
        let status = self.wait_exit().await;
        assert!(status.success(), "the gateway ended with {status}; stderr: {:#?}", self.stderr.all());
        self.another()
    }

    /// Ends it in order and starts another like it.
    pub async fn restart(self) -> Gateway {
        self.stop().await.serve().await
    }

    /// Kills it, leaves it no time for anything, and starts another like it.
    pub async fn kill_and_restart(mut self) -> Gateway {
        self.signal(Signal::KILL);
        self.wait_exit().await;
        let next = self.another();
        // Whatever it left behind goes with it, before the next one has children of its own.
        drop(self);
        next.serve().await
    }

    pub async fn wait_exit(&mut self) -> ExitStatus {
        let Ok(status) = tokio::time::timeout(DEADLINE, self.child.wait()).await else {
            panic!("the gateway did not exit within {DEADLINE:?}; stderr: {:#?}", self.stderr.all());
        };
        status.unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let family = self.family();
        // Once reaped, its number may be somebody else's.
        if self.child.id().is_some() {
            processes::signal(self.pid, Signal::KILL);
        }
        for process in family {
            processes::signal(process.pid, Signal::KILL);
        }
        if std::thread::panicking() {
            let lines = self.stderr.all();
            eprintln!("--- the gateway's last lines on stderr:");
            for line in &lines[lines.len().saturating_sub(SHOWN_LOG_LINES)..] {
                eprintln!("{line}");
            }
        }
    }
}

fn journal_path(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{server}.journal"))
}

fn fixture_entry(journal: &Path, flags: &[&str]) -> Value {
    let mut arguments = vec!["--journal", journal.to_str().unwrap()];
    arguments.extend(flags);
    json!({ "command": bin("portolan-fixture"), "args": arguments })
}
