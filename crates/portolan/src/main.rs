//! The binary: reads the command line, puts the parts together, runs the verb.

mod cli;
mod commands;
mod data;
mod shutdown;
mod terminal;
mod wire_up;

use clap::Parser as _;
use cli::{Cli, Verb};
use commands::connect::Way;
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
        Some(Verb::Import(args)) => commands::import::run(args),
        Some(Verb::Add(args)) => commands::add::run(args),
        Some(Verb::List(args)) => commands::list::run(args),
        Some(Verb::Show(args)) => commands::show::run(args),
        Some(Verb::Connect(args)) => commands::connect::run(args, Way::Connect),
        Some(Verb::Disconnect(args)) => commands::disconnect::run(args),
        Some(Verb::Reconnect(args)) => commands::connect::run(args, Way::Reconnect),
        Some(Verb::Refresh(args)) => commands::refresh::run(args),
        Some(Verb::Search(args)) => commands::search::run(args),
        Some(Verb::Remove(args)) => commands::remove::run(args),
        Some(Verb::Tools(args)) => commands::tools::run(args),
        Some(Verb::Call(args)) => commands::call::run(args),
        Some(Verb::Query(args)) => commands::query::run(args),
        Some(Verb::Ask(args)) => commands::ask::run(args),
        Some(Verb::Agents(args)) => commands::agents::run(args),
        Some(Verb::History(args)) => commands::history::run(args),
        Some(Verb::Events(args)) => commands::events::run(args),
        Some(Verb::Secret(args)) => commands::secret::run(args),
        Some(Verb::Config(args)) => commands::config::run(args),
        Some(Verb::Doctor(args)) => commands::doctor::run(args),
        Some(Verb::Completions(args)) => commands::completions::run(args),
        Some(Verb::Man(args)) => commands::man::run(args),
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
