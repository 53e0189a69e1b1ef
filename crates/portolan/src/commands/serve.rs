//! `portolan serve`: every server over HTTP at one address, the configuration applied as it changes.

use crate::cli::ServeArgs;
use crate::shutdown::{self, Signals};
use crate::wire_up::Gateway;
use crate::{Failure, wire_up};
use anyhow::{Context as _, anyhow};
use portolan_config::{Changes, Environment, Flags};
use portolan_front::http::Guard;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let flags = Flags { listen: args.listen.clone(), ..args.common.flags() };
    let settings = wire_up::settings(&flags, &env)?.settings;
    refuse_the_open_network(settings.listen)?;
    let config = settings.config.clone();
    let servers = config.as_deref().map(|path| wire_up::servers(path, &settings)).transpose()?;
    shutdown::run(async {
        let gateway = wire_up::gateway(settings, env, config.as_deref())?;
        let mut signals = Signals::new().context("signals cannot be heard")?;
        let listener = listen(gateway.settings.listen).await?;
        gateway.apply(servers.map(|s| s.specs).unwrap_or_default()).await;
        serve(&gateway, listener, config, &mut signals).await?;
        Ok(ExitCode::SUCCESS)
    })
    .context("the runtime cannot be started")?
}

/// Until callers can be told apart, only this machine is let in.
fn refuse_the_open_network(listen: SocketAddr) -> Result<(), Failure> {
    if listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::Wrong(anyhow!(
        "listening on {listen} would let anybody on the network run your servers, and there is no authentication yet: \
         listen on 127.0.0.1, and put a proxy that authenticates in front"
    )))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("{address} cannot be listened on: is another program there? See --listen")
    })?;
    Ok(listener)
}

async fn serve(
    gateway: &Gateway,
    listener: TcpListener,
    config: Option<PathBuf>,
    signals: &mut Signals,
) -> Result<(), Failure> {
    let address = listener.local_addr().context("the address in use cannot be told")?;
    let settings = &gateway.settings;
    let guard = Guard::new(address, &settings.allowed_hosts, &settings.allowed_origins);
    let stop = CancellationToken::new();
    let changes = config.as_ref().map(|path| portolan_config::watch(path.clone(), stop.clone())).transpose();
    let changes = changes.unwrap_or_else(|error| {
        tracing::warn!(%error, "changes of the configuration will not be noticed until a restart");
        None
    });
    announce(address);
    let mut serving = std::pin::pin!(portolan_front::http::serve(gateway.front.clone(), listener, guard));
    tokio::select! {
        () = &mut serving => {}
        () = follow(gateway, config.as_deref(), changes) => {}
        () = signals.next() => {}
    }
    stop.cancel();
    shutdown::end(gateway, signals, serving).await;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "whoever starts us waits for this line, whatever the log level")]
fn announce(address: SocketAddr) {
    eprintln!("listening on http://{address}");
}

/// Applies the file whenever it changes. One that cannot be read changes nothing.
async fn follow(gateway: &Gateway, config: Option<&Path>, changes: Option<Changes>) {
    let (Some(path), Some(mut changes)) = (config, changes) else { return std::future::pending().await };
    while changes.recv().await.is_some() {
        match wire_up::servers(path, &gateway.settings) {
            Ok(servers) => {
                gateway.apply(servers.specs).await;
                tracing::info!("{} was read again and applied", path.display());
            }
            Err(Failure::Failed(error) | Failure::Wrong(error)) => {
                tracing::error!(
                    "{} has changed but is wrong; what was running goes on: {error:#}",
                    path.display()
                );
            }
        }
    }
    // The watch has ended; what is served goes on.
    std::future::pending::<()>().await;
}
