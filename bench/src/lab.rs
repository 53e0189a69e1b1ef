//! The place where things are measured: the programs, a scratch folder, and how to put them together.

use crate::http_client::{HttpClient, Target};
use crate::pipe_client::PipeClient;
use crate::running::Running;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::process::Command;

/// Ten servers that do nothing at their start are listed long before.
pub const LIST_LIMIT: Duration = Duration::from_secs(30);

pub struct Lab {
    programs: Programs,
    scratch: TempDir,
    pub effort: Effort,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Quick,
    Full,
}

impl Effort {
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// Whether the gateway finds out what tools mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    BuiltIn,
    Off,
}

#[derive(Debug, Clone)]
pub struct Programs {
    pub gateway: PathBuf,
    pub echo: PathBuf,
    pub hop: PathBuf,
}

impl Programs {
    /// Siblings of the running program, unless another gateway is named.
    pub fn find(gateway: Option<&Path>) -> Result<Self> {
        let own = std::env::current_exe().context("where this program is")?;
        let folder = own.parent().context("this program is in no folder")?;
        let sibling = |name: &str| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let programs = Self {
            gateway: gateway.map_or_else(|| sibling("portolan"), Path::to_path_buf),
            echo: sibling("portolan-echo"),
            hop: sibling("portolan-hop"),
        };
        let all = [&programs.gateway, &programs.echo, &programs.hop];
        let missing: Vec<String> =
            all.iter().filter(|path| !path.is_file()).map(|path| format!("  {}", path.display())).collect();
        ensure!(
            missing.is_empty(),
            "not built yet:\n{}\nBuild everything first: cargo build --release --workspace --bins",
            missing.join("\n")
        );
        Ok(programs)
    }
}

/// A program with an address.
pub struct Served {
    pub running: Running,
    pub address: SocketAddr,
}

impl Served {
    pub fn target(&self) -> Result<Arc<Target>> {
        Target::new(self.address)
    }

    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// A server behind the gateway, under the name that the configuration gives it.
pub struct Behind {
    name: String,
    entry: Value,
}

impl Lab {
    pub fn new(programs: Programs, effort: Effort) -> Result<Self> {
        Ok(Self { programs, scratch: tempfile::tempdir()?, effort })
    }

    pub fn gateway_binary(&self) -> &Path {
        &self.programs.gateway
    }

    /// How old the measured binary is: building the harness does not build the gateway.
    pub fn gateway_age(&self) -> String {
        let built = std::fs::metadata(&self.programs.gateway).and_then(|file| file.modified());
        let age = built.ok().and_then(|built| built.elapsed().ok());
        age.map_or_else(|| "of unknown age".to_owned(), |age| format!("built {} min ago", age.as_secs() / 60))
    }

    /// An echo server over HTTP.
    pub async fn echo(&self, options: &[&str]) -> Result<Served> {
        let mut command = Command::new(&self.programs.echo);
        command.args(["http", "--until-eof"]).args(options);
        let (running, address) = Running::start_listener("the echo server", &mut command).await?;
        Ok(Served { running, address })
    }

    /// An echo server over stdio, with no gateway before it.
    pub async fn echo_pipe(&self, options: &[&str]) -> Result<PipeClient> {
        let mut command = Command::new(&self.programs.echo);
        PipeClient::start("the echo server", command.arg("stdio").args(options)).await
    }

    pub async fn hop(&self, to: SocketAddr) -> Result<Served> {
        let mut command = Command::new(&self.programs.hop);
        command.args(["--until-eof", "--to", &to.to_string()]);
        let (running, address) = Running::start_listener("the hop", &mut command).await?;
        Ok(Served { running, address })
    }

    pub fn behind_http(name: &str, at: SocketAddr) -> Behind {
        let entry = json!({ "type": "http", "url": format!("http://{at}/mcp") });
        Behind { name: name.to_owned(), entry }
    }

    pub fn behind_stdio(&self, name: &str, options: &[&str]) -> Behind {
        let args: Vec<&str> = ["stdio"].iter().chain(options).copied().collect();
        let entry = json!({ "command": self.programs.echo, "args": args });
        Behind { name: name.to_owned(), entry }
    }

    /// The gateway with an HTTP front.
    pub async fn gateway(&self, behind: &[Behind]) -> Result<Served> {
        self.gateway_with(behind, Model::BuiltIn).await
    }

    pub async fn gateway_with(&self, behind: &[Behind], model: Model) -> Result<Served> {
        let mut command = self.gateway_command();
        match model {
            Model::BuiltIn => {}
            Model::Off => drop(command.env("PORTOLAN_SEARCH_EMBEDDINGS", "off")),
        }
        command.args(["serve", "--listen", "127.0.0.1:0"]).arg("--config").arg(self.configuration(behind)?);
        // No two gateways may share a folder, and each is to start with an empty one.
        command.arg("--data").arg(tempfile::tempdir_in(self.scratch.path())?.keep());
        let (running, address) = Running::start_listener("the gateway", &mut command).await?;
        Ok(Served { running, address })
    }

    /// The gateway with a stdio front.
    pub async fn gateway_pipe(&self, behind: &[Behind]) -> Result<PipeClient> {
        let mut command = self.gateway_command();
        command.arg("--config").arg(self.configuration(behind)?);
        PipeClient::start("the gateway", &mut command).await
    }

    /// Whatever the gateway keeps for its user goes into the scratch folder, and nothing is found there.
    fn gateway_command(&self) -> Command {
        let mut command = Command::new(&self.programs.gateway);
        command.env("HOME", self.scratch.path()).current_dir(self.scratch.path());
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "RUST_LOG"] {
            command.env_remove(variable);
        }
        command
    }

    fn configuration(&self, behind: &[Behind]) -> Result<PathBuf> {
        let servers: serde_json::Map<String, Value> =
            behind.iter().map(|server| (server.name.clone(), server.entry.clone())).collect();
        let text = serde_json::to_string_pretty(&json!({ "mcpServers": servers }))?;
        // Gateways that run at the same time must not share a file that one of them watches.
        let file = tempfile::Builder::new().suffix(".json").tempfile_in(self.scratch.path())?;
        let (_, path) = file.keep().context("the configuration file")?;
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

/// Waits until so many tools are listed, and returns their names. Ids from 1 on are used up.
pub async fn tools_when(client: &mut HttpClient, count: usize) -> Result<Vec<String>> {
    let end = Instant::now() + LIST_LIMIT;
    let mut seen = 0;
    // Far from the ids of the calls that may follow on this session.
    let mut id = 1_000_000_000;
    while Instant::now() < end {
        let names = client.tools(id).await?;
        if names.len() >= count {
            return Ok(names);
        }
        seen = names.len();
        id += 1000;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bail!("only {seen} of {count} tools were listed within {LIST_LIMIT:?}")
}
