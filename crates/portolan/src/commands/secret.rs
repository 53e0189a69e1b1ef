//! `portolan secret`: what `${NAME}` stands for in registered servers. Values go in and never come out.

use crate::terminal::ago::ago;
use crate::terminal::ask;
use crate::terminal::cli::{SecretArgs, SecretListArgs, SecretNameArgs, SecretVerb};
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::terminal::table::{Cell, Table};
use crate::{Failure, terminal};
use serde::Deserialize;
use serde_json::json;
use std::process::ExitCode;

#[derive(Deserialize)]
pub(crate) struct Kept {
    pub(crate) name: String,
    updated_at: String,
    #[serde(default)]
    used_by: Vec<String>,
}

pub(crate) fn run(args: &SecretArgs) -> Result<ExitCode, Failure> {
    match &args.verb {
        SecretVerb::Set(args) => set(args),
        SecretVerb::List(args) => list(args),
        SecretVerb::Remove(args) => remove(args),
    }
}

fn set(args: &SecretNameArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let value = ask::secret(&args.name).await?;
        let body = json!({"value": value.reveal()}).to_string();
        let answer = desk.rest.ask(Ask::put(&["secrets", &args.name]).body(body)).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => desk.screen.line(&format!("{} is set: write it as ${{{0}}}", args.name))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn list(args: &SecretListArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let answer = desk.rest.ask(Ask::get(&["secrets"])).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => {
                let secrets: Vec<Kept> = answer.read()?;
                if secrets.is_empty() {
                    desk.screen.line("no secrets yet: `portolan secret set NAME` sets one")?;
                } else {
                    desk.screen.table(&table(&secrets))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(secrets: &[Kept]) -> Table {
    let mut table = Table::new(&["NAME", "SET", "USED BY"]);
    for Kept { name, updated_at, used_by } in secrets {
        table.row([Cell::from(name), Cell::from(ago(updated_at)), Cell::from(used_by.join(", "))]);
    }
    table
}

fn remove(args: &SecretNameArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let answer = desk.rest.ask(Ask::delete(&["secrets", &args.name])).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => desk.screen.line(&format!("{} is removed", args.name))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
