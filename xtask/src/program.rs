//! Starting other programs: the one place of this crate that does.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// A program by its path or name, to be run in `folder`.
pub(crate) fn program(folder: &Path, program: impl AsRef<OsStr>) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "starting cargo, git and the gateway is what this tool is for"
    )]
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}

/// `line` split at its spaces, for commands none of whose arguments holds one.
pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = program(folder, words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Whether `line` can be run at all, for tools that may not be installed. Prints nothing.
pub(crate) fn succeeds(folder: &Path, line: &str) -> bool {
    let quiet = |mut command: Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet(command(folder, line)).is_ok_and(|status| status.success())
}

/// Runs `line` with this program's own stdout and stderr.
pub(crate) fn run(folder: &Path, line: &str) -> Result<()> {
    let status = command(folder, line).status().with_context(|| format!("could not start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// A program that ended, and the lines of it that were asked for.
pub(crate) struct Watched {
    pub(crate) is_success: bool,
    pub(crate) kept: Vec<String>,
}

/// Runs `line`, passes on what it prints as it prints it, and keeps the lines that `keep` wants.
pub(crate) fn watch(folder: &Path, line: &str, keep: fn(&str) -> bool) -> Result<Watched> {
    let mut child = command(folder, line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start `{line}`"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let kept = thread::scope(|scope| {
        let err = scope.spawn(|| pass_on(err, keep, |line| eprintln!("{line}")));
        let mut kept = pass_on(out, keep, |line| println!("{line}"));
        kept.extend(err.join().unwrap_or_default());
        kept
    });
    Ok(Watched { is_success: child.wait()?.success(), kept })
}

fn pass_on(stream: Option<impl Read>, keep: fn(&str) -> bool, print: fn(&str)) -> Vec<String> {
    let mut kept = Vec::new();
    let lines = stream.into_iter().flat_map(|stream| BufReader::new(stream).split(b'\n'));
    for line in lines.map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        print(&line);
        if keep(&line) {
            kept.push(line.into_owned());
        }
    }
    kept
}
