//! `portolan --config FILE`: the aggregator over stdio. It needs no other file, no database and no network.

use crate::cli::AggregateArgs;
use crate::shutdown::{self, Signals};
use crate::{Failure, wire_up};
use anyhow::{Context as _, anyhow};
use portolan_config::{ConfigErrors, Environment, Flags};
use std::process::ExitCode;

pub(crate) fn run(args: &AggregateArgs) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let flags = Flags { version: args.version.clone().flatten(), ..args.common.flags() };
    let settings = wire_up::settings(&flags, &env)?.settings;
    let Some(path) = settings.config.clone() else {
        return Err(Failure::Wrong(anyhow!("which servers? Give --config FILE, or see portolan --help")));
    };
    let servers = wire_up::servers(&path, &settings)?;
    let problems = portolan_config::check_variables(&servers, &env);
    if !problems.is_empty() {
        return Err(Failure::Wrong(ConfigErrors { path, problems }.into()));
    }
    shutdown::run(async {
        let gateway = wire_up::of_file(settings, env, &path)?;
        let mut signals = Signals::new().and_then(Signals::with_hangup).context("signals cannot be heard")?;
        gateway.apply(servers.specs).await;
        let talk =
            portolan_front::stdio::serve(gateway.front.clone(), tokio::io::stdin(), tokio::io::stdout());
        let mut talk = std::pin::pin!(talk);
        tokio::select! {
            () = &mut talk => shutdown::end(&gateway, &mut signals, async {}).await,
            () = signals.next() => shutdown::end(&gateway, &mut signals, talk).await,
        }
        Ok(ExitCode::SUCCESS)
    })
    .context("the runtime cannot be started")?
}
