//! The composition root: every part is made here, and nowhere else.

mod asking;
mod embedder;
mod llm;
mod skills;

pub(crate) use asking::Minds;
pub(crate) use embedder::{before, embedder};
pub(crate) use llm::llm;
pub(crate) use skills::sorter;

use crate::Failure;
use anyhow::{Context as _, anyhow};
use portolan_access::Secrets;
use portolan_ask::Asker;
use portolan_builtin::Builtins;
use portolan_catalog::{Catalog, View};
use portolan_config::{Environment, Flags, Loaded, NamesSetting, Servers, Settings};
use portolan_finder::{Embedder, Finder, Start};
use portolan_front::{Front, Names};
use portolan_model::{
    Endpoint as Reach, Exposure, NameStyle, Origin, Profile, Reached, Secret, ServerName, ServerSpec, State,
};
use portolan_outbound::{AddressPolicy, Outbound, PrivateAddresses, Proxies};
use portolan_registry::Clerk;
use portolan_router::Router;
use portolan_store::Store;
use portolan_upstream::watchdog::Watchdog;
use portolan_upstream::{Fleet, Happening, Identity, Outside, Wanted};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

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
    pub(crate) router: Arc<Router>,
    pub(crate) clerk: Arc<Clerk>,
    pub(crate) finder: Arc<Finder>,
    pub(crate) asker: Arc<Asker>,
    filing: Filing,
}

/// The clerk at work: longer than the fleet lives, so that its last words are filed too.
struct Filing {
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What expands a server's values, and by whom a chain of Portolans is recognised.
pub(crate) struct Surroundings<'a> {
    pub(crate) env: Environment,
    pub(crate) secrets: Arc<Secrets>,
    /// The file or folder that names the servers: whoever starts itself again from it would never end.
    pub(crate) roots: &'a [&'a Path],
}

impl<'a> Surroundings<'a> {
    /// Of a file alone: nothing is registered, and so no secret is read.
    pub(crate) fn of_file(env: Environment, roots: &'a [&'a Path]) -> Self {
        Self { env, secrets: Arc::new(Secrets::new(std::collections::BTreeMap::new())), roots }
    }
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

/// What sessions need.
pub(crate) fn outside(settings: &Settings, around: Surroundings<'_>) -> Result<Outside, Failure> {
    let Surroundings { env, secrets, roots } = around;
    let chain = chain(&env, roots)?;
    let proxies = Proxies {
        http: first(&env, &["HTTP_PROXY", "http_proxy"]),
        https: first(&env, &["HTTPS_PROXY", "https_proxy"]),
        no_proxy: first(&env, &["NO_PROXY", "no_proxy"]),
    };
    let options = portolan_outbound::Options {
        connect_timeout: settings.limits.connect_timeout,
        proxies,
        policy: address_policy(settings),
        ..portolan_outbound::Options::default()
    };
    let limits = &settings.limits;
    let allowed = settings.secrets.allow_env.clone();
    Ok(Outside {
        outbound: Outbound::new(options).context("the HTTP client cannot be set up")?,
        resolve: Box::new(move |spec| {
            // Only the operator's own file reads the environment.
            let registered = |name: &str| {
                let allowed = || allowed.iter().any(|one| one == name).then(|| env.get(name)).flatten();
                secrets.get(name).map(|s| s.reveal().to_owned()).or_else(|| allowed().map(str::to_owned))
            };
            let reached = match spec.origin {
                Origin::File => portolan_config::resolve(spec, &env),
                Origin::Registered => portolan_config::resolve_with(spec, &env, &registered),
            };
            reached.map(|reached| linked(reached, &chain)).map_err(|problems| told(&problems))
        }),
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

/// Addresses that came over REST may lead to this machine and its network only while nobody else can reach us.
fn address_policy(settings: &Settings) -> AddressPolicy {
    let private = if settings.listen.ip().is_loopback() {
        PrivateAddresses::Allowed
    } else {
        PrivateAddresses::Refused
    };
    AddressPolicy::Guarded { private }
}

fn told(problems: &[portolan_config::Problem]) -> String {
    problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
}

/// A child that is a Portolan learns from the chain who started it.
fn linked(mut reached: Reached, chain: &str) -> Reached {
    if let Reach::Child(child) = &mut reached.endpoint {
        child.env.insert(CHAIN.to_owned(), Secret::new(chain));
    }
    reached
}

/// The chain that children get: ours and where our servers are written. What starts itself would never end.
fn chain(env: &Environment, roots: &[&Path]) -> Result<String, Failure> {
    let above: Vec<&str> = env.get(CHAIN).unwrap_or("").split(':').filter(|link| !link.is_empty()).collect();
    let mut links: Vec<String> = above.iter().map(|link| (*link).to_owned()).collect();
    for root in roots {
        let path = root.canonicalize().unwrap_or_else(|_| (*root).to_owned());
        let own = portolan_model::fingerprint([path.as_os_str().as_encoded_bytes()]);
        if above.contains(&own.as_str()) {
            return Err(Failure::Wrong(anyhow!(
                "{} starts a Portolan with the same file, which would go on for ever: remove that entry",
                root.display()
            )));
        }
        links.push(own);
    }
    if above.len() >= LONGEST_CHAIN {
        return Err(Failure::Wrong(anyhow!("{LONGEST_CHAIN} Portolans have started one another already")));
    }
    Ok(links.join(":"))
}

fn instance() -> Result<String, Failure> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes)
        .map_err(|e| Failure::Failed(anyhow!("the system gives no randomness: {e}")))?;
    Ok(portolan_model::hex(&bytes))
}

/// What search remembers by.
pub(crate) struct Memory {
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The model that was there before, while it is still needed.
    pub(crate) before: Option<Arc<dyn Embedder>>,
}

/// Puts the parts together; nothing runs yet but the filing of what the fleet tells.
pub(crate) fn gateway(
    settings: Settings,
    outside: Outside,
    catalog: Arc<Catalog>,
    clerk: Arc<Clerk>,
    (memory, minds): (Memory, Minds),
) -> Gateway {
    let Memory { store, embedder, before } = memory;
    let instance = outside.identity.instance.clone();
    let (happenings, told) = mpsc::channel(HAPPENINGS);
    let fleet = Fleet::new(outside, happenings);
    let router = Arc::new(Router::new(catalog, fleet.clone()));
    let options = front_options(&settings, instance);
    let about = fleet.clone();
    let finder = Finder::new(portolan_finder::Parts {
        catalog: router.catalog.clone(),
        about: Box::new(move |server| about.member(server.as_str())?.spec.description.clone()),
        embedder,
        before,
        store,
    });
    let asker = asking::asker(&settings, &router, &finder, minds);
    let own = Builtins { catalog: router.catalog.clone(), finder: finder.clone(), asker: asker.clone() };
    let front = Front::new(router.clone(), Arc::new(own), options);
    front.start_heralds(fleet.notices());
    let filing = Filing::start(clerk.clone(), told);
    filing.owns(asker.clone().follow());
    filing.tasks.spawn(asker.clone().keep(filing.stop.clone()));
    Gateway { settings, fleet, front, router, clerk, finder, asker, filing }
}

/// A gateway that keeps nothing: the servers of one file, for as long as the process lives.
pub(crate) fn of_file(settings: Settings, env: Environment, path: &Path) -> Result<Gateway, Failure> {
    let key = portolan_config::search_key(&env);
    let llm_key = portolan_config::llm_key(&settings.llm, &env);
    let outside = outside(&settings, Surroundings::of_file(env, &[path]))?;
    let embedder = embedder(&settings, &outside.outbound, key)?;
    let model = llm(&settings, &outside.outbound, llm_key)?;
    let catalog = Arc::new(Catalog::default());
    let clerk = Clerk::without_books(catalog.clone(), settings.limits.tools);
    let is_shown_ours =
        matches!(entrance(&settings), View::Profile(profile) if profile.exposure != Exposure::All);
    let memory = Memory { store: None, embedder, before: None };
    let minds = Minds { model, store: None, registry: None };
    let gateway = gateway(settings, outside, catalog, clerk, (memory, minds));
    gateway.follow(if is_shown_ours { Start::AtOnce } else { Start::WhenNeeded });
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
        list_page: settings.list_page,
        instructions: settings.instructions,
        entrance: entrance(settings),
        profiles: settings.profiles.iter().map(|profile| (profile.name.clone(), profile.clone())).collect(),
    }
}

/// What clients see that ask for nothing in particular.
fn entrance(settings: &Settings) -> View {
    if let Some(profile) = settings.profile.as_ref().and_then(|name| settings.profiles.get(name.as_str())) {
        return View::Profile(profile.clone());
    }
    match (settings.exposure, ServerName::parse("default")) {
        (Exposure::All, _) | (_, Err(_)) => View::All,
        (exposure, Ok(name)) => View::Profile(Arc::new(Profile { exposure, ..Profile::new(name) })),
    }
}

impl Gateway {
    /// Makes these the servers. They are on file before the first of them starts: a client that asks at once has to find
    /// them starting, and not missing.
    pub(crate) async fn apply(&self, specs: Vec<ServerSpec>) {
        for spec in &specs {
            self.clerk.expect(&spec.name, State::Connecting);
        }
        self.fleet
            .apply(specs.into_iter().map(|spec| Wanted { spec, is_on: true, era: None }).collect())
            .await;
    }

    /// Has search follow what is offered.
    pub(crate) fn follow(&self, start: Start) {
        self.filing.owns(self.finder.clone().follow(start));
    }

    /// Ends every session; what was told until the last moment is filed.
    pub(crate) async fn end(&self) {
        self.fleet.shutdown().await;
        self.asker.end().await;
        self.filing.end().await;
    }
}

impl Filing {
    fn start(clerk: Arc<Clerk>, told: mpsc::Receiver<Happening>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(clerk.run(told, stop.clone()));
        Self { tasks, stop }
    }

    /// Runs something for as long as there is something to file.
    fn owns(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = work => {}
            }
        });
    }

    async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
