//! `portolan serve`: every server over HTTP at one address, registered or in the file, applied as it changes.

use crate::cli::ServeArgs;
use crate::data::{self, Note};
use crate::shutdown::{self, Signals};
use crate::wire_up::{Gateway, Memory, Minds, Surroundings};
use crate::{Failure, wire_up};
use anyhow::{Context as _, anyhow};
use portolan_access::Secrets;
use portolan_admin::Admin;
use portolan_catalog::Catalog;
use portolan_config::{Changes, Environment, Flags, Settings, StdioRegister};
use portolan_finder::Start;
use portolan_front::http::{Failure as BodyFailure, Guard, Other, OtherBody, Surface};
use portolan_model::ServerSpec;
use portolan_registry::{Options, Parts, Registry};
use portolan_skills::Sorter;
use portolan_store::SqliteStore;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let env = Environment::of_process();
    let flags = Flags { listen: args.listen.clone(), data: args.data.clone(), ..args.common.flags() };
    let settings = wire_up::settings(&flags, &env)?.settings;
    refuse_the_open_network(settings.listen)?;
    let config = settings.config.clone();
    let servers = config.as_deref().map(|path| wire_up::servers(path, &settings)).transpose()?;
    let specs = servers.map(|servers| servers.specs).unwrap_or_default();
    shutdown::run(async {
        let mut signals = Signals::new().context("signals cannot be heard")?;
        let serving = Serving::open(settings, env, config).await?;
        let listener = listen(serving.gateway.settings.listen).await?;
        serving.run(listener, specs, &mut signals).await?;
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

/// A gateway with its registry and the folder that both live in.
struct Serving {
    gateway: Gateway,
    registry: Arc<Registry>,
    sorter: Arc<Sorter>,
    store: Arc<SqliteStore>,
    folder: PathBuf,
    config: Option<PathBuf>,
}

impl Serving {
    async fn open(settings: Settings, env: Environment, config: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = data::folder(&settings, &env)?;
        let (store, vault) = data::open(&settings, &env, &folder).await?;
        let (store, secrets) = (Arc::new(store), Arc::new(Secrets::new(BTreeMap::new())));
        let roots: Vec<&Path> = config.as_deref().into_iter().chain([folder.as_path()]).collect();
        let around = Surroundings { env: env.clone(), secrets: secrets.clone(), roots: &roots };
        let outside = wire_up::outside(&settings, around)?;
        let key = || portolan_config::search_key(&env);
        let embedder = wire_up::embedder(&settings, &outside.outbound, key())?;
        let present = embedder.as_ref().map(|embedder| embedder.id());
        let known_by = portolan_finder::known_by(&*store).await.map_err(|e| Failure::Failed(e.into()))?;
        let known_by = known_by.filter(|known_by| present.is_some_and(|present| present != *known_by));
        let before =
            known_by.and_then(|known_by| wire_up::before(&settings, &outside.outbound, key(), &known_by));
        let llm = wire_up::llm(&settings, &outside.outbound, portolan_config::llm_key(&settings.llm, &env))?;
        let catalog = Arc::new(Catalog::default());
        let registry = Registry::open(Parts {
            store: store.clone(),
            vault,
            secrets,
            catalog: catalog.clone(),
            outbound: outside.outbound.clone(),
            environment: env,
            options: registry_options(&settings),
        });
        let registry = registry.await.map_err(|error| Failure::Failed(error.into()))?;
        let memory = Memory { store: Some(store.clone()), embedder, before };
        let minds =
            Minds { model: llm.clone(), store: Some(store.clone()), registry: Some(registry.clone()) };
        let gateway = wire_up::gateway(settings, outside, catalog, registry.clerk(), (memory, minds));
        gateway.asker.recall().await.map_err(|error| Failure::Failed(error.into()))?;
        let sorter = wire_up::sorter(&gateway, &registry, store.clone(), llm).await?;
        Ok(Self { gateway, registry, sorter, store, folder, config })
    }

    async fn run(
        &self,
        listener: TcpListener,
        specs: Vec<ServerSpec>,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        let address = listener.local_addr().context("the address in use cannot be told")?;
        let started = self.registry.start(self.gateway.fleet.clone(), specs).await;
        started.map_err(|error| Failure::Failed(error.into()))?;
        self.gateway.follow(Start::AtOnce);
        self.gateway.sort(&self.sorter);
        let stop = CancellationToken::new();
        let changes = self.config.as_ref().map(|path| portolan_config::watch(path.clone(), stop.clone()));
        let changes = changes.transpose().unwrap_or_else(|error| {
            tracing::warn!(%error, "changes of the configuration will not be noticed until a restart");
            None
        });
        Note::leave(&self.folder, address);
        announce(address);
        let surface = self.surface(address, stop.clone());
        let mut serving =
            std::pin::pin!(portolan_front::http::serve(self.gateway.front.clone(), listener, surface));
        tokio::select! {
            () = &mut serving => {}
            () = self.follow(changes) => {}
            () = signals.next() => {}
        }
        Note::remove(&self.folder);
        stop.cancel();
        shutdown::end(&self.gateway, signals, serving).await;
        self.registry.shutdown().await;
        self.store.close().await;
        Ok(())
    }

    /// MCP is the front's; everything else is REST and its pages.
    fn surface(&self, address: SocketAddr, stop: CancellationToken) -> Surface {
        let settings = &self.gateway.settings;
        let admin = Admin {
            registry: self.registry.clone(),
            router: self.gateway.router.clone(),
            finder: self.gateway.finder.clone(),
            sorter: self.sorter.clone(),
            asker: self.gateway.asker.clone(),
            options: portolan_admin::Options { body_limit: settings.limits.request_body_bytes, stop },
        };
        Surface {
            guard: Guard::new(address, &settings.allowed_hosts, &settings.allowed_origins),
            other: Some(rest(portolan_admin::service(admin))),
        }
    }

    /// Applies the file whenever it changes. One that cannot be read changes nothing.
    async fn follow(&self, changes: Option<Changes>) {
        let (Some(path), Some(mut changes)) = (&self.config, changes) else {
            return std::future::pending().await;
        };
        while changes.recv().await.is_some() {
            match wire_up::servers(path, &self.gateway.settings) {
                Ok(servers) => {
                    self.registry.follow_file(servers.specs).await;
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
}

fn registry_options(settings: &Settings) -> Options {
    Options {
        may_register_stdio: match settings.stdio.register {
            StdioRegister::On => true,
            StdioRegister::Off => false,
            StdioRegister::Auto => settings.listen.ip().is_loopback(),
        },
        allow_env: settings.secrets.allow_env.clone(),
        most_servers: settings.limits.servers,
        most_tools: settings.limits.tools,
    }
}

/// The REST surface as the front takes it.
fn rest(service: axum::Router) -> Other {
    Arc::new(move |request| {
        let service = service.clone();
        Box::pin(async move {
            let response = match tower::ServiceExt::oneshot(service, request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            response.map(|body| {
                let failing = http_body_util::BodyExt::map_err(body, |error| Box::new(error) as BodyFailure);
                Box::pin(failing) as OtherBody
            })
        })
    })
}

/// Does something with the REST surface of a Portolan that connects nothing, where none is running: what is changed holds
/// with the next start. It listens for as long as that takes, on this machine only, and nobody is told where.
pub(crate) async fn at_rest<T>(
    settings: Settings,
    env: Environment,
    work: impl AsyncFnOnce(String) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let nearby = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let serving = Serving::open(Settings { listen: nearby, ..settings }, env, None).await?;
    serving.registry.load().await.map_err(|error| Failure::Failed(error.into()))?;
    let listener = listen(nearby).await?;
    let address = listener.local_addr().context("the address in use cannot be told")?;
    let surface = serving.surface(address, CancellationToken::new());
    let mut answering =
        std::pin::pin!(portolan_front::http::serve(serving.gateway.front.clone(), listener, surface));
    let done = tokio::select! {
        done = work(format!("http://{address}")) => done,
        () = &mut answering => Err(Failure::Failed(anyhow!("the registry has ended"))),
    };
    serving.gateway.front.stop();
    serving.gateway.end().await;
    serving.registry.shutdown().await;
    serving.store.close().await;
    done
}

#[expect(clippy::print_stderr, reason = "whoever starts us waits for this line, whatever the log level")]
fn announce(address: SocketAddr) {
    eprintln!("listening on http://{address}");
}
