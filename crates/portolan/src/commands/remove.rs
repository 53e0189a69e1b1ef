//! `portolan remove`.

use crate::terminal::ask::{Decision, confirm};
use crate::terminal::cli::RemoveArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::{Failure, terminal};
use anyhow::anyhow;
use std::process::ExitCode;

pub(crate) fn run(args: &RemoveArgs) -> Result<ExitCode, Failure> {
    let question = format!("Remove {} and everything that is kept about it?", args.server);
    if !args.yes && confirm(&question)? == Decision::No {
        return Err(Failure::Failed(anyhow!("{} stays", args.server)));
    }
    terminal::work(&args.shared, async |desk| {
        let path = ["aggregator", "servers", &args.server];
        let force = if args.force { "true" } else { "false" };
        let (query, what) = ([("force", force)], format!("{} may end its calls", args.server));
        let ask = Ask::delete(&path).query(&query).patient();
        let answer = desk.screen.during(what, desk.rest.ask(ask)).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => desk.screen.line(&format!("{} is removed", args.server))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
