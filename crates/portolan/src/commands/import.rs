//! `portolan import`: brings in the servers that other programs have configured, and leaves their files as they are.

mod draft;
mod plan;
mod sources;

use super::secret::Kept;
use super::serve;
use crate::Failure;
use crate::terminal::ask::{Decision, confirm};
use crate::terminal::cli::ImportArgs;
use crate::terminal::rest::{Ask, Found, Rest, RestError, address};
use crate::terminal::screen::{Form, Screen};
use crate::terminal::servers::Server;
use crate::terminal::{self, reach};
use anyhow::anyhow;
use http::StatusCode;
use plan::{Plan, Row, Step, There};
use portolan_config::Environment;
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let settings = terminal::settings(&args.shared.flags(), &env)?;
    let sources = sources::find(args.from.as_deref(), &env)?;
    let screen = Screen::new(args.shared.json);
    terminal::run(async {
        let found = match reach::rest(&args.shared, &settings, &env) {
            Ok(rest) => look(&rest).await.map(|there| (rest, there)),
            Err(failure) => Err(failure),
        };
        match found {
            Ok((rest, there)) => bring_in(args, Plan::new(sources, Some(&there), &env), &rest, &screen).await,
            Err(failure) if !is_absence(&failure) => Err(failure),
            Err(_) if args.dry_run => only_show(&screen, &Plan::new(sources, None, &env)),
            // They connect when one is started.
            Err(_) => {
                serve::at_rest(settings, env.clone(), async |url| {
                    let rest = Rest::new(address(&url, "the registry")?, Found::Own)?;
                    let there = look(&rest).await?;
                    bring_in(args, Plan::new(sources, Some(&there), &env), &rest, &screen).await
                })
                .await
            }
        }
    })
}

async fn bring_in(args: &ImportArgs, plan: Plan, rest: &Rest, screen: &Screen) -> Result<ExitCode, Failure> {
    if args.dry_run { only_show(screen, &plan) } else { import(args, plan, rest, screen).await }
}

/// What is there already.
async fn look(rest: &Rest) -> Result<There, Failure> {
    let servers: Vec<Server> = rest.list(&["aggregator", "servers"], &[]).await?.read()?;
    let secrets: Vec<Kept> = rest.ask(Ask::get(&["secrets"])).await?.read()?;
    Ok(There {
        servers: servers.into_iter().map(|server| server.name).collect(),
        secrets: secrets.into_iter().map(|secret| secret.name).collect(),
    })
}

/// Whether it has failed only because no Portolan is running here.
fn is_absence(failure: &Failure) -> bool {
    match failure {
        Failure::Failed(error) => matches!(error.downcast_ref(), Some(RestError::NotRunning)),
        Failure::Wrong(_) => false,
    }
}

fn only_show(screen: &Screen, plan: &Plan) -> Result<ExitCode, Failure> {
    match screen.form {
        Form::Json => screen.json(&plan.json().to_string())?,
        Form::Words => plan.show(screen)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the plan, asks, and carries it out.
async fn import(
    args: &ImportArgs,
    mut plan: Plan,
    rest: &Rest,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    if screen.form == Form::Words {
        plan.show(screen)?;
    }
    let count = plan.additions();
    if count > 0 && !args.yes {
        let question = format!("Add {count} {}?", if count == 1 { "server" } else { "servers" });
        if tokio::task::block_in_place(|| confirm(&question))? == Decision::No {
            return Err(Failure::Failed(anyhow!("nothing was added")));
        }
    }
    screen.during("importing", carry_out(&mut plan, rest)).await?;
    let failed = plan.rows.iter().filter(|row| matches!(row.step, Step::Failed(_))).count();
    match screen.form {
        Form::Json => screen.json(&plan.json().to_string())?,
        Form::Words if count > 0 => {
            let next = if rest.is_at_rest() {
                "`portolan serve` connects them"
            } else {
                "`portolan list` shows how they connect"
            };
            plan.show_outcome(screen, next)?;
        }
        Form::Words => {}
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// Sets the secrets first: a server that names one which is not there would be refused.
async fn carry_out(plan: &mut Plan, rest: &Rest) -> Result<(), Failure> {
    for (name, value) in &plan.secrets {
        let body = json!({"value": value.reveal()}).to_string();
        rest.ask(Ask::put(&["secrets", name]).body(body)).await?;
    }
    for row in &mut plan.rows {
        let Row { step, .. } = row;
        let Step::Add { spec, .. } = &*step else { continue };
        let body = draft::of(spec).to_string();
        *step = match rest.ask(Ask::post(&["aggregator", "servers"]).body(body)).await {
            Ok(_) => Step::Added,
            Err(RestError::Refused { status: StatusCode::CONFLICT, message }) => Step::Skip(message),
            Err(RestError::Refused { message, .. }) => Step::Failed(message),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(())
}
