//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy can check.

mod documents;
mod files;
mod layers;
mod source;

use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// A broken rule: where, which, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// From the workspace's root, with forward slashes.
    pub path: String,
    pub line: usize,
    pub rule: &'static str,
    pub advice: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.advice)
    }
}

/// Every violation in the workspace at `root`, sorted by place.
pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let files = files::tracked(root)?;
    if files.is_empty() {
        bail!("git lists no file in {}: a check of nothing would always pass", root.display());
    }
    let mut violations = Vec::new();
    for file in &files {
        violations.extend(files::check(file));
        if file.is_rust() {
            violations.extend(source::check(file));
        }
        if file.is_manifest() {
            let found = layers::check(&file.path, &file.text);
            violations.extend(found.with_context(|| format!("{} is no TOML", file.path))?);
        }
    }
    violations.extend(documents::check(root));
    violations.sort();
    Ok(violations)
}

/// Prints every violation; the exit code says whether there was one.
pub fn run(root: &Path) -> Result<ExitCode> {
    let violations = check(root)?;
    for violation in &violations {
        println!("{violation}");
    }
    if violations.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("tidy: {} to mend", violations.len());
    Ok(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_keeps_the_rules_of_the_house() {
        let violations = super::check(crate::root()).unwrap();
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }
}
