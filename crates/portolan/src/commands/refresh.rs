//! `portolan refresh`: has a server's tools listed again.

use super::connect::Outcome;
use crate::terminal::cli::ServerArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::{Failure, terminal};
use std::process::ExitCode;

pub(crate) fn run(args: &ServerArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let path = ["aggregator", "servers", &args.server, "tools", "refresh"];
        let answer = desk.rest.ask(Ask::post(&path)).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => desk.screen.line(&answer.read::<Outcome>()?.told(&args.server))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
