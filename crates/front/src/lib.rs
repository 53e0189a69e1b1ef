//! The MCP server that clients see: one short function a method, over stdio, Streamable HTTP and HTTP+SSE.

mod body;
mod client;
mod converse;
mod fault;
mod feed;
mod herald;
pub mod http;
mod listen;
mod methods;
mod nobodies;
mod own;
mod parking;
mod questions;
mod request;
mod sessions;
pub mod stdio;
mod styles;
mod tasks;
mod teller;
mod told;
mod welcome;

use crate::listen::Listeners;
use crate::nobodies::Nobodies;
use crate::parking::{Answering, Lot};
use crate::request::Request;
use crate::sessions::{Full, Held};
use portolan_catalog::{Catalog, View};
use portolan_model::{Profile, ServerName};
use portolan_router::{Aside, OwnTools, Router};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use sessions::Sessions;
pub use styles::Names;

/// What the front needs to know; all of it is fixed for the life of the process.
#[derive(Debug, Clone)]
pub struct Options {
    /// The name and version that `initialize` announces.
    pub name: String,
    pub version: String,
    /// This process, so that it recognises itself behind itself.
    pub instance: String,
    pub names: Names,
    pub limits: Limits,
    /// How long after the start the lists wait for servers that are still in their first try.
    pub list_wait: Duration,
    /// How much one page of a list holds; 0 for all of it.
    pub list_page: usize,
    /// Whether clients are given what the servers tell models about themselves.
    pub instructions: bool,
    /// What clients see that ask for nothing in particular.
    pub entrance: View,
    /// What can be asked for in particular.
    pub profiles: BTreeMap<ServerName, Arc<Profile>>,
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub request_body_bytes: usize,
    pub json_depth: usize,
    pub in_flight_per_client: usize,
    pub client_sessions: usize,
    pub session_idle: Duration,
    /// A client that reads nothing for this long, while there is something to read, is let go.
    pub client_stall: Duration,
}

/// The one front of a process; every transport hands its messages to it.
pub struct Front {
    pub(crate) router: Arc<Router>,
    pub(crate) own: Arc<dyn OwnTools>,
    pub(crate) options: Options,
    pub(crate) sessions: Sessions,
    pub(crate) listeners: Listeners,
    pub(crate) lot: Lot,
    pub(crate) nobodies: Nobodies,
    keys: AtomicU64,
    /// Tasks that outlive a request but not the front.
    pub(crate) tasks: TaskTracker,
    /// No new work is taken once this fires.
    pub(crate) stop: CancellationToken,
    /// Until then a list may wait for servers in their first try.
    lists_wait_until: Instant,
}

impl Front {
    pub fn new(router: Arc<Router>, own: Arc<dyn OwnTools>, options: Options) -> Arc<Self> {
        Arc::new(Self {
            router,
            own,
            sessions: Sessions::new(options.limits.client_sessions, options.limits.session_idle),
            listeners: Listeners::default(),
            lot: Lot::new(&options.instance),
            nobodies: Nobodies::new(options.limits.client_sessions),
            keys: AtomicU64::new(1),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            lists_wait_until: Instant::now() + options.list_wait,
            options,
        })
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.router.catalog
    }

    pub(crate) fn new_client(&self, view: View) -> client::Client {
        client::Client::new(view, self.options.limits.in_flight_per_client)
    }

    /// Takes a client in; those that nobody has used for long make room.
    pub(crate) fn open_session(
        self: &Arc<Self>,
        client: client::Client,
    ) -> Result<(Box<str>, Arc<Held>), Full> {
        if self.sessions.is_full() {
            self.sweep_sessions();
        }
        self.sessions.open(client)
    }

    pub(crate) fn close_session(self: &Arc<Self>, id: &str) {
        if let Some(held) = self.sessions.close(id) {
            self.parted(&held.client);
        }
    }

    pub(crate) fn sweep_sessions(self: &Arc<Self>) {
        for held in self.sessions.sweep() {
            self.parted(&held.client);
        }
    }

    /// A key for a question, which is never used again.
    pub(crate) fn next_key(&self) -> u64 {
        self.keys.fetch_add(1, Ordering::Relaxed)
    }

    /// The answer to a request, as something that can be carried on elsewhere.
    pub(crate) fn answering(
        self: Arc<Self>,
        held: Arc<Held>,
        request: Arc<Request>,
        aside: Arc<Aside>,
    ) -> Answering {
        Box::pin(async move { self.answer(&held.client, &request, &aside).await })
    }

    /// Stops taking work and ends the streams that would never end by themselves.
    pub fn stop(&self) {
        self.stop.cancel();
        self.lot.clear();
        self.listeners.end();
    }

    /// Runs something for as long as the front does.
    pub fn owns(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Waits until everything in flight has been answered.
    pub async fn answered(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
