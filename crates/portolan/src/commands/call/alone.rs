//! A call with no Portolan running: one lives for as long as the call, with the servers that it needs.

use super::arguments::Given;
use super::show;
use crate::Failure;
use crate::terminal::alone::{self, Errand, Talk};
use crate::terminal::cli::CallArgs;
use anyhow::Context as _;
use portolan_config::Servers;
use portolan_model::{ServerName, name};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(args: &CallArgs, config: &Path, given: &Given) -> Result<ExitCode, Failure> {
    let errand = Errand { shared: &args.shared, config, what: format!("calling {}", args.tool) };
    alone::run(
        errand,
        |servers| narrow(servers, args),
        async |talk| call(talk, args, given).await,
        |screen, result| {
            let read: Value = serde_json::from_str(result.get()).context("the answer is no JSON")?;
            show(screen, &args.tool, result.get(), &read)
        },
    )
}

/// Leaves only the server that the tool is said to belong to; a tool that is named by itself may be anybody's.
fn narrow(servers: &mut Servers, args: &CallArgs) -> Result<(), Failure> {
    let known = |name: &str| servers.specs.iter().any(|spec| spec.name.as_str() == name);
    match (&args.server, name::split(&args.tool)) {
        (Some(server), _) => alone::only(servers, &[server]),
        (None, Some((server, _))) if known(server.as_str()) => alone::only(servers, &[server.as_str()]),
        (None, Some(_) | None) => Ok(()),
    }
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

async fn call(talk: &mut Talk, args: &CallArgs, given: &Given) -> Result<Box<RawValue>, Failure> {
    let name = full_name(args);
    let listed = talk.request("tools/list", &json!({})).await?;
    let listed: Listed = serde_json::from_str(listed.get()).context("the list of tools is no list")?;
    let arguments = given.assemble(listed.schema(&name))?;
    talk.request("tools/call", &Call { name: &name, arguments: &arguments }).await
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
