//! The files of the repository, and the rules that hold for any of them.

use super::Violation;
use crate::program;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 5] = ["utils", "helpers", "common", "misc", "manager"];

/// Where people's own folders begin; what follows differs from machine to machine.
const HOMES: [&str; 2] = [concat!("/", "home/"), concat!("/", "Users/")];

/// Folders that exist on one machine only.
const MACHINE_FOLDERS: [&str; 2] = [concat!("/", "root/"), concat!("/", "work/")];

pub(super) struct File {
    /// From the workspace's root, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|ending| ending == "rs")
    }

    pub(super) fn is_manifest(&self) -> bool {
        self.name() == "Cargo.toml"
    }

    /// The last part of the path.
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn violation(&self, line: usize, rule: &'static str, advice: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, rule, advice: advice.into() }
    }
}

/// Every text file that git knows or would take. What is not UTF-8 is no text.
pub(super) fn tracked(root: &Path) -> Result<Vec<File>> {
    // A clone that belongs to somebody else, as in CI, is still the one to check.
    let list = "git -c safe.directory=* ls-files -z --cached --others --exclude-standard";
    let listed = program::command(root, list).output().context("could not start git")?;
    if !listed.status.success() {
        bail!("git could not list the files: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let paths = String::from_utf8(listed.stdout).context("a path is not UTF-8")?;
    // A file that was deleted but not yet committed is still listed: it cannot be read and has no text.
    let read =
        |path: &str| Some(File { path: path.to_owned(), text: fs::read_to_string(root.join(path)).ok()? });
    Ok(paths.split_terminator('\0').filter_map(read).collect())
}

pub(super) fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let stem = file.name().split('.').next().unwrap_or_default();
    if EMPTY_NAMES.contains(&stem) || EMPTY_NAMES.iter().any(|name| file.path.contains(&format!("/{name}/")))
    {
        violations.push(file.violation(1, "empty-name", "name it after what is inside"));
    }
    for (at, line) in file.text.lines().enumerate() {
        if let Some(path) = machine_path(line) {
            let advice =
                format!("`{path}` is on one machine only: say it from the repository's root, or /path/to/…");
            violations.push(file.violation(at + 1, "machine-path", advice));
        }
    }
    violations
}

/// The first absolute path in `line` that only one machine has.
fn machine_path(line: &str) -> Option<&str> {
    let found = |prefix: &'static str| {
        line.match_indices(prefix)
            .map(|(at, _)| at)
            .filter(move |&at| starts_here(line, at))
            .map(move |at| (at, prefix))
    };
    let machine =
        MACHINE_FOLDERS.into_iter().flat_map(found).map(|(at, prefix)| &line[at..at + prefix.len()]);
    let homes = HOMES.into_iter().flat_map(found).filter_map(|(at, prefix)| {
        let user =
            line[at + prefix.len()..].find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)))?;
        let end = at + prefix.len() + user;
        (user > 0 && line[end..].starts_with('/')).then(|| &line[at..=end])
    });
    machine.chain(homes).next()
}

/// Whether the slash at `at` begins a path, rather than going on with one or with an address.
fn starts_here(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.~*}/".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[track_caller]
    fn check_path(line: &str, expected: Option<&str>) {
        assert_eq!(machine_path(line), expected, "{line}");
    }

    #[test]
    fn paths_of_one_machine_are_found_and_others_are_not() {
        let (work, home) = (MACHINE_FOLDERS[1], HOMES[0]);
        check_path(&format!("cd {work}main"), Some(work));
        check_path(&format!("\"{work}main\""), Some(work));
        check_path(&format!("see {home}ann/notes"), Some(&format!("{home}ann/")));
        check_path(&format!("see {home}${{USER}}/notes"), None);
        check_path(&format!("under {home} lie the folders"), None);
        check_path(&format!("https://example.com{work}x"), None);
        check_path(&format!("target{work}x"), None);
        check_path("/usr/bin/env bash", None);
    }

    #[test]
    fn files_are_named_after_what_is_inside() {
        for bad in ["crates/front/src/utils.rs", "crates/front/src/common/http.rs", "docs/misc.md"] {
            assert_eq!(check(&file(bad, "")).len(), 1, "{bad}");
        }
        for good in ["crates/front/src/sessions.rs", "crates/front/src/uncommon.rs", "manager_of_none.rs"] {
            assert_eq!(check(&file(good, "")), [], "{good}");
        }
    }

    #[test]
    fn git_lists_this_very_file() {
        let files = tracked(crate::root()).unwrap();
        assert!(files.iter().any(|file| file.path == "xtask/src/tidy/files.rs"));
    }
}
