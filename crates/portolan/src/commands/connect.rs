//! `portolan connect` and `portolan reconnect`.

use crate::terminal::cli::ConnectArgs;
use crate::terminal::rest::Ask;
use crate::terminal::screen::{self, Form};
use crate::{Failure, terminal};
use anyhow::anyhow;
use serde::Deserialize;
use std::process::ExitCode;

/// What is to become of a session that there may be already.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// It stays.
    Connect,
    /// Another takes its place.
    Reconnect,
}

/// The answer to a connect, a reconnect or a refresh.
#[derive(Deserialize)]
pub(crate) struct Outcome {
    pub(crate) status: String,
    pub(crate) message: String,
}

pub(crate) fn run(args: &ConnectArgs, way: Way) -> Result<ExitCode, Failure> {
    terminal::work(&args.shared, async |desk| {
        let verb = match way {
            Way::Connect => "connect",
            Way::Reconnect => "reconnect",
        };
        let path = ["aggregator", "servers", &args.server, verb];
        let mut ask = Ask::post(&path);
        if args.wait {
            ask = ask.query(&[("wait", "true")]).patient();
        }
        let answer = desk.screen.during(format!("connecting {}", args.server), desk.rest.ask(ask)).await?;
        let outcome: Outcome = answer.read()?;
        let has_failed = outcome.status == "ERROR" || (args.wait && outcome.status != "CONNECTED");
        match desk.screen.form {
            Form::Json => desk.screen.json(&answer.text)?,
            Form::Words if has_failed => return Err(Failure::Failed(anyhow!(outcome.told(&args.server)))),
            Form::Words => desk.screen.line(&outcome.told(&args.server))?,
        }
        Ok(if has_failed { ExitCode::from(crate::FAILED) } else { ExitCode::SUCCESS })
    })
}

impl Outcome {
    /// The state, and what the message says beyond it.
    pub(crate) fn told(&self, server: &str) -> String {
        let Self { status, message } = self;
        let told = if message.is_empty() || message.eq_ignore_ascii_case(status) {
            format!("{server} is {status}")
        } else {
            format!("{server} is {status}: {message}")
        };
        screen::plain(&told).into_owned()
    }
}
