//! What a model is shown of 10 to 2,000 real tools, and what a task with one of them costs: whole lists against search.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a measuring program talks to people")]

mod conversation;
mod corpus;
mod measure;
mod report;
mod stage;
mod tasks;
mod tokens;

use anyhow::{Result, bail, ensure};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::measure::{Plan, measure};
use crate::tokens::Tokenizer;

const USAGE: &str = "portolan-tokens [--data FOLDER] [--gateway PATH]";
const TOOLS: &str = "toucan_mcp_corpus/tools.jsonl";
const SIZES: [usize; 4] = [10, 100, 500, 2000];

#[derive(Debug)]
struct Options {
    data: PathBuf,
    /// The gateway to measure, instead of the `portolan` beside this program.
    gateway: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match options(&args).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tokens: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn options(args: &[&str]) -> Result<Options> {
    let mut options = Options { data: PathBuf::from("../shared/data"), gateway: None };
    let mut rest = args;
    while let [first, after @ ..] = rest {
        rest = match (*first, after) {
            ("--data", [folder, after @ ..]) => {
                options.data = PathBuf::from(folder);
                after
            }
            ("--gateway", [path, after @ ..]) => {
                options.gateway = Some(PathBuf::from(path));
                after
            }
            _ => bail!("{first:?} is not understood\n{USAGE}"),
        };
    }
    Ok(options)
}

fn run(options: &Options) -> Result<()> {
    let (tokenizer, tasks) = (Tokenizer::new()?, tasks::all()?);
    let chosen = corpus::choose(corpus::read(&options.data.join(TOOLS))?, &SIZES)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut sets = Vec::new();
    for size in SIZES {
        eprintln!("measuring {size} tools …");
        let servers = corpus::first(&chosen, size);
        let plan = Plan { servers, tasks: &tasks, gateway: options.gateway.as_deref() };
        sets.push(runtime.block_on(measure(&plan, &tokenizer))?);
    }
    let tried = sets.last().map_or(0, |set| set.tried.len());
    ensure!(tried == tasks.len(), "only {tried} of {} tasks have their tool in a set", tasks.len());
    print!("{}", report::markdown(&sets));
    Ok(())
}
