//! The MCP server that clients see: one short function a method, over stdio, Streamable HTTP and HTTP+SSE.

mod body;
mod client;
mod converse;
mod fault;
mod herald;
pub mod http;
mod methods;
mod sessions;
pub mod stdio;
mod styles;

use portolan_catalog::{Catalog, View};
use portolan_router::Router;
use std::sync::Arc;
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
    pub(crate) options: Options,
    pub(crate) sessions: Sessions,
    /// Tasks that outlive a request but not the front.
    pub(crate) tasks: TaskTracker,
    /// No new work is taken once this fires.
    pub(crate) stop: CancellationToken,
    /// Until then a list may wait for servers in their first try.
    lists_wait_until: Instant,
}

impl Front {
    pub fn new(router: Arc<Router>, options: Options) -> Arc<Self> {
        Arc::new(Self {
            router,
            sessions: Sessions::new(options.limits.client_sessions, options.limits.session_idle),
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

    /// Stops taking work and ends the streams that would never end by themselves.
    pub fn stop(&self) {
        self.stop.cancel();
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
