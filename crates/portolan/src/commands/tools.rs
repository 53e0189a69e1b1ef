//! `portolan tools`: what can be called.

use crate::terminal::cli::ToolsArgs;
use crate::terminal::screen::Form;
use crate::terminal::table::{Cell, Table};
use crate::{Failure, terminal};
use anstyle::Style;
use serde::Deserialize;
use serde_json::Value;
use std::process::ExitCode;

/// What people read of a tool.
#[derive(Deserialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) original_name: String,
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) input_schema: Value,
    #[serde(default = "yes")]
    enabled: bool,
    #[serde(default = "yes")]
    available: bool,
}

fn yes() -> bool {
    true
}

pub(crate) fn run(args: &ToolsArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let list = match &args.server {
            Some(server) => desk.rest.list(&["aggregator", "servers", server, "tools"], &[]).await?,
            None => desk.rest.list(&["aggregator", "tools"], &[]).await?,
        };
        match desk.screen.form {
            Form::Json => desk.screen.json(&list.text())?,
            Form::Words => {
                let tools: Vec<Tool> = list.read()?;
                if tools.is_empty() {
                    desk.screen.line("no tools: `portolan list` shows which servers are connected")?;
                } else {
                    desk.screen.table(&table(&tools))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(tools: &[Tool]) -> Table {
    let mut table = Table::new(&["TOOL", "STATE", "DESCRIPTION"]);
    for tool in tools {
        let (state, style) = match (tool.enabled, tool.available) {
            (false, _) => ("off", Style::new().dimmed()),
            (true, false) => ("away", Style::new().dimmed()),
            (true, true) => ("on", Style::new()),
        };
        let description = tool.description.as_deref().unwrap_or_default();
        // The first line is what it does; the rest is for models.
        let first = description.trim_start().lines().next().unwrap_or_default();
        table.row([Cell::styled(&tool.name, style), Cell::styled(state, style), Cell::styled(first, style)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_its_name_its_state_and_the_first_line_about_it() {
        let tool = |name: &str, more: Value| {
            let mut tool = json!({"name": format!("s.{name}"), "original_name": name, "description": null});
            tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value::<Tool>(tool).unwrap()
        };
        let tools = [
            tool("a", json!({"description": "\nReads.\nAt length."})),
            tool("b", json!({"enabled": false, "available": false})),
            tool("c", json!({"enabled": true, "available": false})),
        ];
        assert_eq!(
            anstream::adapter::strip_str(&table(&tools).render(None)).to_string(),
            "TOOL  STATE  DESCRIPTION\n\
             s.a   on     Reads.\n\
             s.b   off\n\
             s.c   away\n"
        );
    }
}
