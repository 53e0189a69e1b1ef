//! `portolan agents`: the agent of each server, and what it has done.

use crate::terminal::ago::ago;
use crate::terminal::cli::AgentsArgs;
use crate::terminal::screen::Form;
use crate::terminal::table::{Cell, Table};
use crate::{Failure, terminal};
use serde::Deserialize;
use std::process::ExitCode;

#[derive(Deserialize)]
struct Agent {
    name: String,
    status: String,
    tool_count: u64,
    calls: u64,
    errors: u64,
    tokens_in: u64,
    tokens_out: u64,
    cost: String,
    latency_mean_ms: Option<u64>,
    latency_max_ms: Option<u64>,
    last_used_at: Option<String>,
}

pub(crate) fn run(args: &AgentsArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let list = desk.rest.list(&["agents"], &[]).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&list.text())?,
            Form::Words => {
                let agents: Vec<Agent> = list.read()?;
                if agents.is_empty() {
                    desk.screen.line("no agents: each server has one, and there are no servers yet")?;
                } else {
                    desk.screen.table(&table(&agents))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(agents: &[Agent]) -> Table {
    let titles =
        &["AGENT", "STATUS", "TOOLS", "CALLS", "ERRORS", "TOKENS", "COST", "MEAN", "MAX", "LAST USED"];
    let mut table = Table::new(titles);
    let time = |millis: Option<u64>| millis.map(|millis| format!("{millis} ms")).unwrap_or_default();
    for agent in agents {
        table.row([
            Cell::from(&agent.name),
            Cell::from(&agent.status),
            Cell::from(agent.tool_count.to_string()),
            Cell::from(agent.calls.to_string()),
            Cell::from(agent.errors.to_string()),
            Cell::from(format!("{}/{}", agent.tokens_in, agent.tokens_out)),
            Cell::from(&agent.cost),
            Cell::from(time(agent.latency_mean_ms)),
            Cell::from(time(agent.latency_max_ms)),
            Cell::from(agent.last_used_at.as_deref().map(ago).unwrap_or_default()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_agent_is_its_name_and_its_numbers() {
        let used = json!({
            "name": "git", "status": "CONNECTED", "tool_count": 12, "calls": 3, "errors": 1, "tokens_in": 900,
            "tokens_out": 40, "cost": "0.0015", "latency_mean_ms": 80, "latency_max_ms": 200, "last_used_at": "odd",
        });
        let idle = json!({
            "name": "a", "status": "ERROR", "tool_count": 0, "calls": 0, "errors": 0, "tokens_in": 0,
            "tokens_out": 0, "cost": "0", "latency_mean_ms": null, "latency_max_ms": null, "last_used_at": null,
        });
        let agents: Vec<Agent> = serde_json::from_value(json!([used, idle])).unwrap();
        assert_eq!(
            anstream::adapter::strip_str(&table(&agents).render(None)).to_string(),
            "AGENT  STATUS     TOOLS  CALLS  ERRORS  TOKENS  COST    MEAN   MAX     LAST USED\n\
             git    CONNECTED  12     3      1       900/40  0.0015  80 ms  200 ms  odd\n\
             a      ERROR      0      0      0       0/0     0\n"
        );
    }
}
