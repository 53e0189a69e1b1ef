//! `portolan list`: the servers as a table, once or for as long as somebody watches.

use crate::Failure;
use crate::shutdown::Signals;
use crate::terminal::cli::ListArgs;
use crate::terminal::follow::Follow;
use crate::terminal::screen::{self, Form, Onto, Size};
use crate::terminal::servers::{self, Server};
use crate::terminal::{self, Desk};
use anyhow::Context as _;
use std::process::ExitCode;
use std::time::Duration;

/// Events that follow each other this closely are one change to look at.
const BURST: Duration = Duration::from_millis(50);
/// How often the table is looked at again though nothing was told.
const REDRAW: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &ListArgs) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        if args.watch {
            return watch(desk, args).await;
        }
        let list = desk.rest.list(&["aggregator", "servers"], &query(args)).await?;
        match desk.screen.form {
            Form::Json => desk.screen.json(&list.text())?,
            Form::Words => desk.screen.print(&shown(desk, args, &list.read()?))?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn query(args: &ListArgs) -> Vec<(&'static str, &'static str)> {
    args.status.map(|status| ("status", status.as_str())).into_iter().collect()
}

fn shown(desk: &Desk, args: &ListArgs, all: &[Server]) -> String {
    match (all.is_empty(), args.status) {
        (true, None) => "no servers yet: `portolan add` and `portolan import` bring some in\n".to_owned(),
        (true, Some(status)) => format!("no server is {}\n", status.as_str()),
        (false, _) => servers::table(all).render(desk.screen.size().map(|size| size.columns)),
    }
}

/// Watches until it is told to end, which is no failure.
async fn watch(desk: &Desk, args: &ListArgs) -> Result<ExitCode, Failure> {
    let mut signals = Signals::new().context("signals cannot be heard")?;
    let watching = async {
        match (desk.screen.form, desk.screen.onto) {
            (Form::Words, Onto::Terminal) => redraw(desk, args).await,
            (Form::Json, _) | (_, Onto::Elsewhere) => lines(desk).await,
        }
    };
    tokio::select! {
        ended = watching => ended.map(|()| ExitCode::SUCCESS),
        () = signals.next() => Ok(ExitCode::SUCCESS),
    }
}

/// One line of JSON an event, as it came.
pub(crate) async fn lines(desk: &Desk) -> Result<(), Failure> {
    let mut follow = Follow::start(&desk.rest).await?;
    loop {
        screen::write(follow.next().await?.text.as_bytes(), b"\n")?;
    }
}

/// The table, drawn over itself whenever something has happened.
async fn redraw(desk: &Desk, args: &ListArgs) -> Result<(), Failure> {
    let mut follow = Follow::start(&desk.rest).await?;
    let mut servers: Vec<Server> = Vec::new();
    let mut drawn = 0;
    loop {
        match desk.rest.list(&["aggregator", "servers"], &query(args)).await {
            Ok(list) => servers = list.read()?,
            // What was known last stays until it answers again.
            Err(error) if error.is_passing() && drawn > 0 => {}
            Err(error) => return Err(error.into()),
        }
        drawn = draw(desk, drawn, &shown(desk, args, &servers))?;
        let mut patience = REDRAW;
        while let Ok(happening) = tokio::time::timeout(patience, follow.next()).await {
            happening?;
            patience = BURST;
        }
    }
}

/// Draws over the lines that were drawn before; returns how many there are now.
fn draw(desk: &Desk, before: usize, text: &str) -> Result<usize, Failure> {
    let text = fit(text, desk.screen.size());
    if before > 0 {
        // Up to the first line, and everything below it away. Colour may be switched off, this may not.
        screen::write(format!("\x1b[{before}A\x1b[J").as_bytes(), b"")?;
    }
    desk.screen.print(&text)?;
    Ok(text.lines().count())
}

/// As many lines as the terminal holds: what has left it at the top cannot be drawn over.
fn fit(text: &str, size: Option<Size>) -> String {
    let lines = text.lines().count();
    let Some(most) = size.map(|size| size.rows.saturating_sub(1)).filter(|most| lines > *most) else {
        return text.to_owned();
    };
    let kept: Vec<&str> = text.lines().take(most.saturating_sub(1)).collect();
    format!("{}\n… and {} more\n", kept.join("\n"), lines - kept.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_terminal_cannot_hold_is_counted() {
        let text = "head\na\nb\nc\n";
        let size = |rows| Some(Size { rows, columns: 80 });
        assert_eq!(fit(text, None), text);
        assert_eq!(fit(text, size(5)), text);
        assert_eq!(fit(text, size(4)), "head\na\n… and 2 more\n");
    }
}
