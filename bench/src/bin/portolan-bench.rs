//! The harness: starts the release binary between load and echo, measures, and prints the ratios.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    portolan_bench::cli::run(&portolan_bench::cli::Cli::parse())
}
