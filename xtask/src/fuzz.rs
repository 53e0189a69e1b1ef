//! `cargo xtask fuzz`: each fuzz target for a while, on the nightly toolchain that libFuzzer needs.

use crate::program;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

pub const DEFAULT_SECONDS: u32 = 60;

/// Runs `wanted`, or every target when none is named, each for `seconds`. A crash ends its target only; its
/// input lies in `fuzz/artifacts`.
pub fn run(root: &Path, seconds: u32, wanted: &[&str]) -> Result<()> {
    let targets = targets(root)?;
    if let Some(unknown) = wanted.iter().find(|name| !targets.iter().any(|target| target == *name)) {
        bail!("there is no fuzz target {unknown}; there are {}", targets.join(", "));
    }
    if !program::succeeds(root, "rustup run nightly cargo --version") {
        bail!("fuzzing needs the nightly toolchain: rustup toolchain install nightly --profile minimal");
    }
    if !program::succeeds(root, "cargo fuzz --version") {
        bail!("fuzzing needs cargo-fuzz: cargo install cargo-fuzz --locked");
    }
    let mut crashed = Vec::new();
    for target in targets.iter().filter(|target| wanted.is_empty() || wanted.contains(&target.as_str())) {
        eprintln!("== {target}: {seconds} s");
        // New inputs are kept in the first folder, which is nobody's commit; the second is where they start from.
        let (kept, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        fs::create_dir_all(root.join(&kept))?;
        // `rustup run` rather than `cargo +nightly`: inside `cargo run`, `cargo` may be the toolchain's own.
        let line =
            format!("rustup run nightly cargo fuzz run {target} {kept} {seeds} -- -max_total_time={seconds}");
        if let Err(error) = program::run(root, &line) {
            eprintln!("== {target}: {error}");
            crashed.push(target.as_str());
        }
    }
    if !crashed.is_empty() {
        bail!("crashed: {}; the inputs are in fuzz/artifacts", crashed.join(", "));
    }
    Ok(())
}

/// The names of the programs in `fuzz/fuzz_targets`, sorted.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut targets = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            targets.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    targets.sort();
    Ok(targets)
}
