//! `portolan history`: what has become of a server, the latest first.

use crate::terminal::ago::ago;
use crate::terminal::cli::HistoryArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::terminal::servers::style_of;
use crate::terminal::table::{Cell, Table};
use crate::{Failure, terminal};
use serde::Deserialize;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Deserialize)]
struct Entry {
    event_type: String,
    #[serde(default)]
    details: Value,
    timestamp: String,
}

pub(crate) fn run(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let (path, limit) = (["aggregator", "servers", &args.server, "history"], args.limit.to_string());
        let answer = desk.rest.ask(Ask::get(&path).query(&[("limit", &limit)])).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => {
                let entries: Vec<Entry> = answer.read()?;
                if entries.is_empty() {
                    desk.screen.line(&format!("nothing has happened to {} yet", args.server))?;
                } else {
                    desk.screen.table(&table(&entries))?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn table(entries: &[Entry]) -> Table {
    let mut table = Table::new(&["WHEN", "STATE", "DETAIL"]);
    for Entry { event_type, details, timestamp } in entries {
        let state = Cell::styled(event_type, style_of(event_type));
        table.row([
            Cell::from(ago(timestamp)),
            state,
            Cell::from(words(details.as_object().into_iter().flatten())),
        ]);
    }
    table
}

/// What is known beside the state: one thing as it is, several with their names.
pub(crate) fn words<'a>(details: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let known: Vec<(&String, String)> =
        details.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, text(value))).collect();
    match &known[..] {
        [(_, only)] => only.clone(),
        several => {
            several.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_detail_needs_no_name_and_several_do() {
        let entries: Vec<Entry> = serde_json::from_value(json!([
            {"event_type": "ERROR", "details": {"reason": "connection refused", "x": null}, "timestamp": "t1"},
            {"event_type": "CONNECTED", "details": {"tools": 3, "revision": "2025-11-25"}, "timestamp": "t2"},
            {"event_type": "CONNECTING", "timestamp": "t3"},
        ]))
        .unwrap();
        assert_eq!(
            anstream::adapter::strip_str(&table(&entries).render(None)).to_string(),
            "WHEN  STATE       DETAIL\n\
             t1    ERROR       connection refused\n\
             t2    CONNECTED   revision=2025-11-25 tools=3\n\
             t3    CONNECTING\n"
        );
    }
}
