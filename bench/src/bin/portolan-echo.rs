//! The echoing MCP server that stands behind everything that is measured.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    portolan_bench::echo::run(portolan_bench::echo::Cli::parse())
}
