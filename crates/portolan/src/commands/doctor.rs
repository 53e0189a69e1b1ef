//! `portolan doctor`: checks the file, every command and address, starts each server once, and says how to mend what
//! is wrong.

use crate::cli::DoctorArgs;
use crate::wire_up::Surroundings;
use crate::{Failure, shutdown, wire_up};
use anyhow::{Context as _, anyhow};
use portolan_config::{ConfigErrors, Environment, Servers};
use portolan_model::{ServerName, ServerSpec, TransportSpec};
use portolan_upstream::{ConnectError, Outside, Trial, try_out};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;

struct Finding {
    server: ServerName,
    what: String,
    outcome: Result<Trial, String>,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let settings = wire_up::settings(&args.common.flags(), &env)?.settings;
    let Some(path) = settings.config.clone() else {
        return Err(Failure::Wrong(anyhow!("which servers? Give --config FILE")));
    };
    let servers = portolan_config::load_servers(&path).map_err(|errors| Failure::Wrong(errors.into()))?;
    let missing = portolan_config::check_variables(&servers, &env);
    let outside = wire_up::outside(&settings, Surroundings::of_file(env, &[&path]))?;
    let findings = shutdown::run(examine(servers.specs.clone(), Arc::new(outside))).context("no runtime")?;
    if args.json {
        print_json(&servers, &findings);
    } else {
        print_report(&servers, &findings);
    }
    if !missing.is_empty() {
        return Err(Failure::Wrong(ConfigErrors { path, problems: missing }.into()));
    }
    let all_well = findings.iter().all(|finding| finding.outcome.is_ok());
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// Tries all servers side by side, each once.
async fn examine(specs: Vec<ServerSpec>, outside: Arc<Outside>) -> Vec<Finding> {
    let tries = specs.into_iter().map(|spec| {
        let outside = outside.clone();
        async move {
            let outcome = try_out(&spec, outside).await.map_err(|error| advice(&spec, &error));
            Finding { server: spec.name.clone(), what: target(&spec), outcome }
        }
    });
    futures_util::future::join_all(tries).await
}

fn target(spec: &ServerSpec) -> String {
    match &spec.transport {
        TransportSpec::Stdio { command, .. } => format!("runs {command}"),
        TransportSpec::Remote { kind, .. } => format!("over {kind:?}").to_lowercase(),
    }
}

fn advice(spec: &ServerSpec, error: &ConnectError) -> String {
    let hint = match (&spec.transport, error) {
        (TransportSpec::Stdio { command, .. }, ConnectError::Failed(why)) if why.contains("not found") => {
            match command.as_str() {
                "npx" | "node" | "npm" => "install Node.js",
                "uvx" | "uv" => "install uv, or put its folder on PATH",
                "docker" => "install Docker, and start it",
                _ => "the PATH that the program gets is yours: `command -v` shows what it holds",
            }
        }
        (TransportSpec::Stdio { .. }, ConnectError::Failed(why)) if why.contains("did not answer") => {
            "the program runs but does not speak MCP on its standard output, or takes longer than \
             limits.connect_timeout to start"
        }
        (TransportSpec::Remote { .. }, ConnectError::Failed(why)) if why.contains("refused") => {
            "nothing listens there: is the server running, and is the port right?"
        }
        _ => return error.to_string(),
    };
    format!("{error}\n        {hint}")
}

#[expect(clippy::print_stdout, reason = "the report is what was asked for")]
fn print_report(servers: &Servers, findings: &[Finding]) {
    for warning in &servers.warnings {
        println!("warning {warning}");
    }
    for name in &servers.disabled {
        println!("off     {name}");
    }
    for Finding { server, what, outcome } in findings {
        match outcome {
            Ok(Trial { revision, offer }) => {
                println!("ok      {server}: {what}, {} tools, revision {revision}", offer.tools.len());
                for left_out in &offer.left_out {
                    println!("warning {server}: tool {:?} is left out: {}", left_out.tool, left_out.reason);
                }
            }
            Err(why) => println!("WRONG   {server}: {what}: {why}"),
        }
    }
    let wrong = findings.iter().filter(|finding| finding.outcome.is_err()).count();
    println!("{} servers, {wrong} with problems", findings.len());
}

#[expect(clippy::print_stdout, reason = "the report is what was asked for")]
fn print_json(servers: &Servers, findings: &[Finding]) {
    let rows: Vec<serde_json::Value> = findings
        .iter()
        .map(|finding| match &finding.outcome {
            Ok(trial) => json!({
                "server": finding.server.as_str(), "ok": true, "revision": trial.revision.as_str(),
                "tools": trial.offer.tools.len(),
                "left_out": trial.offer.left_out.iter().map(|l| json!({"tool": l.tool, "reason": l.reason})).collect::<Vec<_>>(),
            }),
            Err(why) => json!({"server": finding.server.as_str(), "ok": false, "problem": why}),
        })
        .collect();
    println!("{}", json!({"servers": rows, "warnings": servers.warnings}));
}
