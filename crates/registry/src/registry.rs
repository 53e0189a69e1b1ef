//! The registry: what is stored and what the file says, in one list that the fleet follows.

mod connections;
mod file;
mod keyring;
mod looks;
mod servers;
mod tools;

pub use connections::Patience;

use crate::check::{Names, Rules};
use crate::clerk::{Books, Clerk, Known};
use crate::error::RegistryError;
use crate::events::{EventLog, Subject, Subscription};
use crate::recorder::Recorder;
use crate::sealed;
use arc_swap::ArcSwap;
use portolan_access::{Secrets, Vault};
use portolan_catalog::Catalog;
use portolan_config::Environment;
use portolan_model::{Offer, Origin, Secret, ServerId, ServerName, ServerSpec, State, Tool, Workspace};
use portolan_outbound::Outbound;
use portolan_store::{Page, ServerRecord, Store, StoreError, ToolFinder, ToolRecord};
use portolan_upstream::{Fleet, Wanted};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long the end, or an answer, waits for what happened to reach the store.
const SETTLE: Duration = Duration::from_secs(2);
/// What is sealed under this key in the settings proves that the vault has the right key.
const KEY_CHECK: &str = "vault.check";

/// What the registry is told once, at the start.
pub struct Options {
    /// Whether servers that run a program may be registered.
    pub may_register_stdio: bool,
    /// Environment variables that `${NAME}` may stand for in a registered server.
    pub allow_env: Vec<String>,
    pub most_servers: usize,
    pub most_tools: usize,
}

/// Everything that the registry stands on.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub vault: Vault,
    /// Opened here, read by whoever expands values.
    pub secrets: Arc<Secrets>,
    pub catalog: Arc<Catalog>,
    pub outbound: Outbound,
    pub environment: Environment,
    pub options: Options,
}

/// A server of the list: its record, and how it is reached.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) record: ServerRecord,
    pub(crate) spec: ServerSpec,
}

type Listing = BTreeMap<ServerName, Arc<Listed>>;

pub struct Registry {
    store: Arc<dyn Store>,
    vault: Vault,
    secrets: Arc<Secrets>,
    outbound: Outbound,
    environment: Environment,
    options: Options,
    clerk: Arc<Clerk>,
    recorder: Arc<Recorder>,
    books: Books,
    /// Set once, when the fleet has been made with what the registry gives it.
    fleet: OnceLock<Arc<Fleet>>,
    /// The same for who is told that the store has a new list of a server's tools.
    on_stored_tools: OnceLock<Box<dyn Fn(ServerId) + Send + Sync>>,
    listing: ArcSwap<Listing>,
    /// What the file says, those included that a registered server of the same name keeps out.
    file: ArcSwap<Vec<ServerSpec>>,
    /// One change at a time: store, list and fleet follow one another without another change between them.
    changing: Mutex<()>,
    tasks: TaskTracker,
    stop: CancellationToken,
    started: Instant,
}

impl Registry {
    /// Reads what is stored. Nothing is connected yet: `start` hands the servers to the fleet.
    pub async fn open(parts: Parts) -> Result<Arc<Self>, RegistryError> {
        let Parts { store, vault, secrets, catalog, outbound, environment, options } = parts;
        check_key(&*store, &vault).await?;
        open_secrets(&*store, &vault, &secrets).await?;
        let events = Arc::new(EventLog::new(&store.events().await?));
        let recorder = Arc::new(Recorder::new(store.clone()));
        let books = || Books { recorder: recorder.clone(), events: events.clone() };
        let clerk = Arc::new(Clerk::new(catalog, options.most_tools, Some(books())));
        clerk.verdicts.recall(&*store).await?;
        let registry = Self {
            books: books(),
            store,
            vault,
            secrets,
            outbound,
            environment,
            options,
            clerk,
            recorder,
            fleet: OnceLock::new(),
            on_stored_tools: OnceLock::new(),
            listing: ArcSwap::default(),
            file: ArcSwap::default(),
            changing: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            started: Instant::now(),
        };
        Ok(Arc::new(registry))
    }

    /// The clerk, who is to be told what happens in the fleet.
    pub fn clerk(&self) -> Arc<Clerk> {
        self.clerk.clone()
    }

    /// Makes the stored servers and those of the file the fleet's, and keeps the store up with it.
    pub async fn start(
        self: &Arc<Self>,
        fleet: Arc<Fleet>,
        file: Vec<ServerSpec>,
    ) -> Result<(), RegistryError> {
        self.fleet.set(fleet).unwrap_or_default();
        self.load().await?;
        self.follow_file(file).await;
        Ok(())
    }

    /// Lists the stored servers. Without `start` nothing is connected: what people change now holds with the next start.
    pub async fn load(self: &Arc<Self>) -> Result<(), RegistryError> {
        let registry = Arc::downgrade(self);
        let on_tools = Box::new(move |id, change| {
            if let Some(registry) = registry.upgrade() {
                registry.stored_tools(id, change);
            }
        });
        let (recorder, stop) = (self.recorder.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = recorder.run(on_tools) => {}
            }
        });
        let mut listing = Listing::new();
        for record in self.store.servers(&Workspace::default()).await? {
            if record.origin == Origin::Registered {
                let spec = sealed::unseal(&self.vault, &record)?;
                self.recall(&record).await?;
                listing.insert(record.name.clone(), Arc::new(Listed { record, spec }));
            }
        }
        self.listing.store(Arc::new(listing));
        Ok(())
    }

    /// Ends what the registry does by itself; what has happened by then is stored.
    pub async fn shutdown(&self) {
        self.recorder.settled(SETTLE).await;
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Whether the store answers.
    pub async fn ready(&self) -> Result<(), StoreError> {
        self.store.ping().await
    }

    /// Events after the one of this id, or from now on.
    pub fn events(&self, after: Option<u64>) -> Subscription {
        self.books.events.since(after)
    }

    /// Puts on file what the store knows of a server; one that is to be connected is listed with the tools that it had.
    async fn recall(&self, record: &ServerRecord) -> Result<(), RegistryError> {
        let finder = ToolFinder { server: Some(record.id), ..ToolFinder::default() };
        let stored = self.store.tools(&finder, Page::ALL).await?;
        let curations = self.store.curations(record.id).await?;
        self.clerk.know(&record.name, record.id, Known { tool_count: stored.total, curations });
        if record.is_wanted && !stored.items.is_empty() {
            let tools = stored.items.into_iter().filter_map(remembered).collect();
            self.clerk.recall(&record.name, Offer { tools, ..Offer::default() });
        }
        Ok(())
    }

    /// One server, by its id or its name.
    fn find(&self, key: &str) -> Result<Arc<Listed>, RegistryError> {
        let listing = self.listing.load();
        let by_id = || {
            let id: ServerId = key.parse().ok()?;
            listing.values().find(|listed| listed.record.id == id)
        };
        let found = listing.get(key).or_else(by_id);
        found.cloned().ok_or_else(|| RegistryError::NoSuchServer(key.to_owned()))
    }

    /// Puts a server into the list, in place of the one that was called `instead_of`, and has the fleet follow.
    async fn list(&self, listed: Listed, instead_of: Option<&ServerName>) -> Arc<Listed> {
        let listed = Arc::new(listed);
        let mut listing = Listing::clone(&self.listing.load());
        if let Some(old) = instead_of {
            listing.remove(old);
        }
        listing.insert(listed.record.name.clone(), listed.clone());
        self.apply(listing).await;
        listed
    }

    /// Makes this the list, and has the fleet follow. Words about a server are no reason to connect it anew.
    async fn apply(&self, listing: Listing) {
        let wanted = |listed: &Arc<Listed>| {
            let state = if listed.record.is_wanted { State::Connecting } else { State::Disconnected };
            self.clerk.expect(&listed.record.name, state);
            let spec = ServerSpec { description: None, ..listed.spec.clone() };
            Wanted { spec, is_on: listed.record.is_wanted, era: self.clerk.verdicts.of(listed.record.id) }
        };
        let fleet: Vec<Wanted> = listing.values().map(wanted).collect();
        self.listing.store(Arc::new(listing));
        if let Some(running) = self.fleet.get() {
            running.apply(fleet).await;
        }
    }

    fn rules(&self) -> Rules<'_> {
        Rules { names: self, outbound: &self.outbound }
    }

    fn tell(&self, kind: &str, listed: &Listed) {
        let subject = Subject { id: listed.record.id, name: &listed.record.name };
        self.books.tell(kind, subject, []);
    }

    /// Runs a change to its end, whatever becomes of the caller: half a change is none that anybody wanted.
    async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, RegistryError>> + Send + 'static,
    ) -> Result<T, RegistryError> {
        let done = self.tasks.spawn(work).await;
        let done = done.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string()).into()));
        if done.is_ok() {
            self.recorder.go_on();
        }
        done
    }
}

impl Names for Registry {
    fn is_known(&self, name: &str) -> bool {
        self.secrets.get(name).is_some()
            || (self.options.allow_env.iter().any(|allowed| allowed == name)
                && self.environment.get(name).is_some())
    }
}

/// Whether something has been sealed for this store, so that only the same key opens it.
pub async fn is_sealed(store: &dyn Store) -> Result<bool, StoreError> {
    Ok(store.setting(KEY_CHECK).await?.is_some())
}

/// A wrong key is found out before anything is sealed with it.
async fn check_key(store: &dyn Store, vault: &Vault) -> Result<(), RegistryError> {
    let wrong = |_| {
        RegistryError::Sealed(
            "the secret key is not the one that this database was sealed with: put the right one back (the file \
             `secret.key` of the data folder, `secrets.key_file`, or PORTOLAN_SECRET_KEY)"
                .to_owned(),
        )
    };
    if let Some(sealed) = store.setting(KEY_CHECK).await? {
        vault.unseal(KEY_CHECK, &sealed).map_err(wrong)?;
        return Ok(());
    }
    let sealed = vault.seal(KEY_CHECK, b"portolan").map_err(|e| RegistryError::Sealed(e.to_string()))?;
    Ok(store.put_setting(KEY_CHECK, &sealed).await?)
}

async fn open_secrets(store: &dyn Store, vault: &Vault, secrets: &Secrets) -> Result<(), RegistryError> {
    for record in store.secrets(&Workspace::default()).await? {
        let opened = vault.unseal(&keyring::purpose(&record.name), &record.sealed);
        let plain =
            opened.map_err(|error| RegistryError::Sealed(format!("secret {}: {error}", record.name)))?;
        secrets.set(&record.name, &Secret::new(String::from_utf8_lossy(&plain)));
    }
    Ok(())
}

/// A stored tool as its server listed it.
fn remembered(record: ToolRecord) -> Option<Arc<Tool>> {
    let definition = RawValue::from_string(record.definition).ok()?;
    Some(Arc::new(Tool { name: record.name.into(), definition }))
}
