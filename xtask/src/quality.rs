//! `cargo xtask quality`: what search finds on the public sets, measured by a program that is built for speed.

use crate::program;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Runs `portolan-quality` with these options. It is a program of its own: the model that is built into it would
/// make every other command of this one slow to build.
pub fn run(root: &Path, options: &[&str]) -> Result<()> {
    let mut command = program::command(root, "cargo run --release -p portolan-quality --");
    let status = command.args(options).status().context("could not start cargo")?;
    if !status.success() {
        bail!("portolan-quality failed: {status}");
    }
    Ok(())
}
