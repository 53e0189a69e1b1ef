//! The files that there are to import from.

use crate::Failure;
use anyhow::anyhow;
use portolan_config::{ConfigErrors, Environment, Found, Program, places, read_program};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One file and what it holds, or why it cannot be read.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) found: Result<Found, ConfigErrors>,
}

/// The files of one program or of all, or any file that is named.
pub(super) fn find(from: Option<&str>, env: &Environment) -> Result<Vec<Source>, Failure> {
    let Some(from) = from else { return Ok(read(places(env))) };
    let programs = Program::from_flag(from);
    if programs.is_empty() {
        return file(Path::new(from), env).map(|source| vec![source]);
    }
    let meant: Vec<(Program, PathBuf)> =
        places(env).into_iter().filter(|(program, _)| programs.contains(program)).collect();
    let looked: Vec<String> = meant.iter().map(|(_, path)| path.display().to_string()).collect();
    let found = read(meant);
    if found.is_empty() {
        let looked = looked.join(", ");
        return Err(Failure::Failed(anyhow!("{from} has no file here: looked for {looked}")));
    }
    Ok(found)
}

/// Those of the files that are there. Whoever stands in their home folder has a project and a home in one.
fn read(places: Vec<(Program, PathBuf)>) -> Vec<Source> {
    let mut seen = BTreeSet::new();
    let there =
        places.into_iter().filter(|(_, path)| path.canonicalize().is_ok_and(|path| seen.insert(path)));
    there.map(|(program, path)| Source { found: read_program(program, &path), path }).collect()
}

/// A file that somebody names. One that lies where a program keeps its servers is that program's; of any other the
/// name and what it holds say whose notation it is in.
fn file(path: &Path, env: &Environment) -> Result<Source, Failure> {
    if !path.exists() {
        let known: Vec<&str> = Program::ALL.map(Program::flag).to_vec();
        let shown = path.display();
        let known = known.join(", ");
        return Err(Failure::Wrong(anyhow!(
            "--from {shown}: there is no such file, and programs are {known}"
        )));
    }
    let same = |other: &Path| matches!((other.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let owner = places(env).into_iter().find(|(_, place)| same(place)).map(|(program, _)| program);
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let tries: &[Program] = match owner {
        Some(program) => &[program],
        None if is_toml => &[Program::Codex],
        // The first reads what most programs write, and comments beside it.
        None => &[Program::VsCode, Program::Zed, Program::ClaudeCode],
    };
    let mut found = Found::default();
    for program in tries {
        found = read_program(*program, path).map_err(|errors| Failure::Wrong(errors.into()))?;
        if !found.specs.is_empty() || !found.skipped.is_empty() {
            break;
        }
    }
    Ok(Source { path: path.to_owned(), found: Ok(found) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn env(home: &Path) -> Environment {
        BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]).into()
    }

    fn write(home: &Path, name: &str, text: &str) -> PathBuf {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[track_caller]
    fn check(from: Option<&str>, home: &Path, expected: &[&str]) {
        let Ok(sources) = find(from, &env(home)) else { panic!("{from:?} is refused") };
        let names: Vec<String> = sources
            .iter()
            .flat_map(|source| &source.found.as_ref().unwrap().specs)
            .map(|spec| spec.name.to_string())
            .collect();
        assert_eq!(names, expected, "{from:?}");
    }

    #[test]
    fn a_program_a_file_or_everything_is_read() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        write(home, ".cursor/mcp.json", r#"{"mcpServers": {"c": {"command": "x"}}}"#);
        let codex = write(home, ".codex/config.toml", "[mcp_servers.d]\ncommand = \"x\"\n");
        let own = write(home, "own.json", r#"{"mcpServers": {"e": {"url": "http://h"}} /* mine */}"#);
        let zed = write(home, "any.json", r#"{"context_servers": {"z": {"command": "x", "args": []}}}"#);
        let moved = write(home, "moved.toml", "[mcp_servers.m]\ncommand = \"x\"\n");
        check(Some("cursor"), home, &["c"]);
        check(Some("Codex"), home, &["d"]);
        check(codex.to_str(), home, &["d"]);
        check(own.to_str(), home, &["e"]);
        check(zed.to_str(), home, &["z"]);
        check(moved.to_str(), home, &["m"]);
        check(None, home, &["c", "d"]);
    }

    #[test]
    fn what_is_neither_a_program_nor_a_file_is_a_wrong_command_line_and_a_program_without_a_file_is_said() {
        let home = tempfile::tempdir().unwrap();
        assert!(matches!(find(Some("emacs"), &env(home.path())), Err(Failure::Wrong(_))));
        assert!(matches!(find(Some("zed"), &env(home.path())), Err(Failure::Failed(_))));
        let broken = write(home.path(), "broken.json", "{");
        assert!(matches!(find(broken.to_str(), &env(home.path())), Err(Failure::Wrong(_))));
    }
}
