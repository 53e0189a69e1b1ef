//! `cargo xtask test`: every check of the project, in the order in which a failure is cheapest to learn.

use crate::program::{self, Watched};
use anyhow::Result;
use std::path::Path;
use std::process::ExitCode;

/// One line of the run. A further suite is one more entry in [`steps`].
struct Step {
    name: &'static str,
    line: &'static str,
    /// Which lines of its output say how many tests ran; they are printed again at the very end.
    counts: Option<fn(&str) -> bool>,
}

impl Step {
    const fn check(name: &'static str, line: &'static str) -> Self {
        Self { name, line, counts: None }
    }
}

/// What is to be done here, and what is left out with the reason.
fn steps(root: &Path) -> (Vec<Step>, Vec<&'static str>) {
    let mut steps = vec![
        Step::check("format", "cargo fmt --all --check"),
        Step::check("lints", "cargo clippy --workspace --all-targets -- -D warnings"),
        // xtask is running, and Windows does not let a running program be replaced.
        Step::check("build", "cargo build --workspace --exclude xtask --bins"),
    ];
    let mut left_out = Vec::new();
    if program::succeeds(root, "cargo deny --version") {
        steps.push(Step::check("licences and sources", "cargo deny check licenses bans sources"));
    } else {
        left_out
            .push("licences and sources: cargo-deny is not installed (cargo install cargo-deny --locked)");
    }
    steps.push(if program::succeeds(root, "cargo nextest --version") {
        let line = "cargo nextest run --workspace --no-fail-fast";
        Step { name: "tests", line, counts: Some(|line| line.trim_start().starts_with("Summary [")) }
    } else {
        let line = "cargo test --workspace --no-fail-fast";
        Step { name: "tests", line, counts: Some(|line| line.starts_with("test result:")) }
    });
    if root.join("tests/interop/run").is_file() {
        let counts: fn(&str) -> bool = |line| line.contains(" passed, ") && line.ends_with(" failed");
        steps.push(Step { name: "interop", line: "tests/interop/run", counts: Some(counts) });
    } else {
        left_out.push("interop: tests/interop/run is not there");
    }
    (steps, left_out)
}

/// Stops at the first step that fails. The last lines are the counts of the tests, as their runners gave them.
pub fn run(root: &Path) -> Result<ExitCode> {
    let (steps, left_out) = steps(root);
    for reason in left_out {
        eprintln!("== left out: {reason}");
    }
    let mut counts = Vec::new();
    let mut failed = None;
    for step in &steps {
        eprintln!("== {}: {}", step.name, step.line);
        let watched = match step.counts {
            Some(keep) => program::watch(root, step.line, keep)?,
            None => Watched { is_success: program::run(root, step.line).is_ok(), kept: Vec::new() },
        };
        counts
            .extend(summed(watched.kept).into_iter().map(|count| format!("{}: {}", step.name, count.trim())));
        if !watched.is_success {
            failed = Some(step);
            break;
        }
    }
    match failed {
        Some(step) => eprintln!("== failed: {} ({})", step.name, step.line),
        None => eprintln!("== all passed"),
    }
    for count in counts {
        println!("{count}");
    }
    Ok(if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// `cargo test` counts each test program by itself: its lines become one. Other runners' lines stay as they are.
fn summed(lines: Vec<String>) -> Vec<String> {
    if !lines.iter().any(|line| line.starts_with("test result:")) {
        return lines;
    }
    let sum = |what: &str| lines.iter().filter_map(|line| count_before(line, what)).sum::<u64>();
    vec![format!("{} passed, {} failed, {} ignored", sum(" passed"), sum(" failed"), sum(" ignored"))]
}

/// The number that stands before `what`: 12 in `ok. 12 passed; 0 failed`.
fn count_before(line: &str, what: &str) -> Option<u64> {
    let (before, _) = line.split_once(what)?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_cargo_test_become_one() {
        let lines = [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ];
        assert_eq!(summed(lines.map(str::to_owned).to_vec()), ["15 passed, 2 failed, 1 ignored"]);
    }

    #[test]
    fn the_line_of_nextest_stays_as_it_is() {
        let line = "     Summary [   0.012s] 9 tests run: 9 passed, 0 skipped".to_owned();
        assert_eq!(summed(vec![line.clone()]), [line]);
    }

    #[test]
    fn what_the_run_of_the_readme_cannot_do_without_is_in_the_list() {
        let (steps, _) = steps(crate::root());
        let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
        for name in ["format", "lints", "build", "tests"] {
            assert!(names.contains(&name), "{name}");
        }
    }
}
