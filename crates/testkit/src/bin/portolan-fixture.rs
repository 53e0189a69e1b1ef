//! The scripted MCP server as a program: `portolan-fixture --help` lists its behaviours.

use clap::Parser as _;
use portolan_testkit::fixture::{self, Options};

fn main() -> std::process::ExitCode {
    fixture::run(Options::parse())
}
