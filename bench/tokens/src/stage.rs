//! The gateway with real tools behind it, and a client in each exposure.

use anyhow::{Context, Result, bail, ensure};
use portolan_testkit::{Client as _, Gateway, HttpClient, Profile};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

use crate::corpus::Server;

/// Function names may have no dots (`^[A-Za-z0-9_-]{1,64}$`), so models are shown `server__tool`.
const SETTINGS: &str = r#"
[profiles.all]
exposure = "all"
names = "safe"

[profiles.search]
exposure = "search"
names = "safe"
"#;

/// What a server of tools alone leaves out.
const WITHOUT: &str = "prompts,resources,completions,logging,tasks";

/// Two thousand tools are embedded in half a minute on two cores; on a busy machine it may take several.
const INDEX_LIMIT: Duration = Duration::from_mins(10);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How tools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    All,
    Search,
}

impl Exposure {
    fn profile(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Search => "search",
        }
    }
}

/// A running gateway, whose tools are all listed and embedded.
pub(crate) struct Stage {
    gateway: Gateway,
}

impl Stage {
    /// Starts the gateway (the `portolan` beside this program, unless another is named) over these servers.
    pub(crate) async fn set(servers: &[Server], program: Option<&Path>) -> Result<Self> {
        let mut builder = Gateway::builder().env("PORTOLAN_SEARCH_EMBEDDINGS", "builtin");
        if let Some(program) = program {
            builder = builder.program(program);
        }
        let settings = builder.directory().join("portolan.toml");
        fs::write(&settings, SETTINGS)?;
        builder = builder.arg("--settings").arg(settings);
        for server in servers {
            let file = builder.directory().join(format!("{}.tools.json", server.name));
            fs::write(&file, serde_json::to_vec(&server.tools)?)?;
            let file = file.to_str().context("the folder for temporary files has a name that is no text")?;
            builder = builder.fixture(&server.name, &["--tools-file", file, "--without", WITHOUT]);
        }
        let stage = Self { gateway: builder.serve().await };
        stage.wait_for_index(servers.iter().map(|server| server.tools.len()).sum()).await?;
        Ok(stage)
    }

    async fn wait_for_index(&self, tools: usize) -> Result<()> {
        let (rest, begun) = (self.gateway.rest(), Instant::now());
        loop {
            let state = rest.get("/aggregator/state").await.json(200);
            let (total, unindexed) = (&state["total_tools"], &state["unindexed_tools"]);
            if *total == tools && *unindexed == 0 {
                return Ok(());
            }
            if begun.elapsed() > INDEX_LIMIT {
                bail!(
                    "of {tools} tools {total} are there and {unindexed} not embedded after {INDEX_LIMIT:?}"
                );
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// A client that declares nothing, after its handshake and its list.
    pub(crate) async fn connect(&self, exposure: Exposure) -> Result<Guest> {
        let url = self.gateway.url_of(&format!("/profiles/{}/mcp", exposure.profile()));
        let client = HttpClient::new(&url).profile(Profile::named("portolan-tokens"));
        let welcome = client.initialize().await;
        ensure!(welcome.status == 200, "the handshake failed: {welcome:?}");
        let instructions = welcome.reply["result"]["instructions"].as_str().unwrap_or_default().to_owned();
        let tools = client.tools().await;
        Ok(Guest { client, instructions, tools })
    }

    pub(crate) async fn strike(self) {
        self.gateway.stop().await;
    }
}

/// A client, and what it was shown at the start.
pub(crate) struct Guest {
    client: HttpClient,
    pub(crate) instructions: String,
    pub(crate) tools: Vec<Value>,
}

impl Guest {
    /// The result of a call that must succeed.
    pub(crate) async fn call(&self, name: &str, arguments: &Value) -> Result<Value> {
        let called = self.client.try_call(name, arguments.clone()).await;
        let result = called.map_err(|error| anyhow::anyhow!("{name} was refused: {error}"))?;
        ensure!(result["isError"] != json!(true), "{name} failed: {result}");
        Ok(result)
    }
}
