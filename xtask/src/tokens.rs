//! `cargo xtask tokens`: what a model is shown of many tools, counted at the gateway as it is released.

use crate::program;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Builds the gateway, unless another is named, and the servers that stand behind it, each by itself so that neither
/// brings the other features; then runs `portolan-tokens` beside them.
pub fn run(root: &Path, options: &[&str]) -> Result<()> {
    if !options.contains(&"--gateway") {
        program::run(root, "cargo build --release --package portolan --bins")?;
    }
    program::run(root, "cargo build --release --package portolan-testkit --bins")?;
    let mut command = program::command(root, "cargo run --release --package portolan-tokens --");
    let status = command.args(options).status().context("could not start cargo")?;
    if !status.success() {
        bail!("portolan-tokens failed: {status}");
    }
    Ok(())
}
