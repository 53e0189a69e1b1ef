//! The binary: reads the command line, puts the parts together, runs the verb.

mod cli;
mod commands;
mod data;
mod shutdown;
mod wire_up;

use clap::Parser as _;
use cli::{Cli, Verb};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The operation failed.
const FAILED: u8 = 1;
/// The command line or the configuration is wrong.
const WRONG: u8 = 2;

/// Why a verb could not be carried out; decides the exit code.
enum Failure {
    Failed(anyhow::Error),
    Wrong(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == portolan_upstream::watchdog::ARGUMENT) {
        portolan_upstream::watchdog::run(std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    let cli = Cli::parse();
    let done = match &cli.verb {
        None if cli.aggregate.version == Some(None) => commands::version::run(),
        None => commands::aggregate::run(&cli.aggregate),
        Some(Verb::Serve(args)) => commands::serve::run(args),
        Some(Verb::Config(args)) => commands::config::run(args),
        Some(Verb::Doctor(args)) => commands::doctor::run(args),
    };
    match done {
        Ok(code) => code,
        Err(Failure::Failed(error)) => complain(&error, FAILED),
        Err(Failure::Wrong(error)) => complain(&error, WRONG),
    }
}

#[expect(clippy::print_stderr, reason = "this is what people at a terminal read")]
fn complain(error: &anyhow::Error, code: u8) -> ExitCode {
    eprintln!("portolan: {error:#}");
    ExitCode::from(code)
}
