//! The composition root: every part is made here, and nowhere else.

use crate::Failure;
use anyhow::{Context as _, anyhow};
use portolan_catalog::{Catalog, Filing};
use portolan_config::{Environment, Flags, Loaded, NamesSetting, Servers, Settings};
use portolan_front::{Front, Names};
use portolan_model::{Endpoint, LeftOut, NameStyle, Secret, ServerSpec, State};
use portolan_outbound::{Outbound, Proxies};
use portolan_router::Router;
use portolan_upstream::watchdog::Watchdog;
use portolan_upstream::{Fleet, Happening, Identity, Outside};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

/// Happenings waiting to be filed; filing takes microseconds.
const HAPPENINGS: usize = 256;
/// Notices waiting for the herald; what is over is dropped and counted.
const NOTICES: usize = 1024;
/// Carries the chain of configurations from a Portolan to the Portolans it starts.
const CHAIN: &str = "PORTOLAN_CHAIN";
/// A Portolan that starts a Portolan that starts a Portolan… ends here.
const LONGEST_CHAIN: usize = 8;

pub(crate) struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) front: Arc<Front>,
    catalog: Arc<Catalog>,
}

/// Settings from all their layers; logging is on from here.
pub(crate) fn settings(flags: &Flags, env: &Environment) -> Result<Loaded, Failure> {
    let loaded =
        portolan_config::load_settings(flags, env).map_err(|errors| Failure::Wrong(errors.into()))?;
    portolan_telemetry::logs::start(&loaded.settings.log).map_err(|e| Failure::Wrong(anyhow!(e)))?;
    Ok(loaded)
}

/// The servers of the file, its warnings logged.
pub(crate) fn servers(path: &Path, settings: &Settings) -> Result<Servers, Failure> {
    let servers = portolan_config::load_servers(path).map_err(|errors| Failure::Wrong(errors.into()))?;
    for warning in &servers.warnings {
        tracing::warn!("{}: {warning}", path.display());
    }
    let (count, limit) = (servers.specs.len(), settings.limits.servers);
    if count > limit {
        return Err(Failure::Wrong(anyhow!(
            "{}: {count} servers are over the limit of {limit}",
            path.display()
        )));
    }
    Ok(servers)
}

/// What sessions need; `config` is the file that names the servers, by which a chain of Portolans is recognised.
pub(crate) fn outside(
    settings: &Settings,
    env: Environment,
    config: Option<&Path>,
) -> Result<Outside, Failure> {
    let chain = chain(&env, config)?;
    let proxies = Proxies {
        http: first(&env, &["HTTP_PROXY", "http_proxy"]),
        https: first(&env, &["HTTPS_PROXY", "https_proxy"]),
        no_proxy: first(&env, &["NO_PROXY", "no_proxy"]),
    };
    let options = portolan_outbound::Options {
        connect_timeout: settings.limits.connect_timeout,
        proxies,
        ..portolan_outbound::Options::default()
    };
    let limits = &settings.limits;
    Ok(Outside {
        outbound: Outbound::new(options).context("the HTTP client cannot be set up")?,
        resolve: Box::new(move |spec| endpoint(spec, &env, &chain)),
        limits: portolan_upstream::Limits {
            upstream_message_bytes: limits.upstream_message_bytes,
            json_depth: limits.json_depth,
            call_timeout: limits.call_timeout,
            connect_timeout: limits.connect_timeout,
            health_interval: settings.health_interval,
            in_flight_per_server: limits.in_flight_per_server,
            tools_per_server: limits.tools_per_server,
            drain: limits.drain,
        },
        notices: broadcast::channel(NOTICES).0,
        watchdog: Arc::new(Watchdog::default()),
        identity: Identity { version: env!("CARGO_PKG_VERSION").to_owned(), instance: instance()? },
        level: AtomicU8::new(u8::MAX),
        hurry: CancellationToken::new(),
    })
}

fn first(env: &Environment, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| env.get(name)).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Expands a server's values; a child that is a Portolan learns from the chain who started it.
fn endpoint(spec: &ServerSpec, env: &Environment, chain: &str) -> Result<Endpoint, String> {
    let problems = |all: Vec<portolan_config::Problem>| {
        all.iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let mut endpoint = portolan_config::resolve(spec, env).map_err(problems)?;
    if let Endpoint::Child(child) = &mut endpoint {
        child.env.insert(CHAIN.to_owned(), Secret::new(chain));
    }
    Ok(endpoint)
}

/// The chain that children get: ours and this configuration. A configuration that starts itself would never end.
fn chain(env: &Environment, config: Option<&Path>) -> Result<String, Failure> {
    let above: Vec<&str> = env.get(CHAIN).unwrap_or("").split(':').filter(|link| !link.is_empty()).collect();
    let Some(config) = config else { return Ok(above.join(":")) };
    let path = config.canonicalize().unwrap_or_else(|_| config.to_owned());
    let own = portolan_model::fingerprint([path.as_os_str().as_encoded_bytes()]);
    if above.contains(&own.as_str()) {
        return Err(Failure::Wrong(anyhow!(
            "{} starts a Portolan with the same file, which would go on for ever: remove that entry",
            config.display()
        )));
    }
    if above.len() >= LONGEST_CHAIN {
        return Err(Failure::Wrong(anyhow!("{LONGEST_CHAIN} Portolans have started one another already")));
    }
    Ok(above.into_iter().chain([own.as_str()]).collect::<Vec<_>>().join(":"))
}

fn instance() -> Result<String, Failure> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes)
        .map_err(|e| Failure::Failed(anyhow!("the system gives no randomness: {e}")))?;
    Ok(portolan_model::hex(&bytes))
}

/// Puts the parts together; nothing runs yet but the filing of what the fleet tells.
pub(crate) fn gateway(
    settings: Settings,
    env: Environment,
    config: Option<&Path>,
) -> Result<Gateway, Failure> {
    let outside = outside(&settings, env, config)?;
    let instance = outside.identity.instance.clone();
    let (happenings, told) = mpsc::channel(HAPPENINGS);
    let fleet = Fleet::new(outside, happenings);
    let catalog = Arc::new(Catalog::default());
    let router = Arc::new(Router { catalog: catalog.clone(), fleet: fleet.clone() });
    let options = front_options(&settings, instance);
    let front = Front::new(router, options);
    front.start_heralds(fleet.notices());
    let gateway = Gateway { settings, fleet, front, catalog };
    gateway.start_filing(told);
    Ok(gateway)
}

fn front_options(settings: &Settings, instance: String) -> portolan_front::Options {
    let limits = &settings.limits;
    portolan_front::Options {
        name: settings.name.clone(),
        version: settings.version.clone(),
        instance,
        names: match settings.names {
            NamesSetting::Auto => Names::Auto,
            NamesSetting::Dot => Names::Always(NameStyle::Dot),
            NamesSetting::Colon => Names::Always(NameStyle::Colon),
            NamesSetting::Safe => Names::Always(NameStyle::Safe),
        },
        limits: portolan_front::Limits {
            request_body_bytes: limits.request_body_bytes,
            json_depth: limits.json_depth,
            in_flight_per_client: limits.in_flight_per_client,
            client_sessions: limits.client_sessions,
            session_idle: limits.session_idle,
            client_stall: limits.client_stall,
        },
        list_wait: settings.list_wait,
    }
}

impl Gateway {
    /// Makes these the servers. They are on file before the first of them starts: a client that asks at once has to find
    /// them starting, and not missing.
    pub(crate) async fn apply(&self, specs: Vec<ServerSpec>) {
        for spec in &specs {
            if !self.catalog.snapshot().servers().contains_key(&spec.name) {
                let server = spec.name.clone();
                self.catalog.file(Filing::Turned { server, state: State::Connecting, error: None });
            }
        }
        self.fleet.apply(specs).await;
    }

    /// Files what the fleet tells into the catalog, until the front is stopped.
    fn start_filing(&self, mut told: mpsc::Receiver<Happening>) {
        let (catalog, most) = (self.catalog.clone(), self.settings.limits.tools);
        self.front.owns(async move {
            while let Some(happening) = told.recv().await {
                catalog.file(filing(happening, &catalog, most));
            }
        });
    }
}

fn filing(happening: Happening, catalog: &Catalog, most: usize) -> Filing {
    match happening {
        Happening::Turned { server, status } => {
            Filing::Turned { server, state: status.state, error: status.error }
        }
        Happening::Withdrawn { server } => Filing::Withdrawn { server },
        Happening::Removed { server } => Filing::Removed { server },
        Happening::Offered { server, mut offer } => {
            let others = catalog.snapshot().tools().filter(|(other, _)| **other != server).count();
            let room = most.saturating_sub(others);
            if offer.tools.len() > room {
                tracing::warn!(%server, room, "the limit of {most} tools is reached; some of its tools are left out");
                let reason = format!("there are {most} tools in all already");
                let over = offer.tools.split_off(room);
                offer.left_out.extend(
                    over.iter().map(|t| LeftOut { tool: t.name.to_string(), reason: reason.clone() }),
                );
                offer.is_partial = true;
            }
            Filing::Offered { server, offer }
        }
    }
}
