//! `portolan call`: calls one tool, through a running Portolan or through one that lives for this call alone.

mod alone;
mod arguments;
mod content;

use super::tools::Tool;
use crate::Failure;
use crate::terminal::cli::CallArgs;
use crate::terminal::rest::{Ask, RestError};
use crate::terminal::screen::{Form, Screen};
use crate::terminal::{self, Desk};
use anyhow::{Context as _, anyhow};
use arguments::Given;
use portolan_model::name;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::process::ExitCode;

pub(crate) fn run(args: &CallArgs) -> Result<ExitCode, Failure> {
    let given = arguments::read(args)?;
    match &args.config {
        Some(config) => alone::run(args, config, &given),
        None => terminal::work(&args.shared, async |desk| {
            let request = request(desk, args, &given).await?;
            let ask = Ask::post(&["tools", "call"]).body(request).patient();
            let answer = desk.screen.during(format!("calling {}", args.tool), desk.rest.ask(ask)).await?;
            show(&desk.screen, &args.tool, &answer.text, &answer.read()?)
        }),
    }
}

/// The body of a call.
#[derive(Serialize)]
struct Request<'a> {
    name: &'a str,
    arguments: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_id: Option<&'a str>,
}

/// The call as the REST surface takes it, the arguments as the tool wants them.
async fn request(desk: &Desk, args: &CallArgs, given: &Given) -> Result<String, Failure> {
    let schema = if given.needs_schema() { schema(desk, args).await? } else { None };
    let arguments = given.assemble(schema.as_ref())?;
    let request = Request { name: &args.tool, arguments: &arguments, server_id: args.server.as_deref() };
    Ok(serde_json::to_string(&request).context("the call makes no JSON")?)
}

/// What the tool takes, if it can be found; if it cannot, the call itself says best why.
async fn schema(desk: &Desk, args: &CallArgs) -> Result<Option<Value>, Failure> {
    let split = name::split(&args.tool);
    let (server, tool) = match (&args.server, &split) {
        (Some(server), Some((first, rest))) if first.as_str() == server => (Some(server.as_str()), *rest),
        (Some(server), _) => (Some(server.as_str()), args.tool.as_str()),
        (None, Some((server, tool))) => (Some(server.as_str()), *tool),
        (None, None) => (None, args.tool.as_str()),
    };
    let listed = match server {
        Some(server) => desk.rest.list(&["aggregator", "servers", server, "tools"], &[]).await,
        None => desk.rest.list(&["aggregator", "tools"], &[]).await,
    };
    let tools: Vec<Tool> = match listed {
        Ok(list) => list.read()?,
        Err(RestError::Refused { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(tools.into_iter().find(|t| t.original_name == tool || t.name == args.tool).map(|t| t.input_schema))
}

/// Shows a result: `text` as it came, `result` as it was read.
fn show(screen: &Screen, tool: &str, text: &str, result: &Value) -> Result<ExitCode, Failure> {
    let has_failed = result["isError"] == true;
    match screen.form {
        Form::Json => screen.json(text)?,
        Form::Words if has_failed => {
            let reason = terminal::screen::plain_lines(&content::words(result));
            return Err(Failure::Failed(anyhow!("{tool} reports an error: {reason}")));
        }
        Form::Words => screen.foreign(&content::words(result))?,
    }
    Ok(if has_failed { ExitCode::from(crate::FAILED) } else { ExitCode::SUCCESS })
}
