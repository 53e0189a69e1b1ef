//! `portolan query`: one question to many servers, and what they know in one ranking.

mod shown;

use crate::terminal::alone::{self, Errand};
use crate::terminal::cli::QueryArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::{Form, Screen};
use crate::{Failure, terminal};
use anyhow::Context as _;
use portolan_query::TOOL_NAME;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let body = body(args);
    let what = "asking the servers".to_owned();
    let Some(config) = &args.config else {
        return terminal::work(&args.shared, async |desk| {
            let ask = Ask::post(&["aggregator", "query"]).body(body.to_string()).patient();
            let answer = desk.screen.during(what, desk.rest.ask(ask)).await?;
            show(&desk.screen, &answer.text)
        });
    };
    let servers: Vec<&str> = args.server.iter().map(String::as_str).collect();
    alone::run(
        Errand { shared: &args.shared, config, what },
        |all| if servers.is_empty() { Ok(()) } else { alone::only(all, &servers) },
        async |talk| talk.ask(TOOL_NAME, &body).await,
        |screen, answer| show(screen, answer.get()),
    )
}

fn body(args: &QueryArgs) -> Value {
    let mut body = json!({"query": args.query.join(" ")});
    if let Some(most) = args.max_results {
        body["maxResults"] = json!(most);
    }
    if !args.server.is_empty() {
        body["servers"] = json!(args.server);
    }
    body
}

fn show(screen: &Screen, text: &str) -> Result<ExitCode, Failure> {
    match screen.form {
        Form::Json => screen.json(text)?,
        Form::Words => {
            let answer: shown::Answer = serde_json::from_str(text)
                .context("the answer is not what a Portolan of this version gives")?;
            screen.print(&answer.shown(screen.size().map(|size| size.columns)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
