//! `portolan events`: what happens, as it happens.

use super::{history, list};
use crate::Failure;
use crate::shutdown::Signals;
use crate::terminal::cli::EventsArgs;
use crate::terminal::follow::{Follow, Told};
use crate::terminal::screen::{Form, plain};
use crate::terminal::servers::style_of;
use crate::terminal::{self, Desk};
use anyhow::Context as _;
use serde_json::Value;
use std::process::ExitCode;

pub(crate) fn run(args: &EventsArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let mut signals = Signals::new().context("signals cannot be heard")?;
        let following = async {
            match desk.screen.form {
                Form::Json => list::lines(desk).await,
                Form::Words => words(desk).await,
            }
        };
        tokio::select! {
            ended = following => ended.map(|()| ExitCode::SUCCESS),
            () = signals.next() => Ok(ExitCode::SUCCESS),
        }
    })
}

async fn words(desk: &Desk) -> Result<(), Failure> {
    let mut follow = Follow::start(&desk.rest).await?;
    loop {
        desk.screen.line(&line(follow.next().await?.told))?;
    }
}

/// When, what and to whom; a state in its colour.
fn line(mut told: Told) -> String {
    for known in ["id", "server_id"] {
        told.details.remove(known);
    }
    let status = told.details.remove("status").as_ref().and_then(Value::as_str).map(str::to_owned);
    let style = style_of(status.as_deref().unwrap_or_default());
    let status = plain(status.as_deref().unwrap_or_default()).into_owned();
    let details = history::words(told.details.iter());
    let name = told.server_name.unwrap_or_default();
    let status = format!("{style}{status}{style:#}");
    let parts = [plain(&told.at), plain(&told.kind), plain(&name), status.into(), plain(&details)];
    parts.iter().filter(|part| !part.is_empty()).map(|part| &**part).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(event: Value, expected: &str) {
        let line = line(serde_json::from_value(event).unwrap());
        assert_eq!(anstream::adapter::strip_str(&line).to_string(), expected);
    }

    #[test]
    fn an_event_is_one_line_without_ids() {
        check(
            json!({"id": 3, "type": "server.status", "at": "2025-01-08T10:00:00.005Z", "server_id": "u",
                "server_name": "github", "status": "ERROR", "error_message": "connection\nrefused"}),
            "2025-01-08T10:00:00.005Z  server.status  github  ERROR  connection refused",
        );
        check(
            json!({"id": 4, "type": "tools.changed", "at": "t", "server_id": "u", "server_name": "a", "added": 1, "removed": 2}),
            "t  tools.changed  a  added=1 removed=2",
        );
        check(
            json!({"id": 5, "type": "log.reset", "at": "t", "server_id": null, "server_name": null}),
            "t  log.reset",
        );
        check(json!({"type": "of the future"}), "of the future");
    }
}
