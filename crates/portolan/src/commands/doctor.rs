//! `portolan doctor`: looks at the set-up and at the file, starts each of its servers once, and says how to mend what is
//! wrong.

mod setup;

use crate::cli::DoctorArgs;
use crate::wire_up::Surroundings;
use crate::{Failure, shutdown, wire_up};
use anyhow::Context as _;
use portolan_config::{ConfigErrors, Environment, Flags, Servers};
use portolan_model::{ServerName, ServerSpec, TransportSpec};
use portolan_upstream::{ConnectError, Outside, Trial, try_out};
use serde_json::json;
use setup::{Look, Verdict};
use std::process::ExitCode;
use std::sync::Arc;

struct Finding {
    server: ServerName,
    what: String,
    outcome: Result<Trial, String>,
}

/// What was found, as far as it was looked at.
#[derive(Default)]
struct Report {
    setup: Vec<Look>,
    file: Option<(Servers, Vec<Finding>)>,
}

/// With `--config`, the servers of that file; without, the set-up as a whole, and the servers of its file.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let flags = Flags { data: args.data.clone(), ..args.common.flags() };
    let loaded = wire_up::settings(&flags, &env)?;
    let mut report = Report::default();
    if args.common.config.is_none() {
        report.setup = shutdown::run(setup::examine(&loaded, &env)).context("no runtime")??;
    }
    let mut missing = Vec::new();
    let config = loaded.settings.config.clone();
    if let Some(path) = &config {
        let servers = portolan_config::load_servers(path).map_err(|errors| Failure::Wrong(errors.into()))?;
        missing = portolan_config::check_variables(&servers, &env);
        let outside = wire_up::outside(&loaded.settings, Surroundings::of_file(env, &[path]))?;
        let findings = examine(servers.specs.clone(), Arc::new(outside));
        let findings = shutdown::run(findings).context("no runtime")?;
        report.file = Some((servers, findings));
    }
    if args.json {
        print_json(&report);
    } else {
        print_report(&report);
    }
    match config {
        Some(path) if !missing.is_empty() => {
            Err(Failure::Wrong(ConfigErrors { path, problems: missing }.into()))
        }
        Some(_) | None if report.is_well() => Ok(ExitCode::SUCCESS),
        Some(_) | None => Ok(ExitCode::from(crate::FAILED)),
    }
}

impl Report {
    fn is_well(&self) -> bool {
        let mut findings = self.file.iter().flat_map(|(_, findings)| findings);
        findings.all(|finding| finding.outcome.is_ok())
            && self.setup.iter().all(|look| look.verdict != Verdict::Wrong)
    }
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
fn print_report(report: &Report) {
    for Look { what, verdict, told } in &report.setup {
        println!("{:7} {what}: {told}", verdict.as_str());
    }
    let Some((servers, findings)) = &report.file else { return };
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
fn print_json(report: &Report) {
    let setup: Vec<serde_json::Value> = report
        .setup
        .iter()
        .map(|look| json!({"what": look.what, "verdict": look.verdict.as_str(), "told": look.told}))
        .collect();
    let findings = report.file.iter().flat_map(|(_, findings)| findings);
    let rows: Vec<serde_json::Value> = findings
        .map(|finding| match &finding.outcome {
            Ok(trial) => json!({
                "server": finding.server.as_str(), "ok": true, "revision": trial.revision.as_str(),
                "tools": trial.offer.tools.len(),
                "left_out": trial.offer.left_out.iter().map(|l| json!({"tool": l.tool, "reason": l.reason})).collect::<Vec<_>>(),
            }),
            Err(why) => json!({"server": finding.server.as_str(), "ok": false, "problem": why}),
        })
        .collect();
    let warnings = report.file.as_ref().map(|(servers, _)| servers.warnings.as_slice()).unwrap_or_default();
    println!("{}", json!({"servers": rows, "warnings": warnings, "setup": setup}));
}
