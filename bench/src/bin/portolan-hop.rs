//! The cheapest forwarding hop, the yardstick for a gateway.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    portolan_bench::hop::run(&portolan_bench::hop::Cli::parse())
}
