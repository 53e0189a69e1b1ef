//! A Portolan for one errand: it lives for as long as that takes, with the servers of a file, whether or not another runs.

mod talk;

pub(crate) use talk::Talk;

use super::cli::Shared;
use super::screen::Screen;
use crate::shutdown::{self, Signals};
use crate::{Failure, terminal, wire_up};
use anyhow::{Context as _, anyhow};
use portolan_config::{ConfigErrors, Environment, Flags, NamesSetting, Servers, Settings};
use serde_json::value::RawValue;
use std::path::Path;
use std::process::ExitCode;

/// What lies between the two ends of the conversation at most.
const PIPE: usize = 64 * 1024;

/// Where the servers are written, and what people are told while they wait.
pub(crate) struct Errand<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) config: &'a Path,
    pub(crate) what: String,
}

/// Starts the servers of the file that `narrow` leaves, has `talk` say what is to be said, and shows what came of it.
pub(crate) fn run(
    errand: Errand<'_>,
    narrow: impl FnOnce(&mut Servers) -> Result<(), Failure>,
    talk: impl AsyncFnOnce(&mut Talk) -> Result<Box<RawValue>, Failure>,
    show: impl FnOnce(&Screen, &RawValue) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let Errand { shared, config, what } = errand;
    let env = Environment::of_process();
    let flags = Flags { config: Some(config.to_owned()), ..shared.flags() };
    let settings = terminal::settings(&flags, &env)?;
    let mut servers = wire_up::servers(config, &settings)?;
    narrow(&mut servers)?;
    let problems = portolan_config::check_variables(&servers, &env);
    if !problems.is_empty() {
        return Err(Failure::Wrong(ConfigErrors { path: config.to_owned(), problems }.into()));
    }
    let settings = Settings {
        // The list of tools waits until every server has come or failed.
        list_wait: settings.limits.connect_timeout,
        names: NamesSetting::Dot,
        ..settings
    };
    let screen = Screen::new(shared.json);
    terminal::run(async {
        let gateway = wire_up::of_file(settings, env, config)?;
        let mut signals = Signals::new().and_then(Signals::with_hangup).context("signals cannot be heard")?;
        gateway.apply(servers.specs).await;
        let (near, far) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        let serving = portolan_front::stdio::serve(gateway.front.clone(), input, output);
        let mut serving = std::pin::pin!(serving);
        let talking = async {
            let mut conversation = Talk::new(near);
            conversation.open().await?;
            talk(&mut conversation).await
        };
        // Once it is over our end of the conversation is closed, so that the other one ends too.
        let result = tokio::select! {
            result = screen.during(what, talking) => {
                shutdown::end(&gateway, &mut signals, serving).await;
                result?
            }
            () = &mut serving => {
                shutdown::end(&gateway, &mut signals, async {}).await;
                return Err(talk::cut_short());
            }
            () = signals.next() => {
                shutdown::end(&gateway, &mut signals, serving).await;
                return Err(Failure::Failed(anyhow!("given up")));
            }
        };
        show(&screen, &result)
    })
}

/// Leaves only the servers of these names, all of which have to be there.
pub(crate) fn only(servers: &mut Servers, names: &[&str]) -> Result<(), Failure> {
    let is_there = |name: &str| servers.specs.iter().any(|spec| spec.name.as_str() == name);
    if let Some(unknown) = names.iter().find(|name| !is_there(name)) {
        let all: Vec<&str> = servers.specs.iter().map(|spec| spec.name.as_str()).collect();
        return Err(Failure::Wrong(anyhow!("no server is called {unknown}: there are {}", all.join(", "))));
    }
    servers.specs.retain(|spec| names.contains(&spec.name.as_str()));
    Ok(())
}
