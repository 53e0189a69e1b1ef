//! A call with no Portolan running: one lives for as long as the call, with the servers that it needs.

use super::arguments::Given;
use super::show;
use crate::shutdown::{self, Signals};
use crate::terminal::cli::CallArgs;
use crate::terminal::screen::Screen;
use crate::{Failure, terminal, wire_up};
use anyhow::{Context as _, anyhow};
use portolan_config::{ConfigErrors, Environment, Flags, NamesSetting, Servers, Settings};
use portolan_model::{ServerName, name};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// What lies between the two ends of the conversation at most.
const PIPE: usize = 64 * 1024;

pub(super) fn run(args: &CallArgs, config: &Path, given: &Given) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let flags = Flags { config: Some(config.to_owned()), ..args.shared.flags() };
    let settings = terminal::settings(&flags, &env)?;
    let mut servers = wire_up::servers(config, &settings)?;
    narrow(&mut servers, args)?;
    let problems = portolan_config::check_variables(&servers, &env);
    if !problems.is_empty() {
        return Err(Failure::Wrong(ConfigErrors { path: config.to_owned(), problems }.into()));
    }
    let settings = Settings {
        // The list of tools waits until every server has come or failed.
        list_wait: settings.limits.connect_timeout,
        names: NamesSetting::Dot,
        ..settings
    };
    let screen = Screen::new(args.shared.json);
    terminal::run(async {
        let gateway = wire_up::of_file(settings, env, config)?;
        let mut signals = Signals::new().and_then(Signals::with_hangup).context("signals cannot be heard")?;
        gateway.apply(servers.specs).await;
        let (near, far) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        let serving = portolan_front::stdio::serve(gateway.front.clone(), input, output);
        let mut serving = std::pin::pin!(serving);
        let calling = screen.during(format!("calling {}", args.tool), call(near, args, given));
        // Once the call is over our end of the conversation is closed, so that the other one ends too.
        let result = tokio::select! {
            result = calling => {
                shutdown::end(&gateway, &mut signals, serving).await;
                result?
            }
            () = &mut serving => {
                shutdown::end(&gateway, &mut signals, async {}).await;
                return Err(cut_short());
            }
            () = signals.next() => {
                shutdown::end(&gateway, &mut signals, serving).await;
                return Err(Failure::Failed(anyhow!("given up")));
            }
        };
        let read: Value = serde_json::from_str(result.get()).context("the answer is no JSON")?;
        show(&screen, &args.tool, result.get(), &read)
    })
}

/// Leaves only the server that the tool is said to belong to; a tool that is named by itself may be anybody's.
fn narrow(servers: &mut Servers, args: &CallArgs) -> Result<(), Failure> {
    let known = |name: &str| servers.specs.iter().any(|spec| spec.name.as_str() == name);
    let only: Option<String> = match (&args.server, name::split(&args.tool)) {
        (Some(server), _) if known(server) => Some(server.clone()),
        (Some(server), _) => {
            let names: Vec<&str> = servers.specs.iter().map(|spec| spec.name.as_str()).collect();
            return Err(Failure::Wrong(anyhow!(
                "no server is called {server}: there are {}",
                names.join(", ")
            )));
        }
        (None, Some((server, _))) => Some(server.to_string()).filter(|server| known(server)),
        (None, None) => None,
    };
    if let Some(only) = only {
        servers.specs.retain(|spec| spec.name.as_str() == only);
    }
    Ok(())
}

/// The tool's full name; `--server` goes before a name that does not say it.
fn full_name(args: &CallArgs) -> String {
    match (&args.server, name::split(&args.tool)) {
        (Some(server), Some((said, _))) if said.as_str() == server => args.tool.clone(),
        (Some(server), _) => match ServerName::parse(server) {
            Ok(server) => name::join(&server, &args.tool, '.'),
            Err(_) => args.tool.clone(),
        },
        (None, _) => args.tool.clone(),
    }
}

async fn call(pipe: DuplexStream, args: &CallArgs, given: &Given) -> Result<Box<RawValue>, Failure> {
    let mut talk = Talk::new(pipe);
    let version = env!("CARGO_PKG_VERSION");
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "portolan-call", "version": version},
    });
    talk.request("initialize", &hello).await?;
    talk.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    let name = full_name(args);
    let listed = talk.request("tools/list", &json!({})).await?;
    let listed: Listed = serde_json::from_str(listed.get()).context("the list of tools is no list")?;
    let arguments = given.assemble(listed.schema(&name))?;
    talk.request("tools/call", &Call { name: &name, arguments: &arguments }).await
}

fn cut_short() -> Failure {
    Failure::Failed(anyhow!("the conversation ended before the answer"))
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct Listed {
    tools: Vec<Definition>,
}

#[derive(Deserialize)]
struct Definition {
    name: String,
    #[serde(rename = "inputSchema", default)]
    input_schema: Value,
}

impl Listed {
    /// What a tool takes, by its full name in either style or by its own.
    fn schema(&self, asked: &str) -> Option<&Value> {
        let full = name::split(asked).map(|(server, tool)| name::join(&server, tool, '.'));
        let is_meant = |listed: &str| {
            Some(listed) == full.as_deref() || name::split(listed).is_some_and(|(_, tool)| tool == asked)
        };
        self.tools.iter().find(|tool| is_meant(&tool.name)).map(|tool| &tool.input_schema)
    }
}

/// One end of a conversation in MCP.
struct Talk {
    lines: BufReader<ReadHalf<DuplexStream>>,
    out: WriteHalf<DuplexStream>,
    last: u64,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

#[derive(Deserialize)]
struct Reply {
    id: Option<u64>,
    result: Option<Box<RawValue>>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl Talk {
    fn new(pipe: DuplexStream) -> Self {
        let (input, out) = tokio::io::split(pipe);
        Self { lines: BufReader::new(input), out, last: 0 }
    }

    async fn send(&mut self, message: &impl Serialize) -> Result<(), Failure> {
        let message = serde_json::to_string(message).context("the call makes no JSON")?;
        // Arguments are as they were written, and JSON has line breaks only between its parts.
        let line = message.replace(['\n', '\r'], " ") + "\n";
        Ok(self.out.write_all(line.as_bytes()).await.context("the call cannot be sent")?)
    }

    /// Asks, and reads on until the answer to it; what is said meanwhile is for clients that stay.
    async fn request(&mut self, method: &str, params: &impl Serialize) -> Result<Box<RawValue>, Failure> {
        self.last += 1;
        let id = self.last;
        self.send(&Request { jsonrpc: "2.0", id, method, params }).await?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).await.context("the answer cannot be read")? == 0 {
                return Err(cut_short());
            }
            let reply: Reply = serde_json::from_str(&line).context("the answer is no MCP")?;
            // What cannot be understood is refused without an id.
            let is_ours = reply.id.map_or(reply.error.is_some(), |of| of == id);
            if !is_ours {
                continue;
            }
            return match (reply.result, reply.error) {
                (_, Some(refusal)) => Err(Failure::Failed(anyhow!(refusal.message))),
                (Some(result), None) => Ok(result),
                (None, None) => Err(Failure::Failed(anyhow!("the answer holds no result"))),
            };
        }
    }
}
