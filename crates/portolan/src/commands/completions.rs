//! `portolan completions`: what a shell needs to complete our command line.

use crate::cli::Cli;
use crate::terminal::cli::CompletionsArgs;
use crate::terminal::screen;
use crate::{Failure, terminal};
use clap::CommandFactory as _;
use std::process::ExitCode;

pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "portolan", &mut script);
    terminal::quietly(screen::write(&script, b"").map(|()| ExitCode::SUCCESS))
}
