//! `portolan ask`: one question to the agent of a server.

use crate::terminal::alone::{self, Errand};
use crate::terminal::cli::AskArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::{Form, Screen, plain, plain_lines};
use crate::{Failure, terminal};
use anstyle::Style;
use anyhow::{Context as _, anyhow};
use portolan_agent::tool;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;

const DIM: Style = Style::new().dimmed();

#[derive(Deserialize)]
struct Report {
    error: Option<Problem>,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Problem {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    tools_used: Vec<String>,
    answer: String,
    model: Option<String>,
    usage: Usage,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cost: Option<String>,
}

pub(crate) fn run(args: &AskArgs) -> Result<ExitCode, Failure> {
    let mut body = body(args);
    let what = format!("asking {}", args.connector);
    let Some(config) = &args.config else {
        return terminal::work(&args.shared, async |desk| {
            let place = ["agents", args.connector.as_str(), "query"];
            let ask = Ask::post(&place).body(body.to_string()).patient();
            let answer = desk.screen.during(what, desk.rest.ask(ask)).await?;
            show(&desk.screen, &answer.text)
        });
    };
    body["connectorId"] = json!(args.connector);
    alone::run(
        Errand { shared: &args.shared, config, what },
        |servers| alone::only(servers, &[&args.connector]),
        async |talk| talk.ask(tool::NAME, &body).await,
        |screen, answer| show(screen, answer.get()),
    )
}

fn body(args: &AskArgs) -> Value {
    let mut body = json!({"query": args.query.join(" ")});
    if let Some(context) = &args.context {
        body["context"] = json!(context);
    }
    if let Some(most) = args.max_tools {
        body["maxTools"] = json!(most);
    }
    if args.allow_destructive {
        body["allowDestructive"] = json!(true);
    }
    body
}

/// Shows a report as it came. One that says that the question failed ends with code 1, whatever was found until then.
fn show(screen: &Screen, text: &str) -> Result<ExitCode, Failure> {
    let report: Report =
        serde_json::from_str(text).context("the answer is not what a Portolan of this version gives")?;
    match (screen.form, &report.error) {
        (Form::Json, error) => {
            screen.json(text)?;
            Ok(error.as_ref().map_or(ExitCode::SUCCESS, |_| ExitCode::from(crate::FAILED)))
        }
        (Form::Words, None) => {
            screen.foreign(&report.metadata.answer)?;
            screen.print(&report.metadata.footer())?;
            Ok(ExitCode::SUCCESS)
        }
        (Form::Words, Some(error)) => {
            if !report.metadata.tools_used.is_empty() {
                screen.foreign(&report.metadata.answer)?;
                screen.print(&report.metadata.footer())?;
            }
            Err(Failure::Failed(anyhow!(plain_lines(&error.message))))
        }
    }
}

impl Metadata {
    /// How the answer came about.
    fn footer(&self) -> String {
        let tools = match self.tools_used.as_slice() {
            [] => "no tools used".to_owned(),
            tools => format!("tools used: {}", plain(&tools.join(", "))),
        };
        let model = self.model.as_deref().map(|model| {
            let Usage { input_tokens, output_tokens, cost } = &self.usage;
            let cost = cost.as_deref().map(|cost| format!(", cost {}", plain(cost))).unwrap_or_default();
            format!("; {}: {input_tokens} tokens in, {output_tokens} out{cost}", plain(model))
        });
        let mut text = String::from("\n");
        // Some answers say themselves what is to be known beside them.
        let notes = self.notes.iter().filter(|note| !self.answer.contains(note.as_str()));
        let lines = std::iter::once(tools + &model.unwrap_or_default())
            .chain(notes.map(|note| plain(note).into_owned()));
        for line in lines {
            // Writing to a String cannot fail.
            writeln!(text, "{DIM}{line}{DIM:#}").unwrap_or_default();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(metadata: Value, expected: &str) {
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        assert_eq!(anstream::adapter::strip_str(&metadata.footer()).to_string(), expected);
    }

    #[test]
    fn below_an_answer_stands_how_it_came_about() {
        check(
            json!({
                "toolsUsed": ["find", "read"], "answer": "a", "model": "m-1", "notes": [],
                "usage": {"inputTokens": 12, "outputTokens": 3, "cost": "0.0015"},
            }),
            "\ntools used: find, read; m-1: 12 tokens in, 3 out, cost 0.0015\n",
        );
        check(
            json!({
                "toolsUsed": [], "answer": "No model.\n1.", "model": null, "notes": ["By search\nalone.", "No model."],
                "usage": {"inputTokens": 0, "outputTokens": 0},
            }),
            "\nno tools used\nBy search alone.\n",
        );
    }
}
