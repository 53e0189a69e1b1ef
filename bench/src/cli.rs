//! The command line of the harness, and the order of things in a run.

use crate::lab::{Effort, Lab, Programs};
use crate::machine::{Machine, Watch};
use crate::report::{Report, Section};
use crate::sections::Subject;
use anyhow::{Result, bail};
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// A section that takes longer hangs; the longest takes about a minute on two slow processors.
const SECTION_LIMIT: Duration = Duration::from_mins(4);

#[derive(Debug, Parser)]
#[command(
    name = "portolan-bench",
    about = "Measures Portolan beside the direct path and a byte-forwarding hop, all in one run",
    after_help = "Exit code 1 on any error or mismatched reply; speed is reported, never enforced."
)]
pub struct Cli {
    /// Measure less: about a quarter of the time, and more noise
    #[arg(long, global = true)]
    quick: bool,
    /// Print JSON and nothing else on standard output
    #[arg(long, global = true)]
    json: bool,
    /// The gateway to measure, instead of the `portolan` beside this program
    #[arg(long, global = true, value_name = "PATH")]
    gateway: Option<PathBuf>,
    #[command(subcommand)]
    choice: Option<Choice>,
}

#[derive(Debug, Subcommand)]
enum Choice {
    /// Only these sections
    Only {
        #[arg(required = true)]
        subjects: Vec<Subject>,
    },
}

/// Says what went wrong, if anything did, and turns it into an exit code.
pub fn run(cli: &Cli) -> ExitCode {
    match print_report(cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("portolan-bench: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything was measured, with no error and no mismatched reply.
fn print_report(cli: &Cli) -> Result<bool> {
    // One thread: the lone client's answers arrive on the thread that waits for them. Loads bring their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            report = measure(cli) => report,
            // Leaving drops what was started, and what is dropped is killed.
            _ = interrupt.recv() => bail!("interrupted"),
            _ = terminate.recv() => bail!("terminated"),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    let report = report?;
    if cli.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.to_text());
    }
    Ok(report.is_clean())
}

async fn measure(cli: &Cli) -> Result<Report> {
    let machine = Machine::look();
    let effort = if cli.quick { Effort::Quick } else { Effort::Full };
    let lab = Lab::new(Programs::find(cli.gateway.as_deref())?, effort)?;
    let subjects = match &cli.choice {
        Some(Choice::Only { subjects }) => subjects.clone(),
        None => Subject::value_variants().to_vec(),
    };
    let Machine { cores, model, load_before } = &machine;
    let banner = format!("{cores} cores, {model}, load before: {load_before}; gateway {}", lab.gateway_age());
    if cli.json {
        eprintln!("{banner}");
    } else {
        println!("{banner}");
    }
    let watch = Watch::start();
    let mut sections = Vec::new();
    for subject in subjects {
        eprintln!("measuring {} …", subject.name());
        sections.push(section(&lab, subject).await);
    }
    Ok(Report {
        machine,
        effort: effort.pick("quick", "full"),
        errors: sections.iter().map(|section| section.errors).sum(),
        mismatches: sections.iter().map(|section| section.mismatches).sum(),
        sections,
        others: watch.others(),
    })
}

/// A section that fails says so in its place, and the others are measured all the same.
async fn section(lab: &Lab, subject: Subject) -> Section {
    let watch = Watch::start();
    let measured = match tokio::time::timeout(SECTION_LIMIT, subject.measure(lab)).await {
        Ok(measured) => measured,
        Err(_) => Err(anyhow::anyhow!("not done within {SECTION_LIMIT:?}")),
    };
    let mut section = measured.unwrap_or_else(|problem| {
        let mut section = Section::new(subject.name(), "", &[]);
        section.failure = Some(format!("{problem:#}"));
        section
    });
    section.others = watch.others();
    section
}
