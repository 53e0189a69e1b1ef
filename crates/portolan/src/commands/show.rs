//! `portolan show`: one server in full.

use crate::terminal::ago::ago;
use crate::terminal::cli::ServerArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::Form;
use crate::terminal::servers::Server;
use crate::terminal::table::{Cell, Table};
use crate::{Failure, terminal};
use serde_json::Value;
use std::process::ExitCode;

pub(crate) fn run(args: &ServerArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let answer = desk.rest.ask(Ask::get(&["aggregator", "servers", &args.server])).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words => desk.screen.table(&facts(&answer.read()?))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// How a server is reached, in the order in which people say it.
const CONFIG: [&str; 7] = ["command", "args", "cwd", "env", "url", "base_url", "headers"];

/// One line a fact; what there is nothing to say of has none.
fn facts(server: &Server) -> Table {
    let moment = |moment: &Option<String>| Cell::from(moment.as_deref().map(ago).unwrap_or_default());
    let words_of = |text: &Option<String>| Cell::from(text.as_deref().unwrap_or_default());
    let connected_at = server.connected_at.clone().filter(|_| server.is_connected());
    let timeout = server.timeout.map(|seconds| format!("{seconds} s")).unwrap_or_default();
    let before = [
        ("name", Cell::from(&server.name)),
        ("description", words_of(&server.description)),
        ("status", server.status()),
        ("problem", words_of(&server.error_message)),
        ("connected", moment(&connected_at)),
        ("transport", Cell::from(&server.transport_type)),
    ];
    let after = [
        ("tools", Cell::from(server.tool_count.to_string())),
        ("call limit", Cell::from(timeout)),
        ("health check", words_of(&server.health_check_url)),
        ("last checked", moment(&server.last_health_check)),
        ("connects", Cell::from(if server.auto_connect { "by itself" } else { "when asked" })),
        ("source", Cell::from(&server.source)),
        ("registered", moment(&server.registered_at)),
        ("id", Cell::from(&server.id)),
    ];
    let config = CONFIG.map(|key| (key, Cell::from(words(&server.connection_config[key]))));
    let mut table = Table::new(&[]);
    for (name, cell) in before.into_iter().chain(config).chain(after) {
        if !cell.is_empty() {
            table.row([Cell::from(name), cell]);
        }
    }
    table
}

/// A part of how a server is reached, on one line.
fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Object(pairs) => pairs
            .iter()
            .map(|(name, value)| format!("{name}={}", words(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_that_is_known_has_its_line_and_nothing_else() {
        let server: Server = serde_json::from_value(json!({
            "id": "7", "name": "web", "status": "ERROR", "transport_type": "HTTP", "source": "REGISTERED",
            "connection_config": {"headers": {"A": "***", "B": "***"}, "url": "https://h"},
            "error_message": "401", "timeout": 2.5, "tool_count": 0, "auto_connect": true, "connected_at": "odd",
            "registered_at": "odd",
        }))
        .unwrap();
        assert_eq!(
            anstream::adapter::strip_str(&facts(&server).render(None)).to_string(),
            "name        web\n\
             status      ERROR\n\
             problem     401\n\
             transport   HTTP\n\
             url         https://h\n\
             headers     A=***, B=***\n\
             tools       0\n\
             call limit  2.5 s\n\
             connects    by itself\n\
             source      REGISTERED\n\
             registered  odd\n\
             id          7\n"
        );
    }
}
