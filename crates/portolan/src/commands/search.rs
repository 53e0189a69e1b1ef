//! `portolan search`: the tools that fit what is to be done.

use crate::terminal::cli::SearchArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::terminal::table::{Cell, Table};
use crate::{Failure, terminal};
use anstyle::Style;
use serde::Deserialize;
use serde_json::json;
use std::process::ExitCode;

#[derive(Deserialize)]
struct Answer {
    tools: Vec<Hit>,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Hit {
    name: String,
    description: Option<String>,
    score: f64,
    #[serde(default)]
    skill_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    reason: Option<String>,
    searched_tools: usize,
}

pub(crate) fn run(args: &SearchArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let mut body = json!({"query": args.query.join(" "), "limit": args.limit});
        if !args.server.is_empty() {
            body["server_filter"] = json!(args.server);
        }
        if !args.skill.is_empty() {
            body["skill_filter"] = json!(args.skill);
        }
        if let Some(strategy) = &args.strategy {
            body["strategy"] = json!(strategy);
        }
        let answer = desk.rest.ask(Ask::post(&["search"]).body(body.to_string())).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => {
                let found: Answer = answer.read()?;
                if found.tools.is_empty() {
                    let searched = found.metadata.searched_tools;
                    desk.screen
                        .line(&format!("nothing fits among {searched} tools: say it in other words"))?;
                } else {
                    desk.screen.table(&table(&found.tools))?;
                }
                if let Some(reason) = found.metadata.reason {
                    desk.screen.line(&format!("by words alone: {reason}"))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(tools: &[Hit]) -> Table {
    let mut table = Table::new(&["TOOL", "SCORE", "SKILLS", "DESCRIPTION"]);
    for tool in tools {
        let description = tool.description.as_deref().unwrap_or_default();
        let line = description.trim_start().lines().next().unwrap_or_default();
        // One sentence says what it does; the rest is for models.
        let first = line.split_inclusive(". ").next().unwrap_or_default().trim_end();
        let score = format!("{:.2}", tool.score);
        table.row([
            Cell::styled(&tool.name, Style::new()),
            Cell::styled(&score, Style::new()),
            Cell::styled(&tool.skill_ids.join(", "), Style::new()),
            Cell::styled(first, Style::new()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_its_name_its_score_and_the_first_line_about_it() {
        let hit = |name: &str, score: f64, about: Option<&str>| Hit {
            name: name.to_owned(),
            description: about.map(str::to_owned),
            score,
            skill_ids: about.map(|_| "documents".to_owned()).into_iter().collect(),
        };
        let tools = [hit("s.a", 0.875, Some("\nReads. Well.\nAt length.")), hit("s.b", 0.5, None)];
        assert_eq!(
            anstream::adapter::strip_str(&table(&tools).render(None)).to_string(),
            "TOOL  SCORE  SKILLS     DESCRIPTION\n\
             s.a   0.88   documents  Reads.\n\
             s.b   0.50\n"
        );
    }
}
