//! The verbs of a person at a terminal, run as the real program against a running Portolan.

mod calls;
mod imports;
mod questions;
mod scripted;
mod servers;
mod setup;
mod streams;

use portolan_testkit::{DEADLINE, Gateway, bin};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Somebody with a home of their own, so that nobody's settings and servers are read.
pub(crate) struct Person {
    home: TempDir,
    environment: Vec<(String, String)>,
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Person {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), environment: Vec::new() }
    }

    /// Somebody who talks to this Portolan.
    pub(crate) fn at(gateway: &Gateway) -> Self {
        Self::new().with("PORTOLAN_URL", &gateway.url_of(""))
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(bin("portolan"));
        command.args(arguments).current_dir(self.home.path()).kill_on_drop(true);
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "PORTOLAN_URL"] {
            command.env_remove(name);
        }
        command.env("HOME", self.home.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "").await
    }

    /// Runs a verb with this on its standard input.
    async fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A verb that needs no input may be gone before it is written.
        stdin.write_all(input.as_bytes()).await.unwrap_or_default();
        drop(stdin);
        let ended = tokio::time::timeout(DEADLINE, child.wait_with_output()).await;
        let output = ended.unwrap_or_else(|_| panic!("{arguments:?} does not end")).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a verb that succeeds without a word on stderr; what it printed.
    pub(crate) async fn does(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments).await;
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
        ran.out
    }

    /// The same with `--json`.
    async fn reads(&self, arguments: &[&str]) -> Value {
        let out = self.does(&[arguments, &["--json"]].concat()).await;
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Runs a verb that fails with this code and says this on stderr, and nothing on stdout.
    pub(crate) async fn fails(&self, arguments: &[&str], code: i32, reason: &str) {
        let ran = self.run(arguments).await;
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(reason), "{reason:?} is not in {:?}", ran.err);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The path of the scripted server, to be started by Portolan.
fn fixture() -> String {
    bin("portolan-fixture").to_str().unwrap().to_owned()
}
