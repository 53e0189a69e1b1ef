//! What the verbs of a person at a terminal share: the running Portolan, and the screen that answers are shown on.

pub(crate) mod ago;
pub(crate) mod alone;
pub(crate) mod ask;
pub(crate) mod cli;
pub(crate) mod follow;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod reach;
pub(crate) mod rest;
pub(crate) mod screen;
pub(crate) mod servers;
pub(crate) mod table;
pub(crate) mod wrap;

use crate::{Failure, shutdown};
use anyhow::{Context as _, anyhow};
use cli::Shared;
use portolan_config::{Environment, Flags, Origin, Settings};
use rest::Rest;
use screen::Screen;
use std::io::ErrorKind;
use std::process::ExitCode;

/// What a verb works with.
pub(crate) struct Desk {
    pub(crate) rest: Rest,
    pub(crate) screen: Screen,
}

impl Shared {
    pub(crate) fn flags(&self) -> Flags {
        Flags { settings: self.settings.clone(), data: self.data.clone(), ..Flags::default() }
    }
}

/// Settings from all their layers. Nobody at a terminal asked for a log, so only warnings are shown unless somebody
/// has set what is logged.
pub(crate) fn settings(flags: &Flags, env: &Environment) -> Result<Settings, Failure> {
    let loaded =
        portolan_config::load_settings(flags, env).map_err(|errors| Failure::Wrong(errors.into()))?;
    let is_set = loaded.origins.get("log").is_some_and(|origin| *origin != Origin::Default);
    let filter = if is_set { loaded.settings.log.as_str() } else { "warn" };
    portolan_telemetry::logs::start(filter).map_err(|e| Failure::Wrong(anyhow!(e)))?;
    Ok(loaded.settings)
}

/// Does the work of a verb that needs a running Portolan.
pub(crate) fn work(
    shared: &Shared,
    verb: impl AsyncFnOnce(&Desk) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let settings = settings(&shared.flags(), &env)?;
    let desk = Desk { rest: reach::rest(shared, &settings, &env)?, screen: Screen::new(shared.json) };
    run(verb(&desk))
}

/// Runs a verb on a runtime.
pub(crate) fn run(verb: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    quietly(shutdown::run(verb).context("the runtime cannot be started")?)
}

/// Whoever closes our output has seen enough, as `head` does: that is no failure.
pub(crate) fn quietly(done: Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    match done {
        Err(Failure::Failed(error)) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
