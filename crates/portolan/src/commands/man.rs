//! `portolan man`: the manual page of Portolan or of one of its verbs.

use crate::cli::Cli;
use crate::terminal::cli::ManArgs;
use crate::terminal::screen;
use crate::{Failure, terminal};
use anyhow::{Context as _, anyhow};
use clap::CommandFactory as _;
use std::process::ExitCode;

pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    terminal::quietly(screen::write(&page(&args.verb)?, b"").map(|()| ExitCode::SUCCESS))
}

fn page(verb: &[String]) -> Result<Vec<u8>, Failure> {
    let mut command = Cli::command().version(env!("CARGO_PKG_VERSION"));
    // Only what is built knows its full name.
    command.build();
    let mut command = &command;
    for part in verb {
        let unknown =
            || Failure::Wrong(anyhow!("there is no verb `{}`: see portolan --help", verb.join(" ")));
        command = command.find_subcommand(part).ok_or_else(unknown)?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).context("the page cannot be written")?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(verb: &[&str], expected: &[&str]) {
        let verb: Vec<String> = verb.iter().map(ToString::to_string).collect();
        let Ok(page) = page(&verb) else { panic!("{verb:?} has no page") };
        let page = String::from_utf8(page).unwrap();
        for part in expected {
            assert!(page.contains(part), "{part:?} is missing in\n{page}");
        }
    }

    #[test]
    fn portolan_and_every_verb_has_its_page() {
        check(&[], &[".TH portolan 1", "portolan\\-add(1)", "\\-\\-config"]);
        check(&["add"], &[".TH portolan-add 1", "\\-\\-header", "npx"]);
        check(&["secret", "set"], &["portolan\\-secret\\-set"]);
        assert!(matches!(page(&["no-such".to_owned()]), Err(Failure::Wrong(_))));
    }
}
