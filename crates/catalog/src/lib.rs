//! What is offered right now: an immutable snapshot with one writer, and the lists rendered from it once.

mod entry;
mod render;
mod snapshot;
#[cfg(test)]
mod tests;

pub use entry::Entry;
pub use render::Peer;
pub use snapshot::{Snapshot, View};

use arc_swap::{ArcSwap, Guard};
use portolan_model::{Offer, ServerName, State};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;

/// What there is to file.
#[derive(Debug)]
pub enum Filing {
    Turned {
        server: ServerName,
        state: State,
        error: Option<Arc<str>>,
    },
    Offered {
        server: ServerName,
        offer: Offer,
    },
    Withdrawn {
        server: ServerName,
    },
    Removed {
        server: ServerName,
    },
    /// What was listed under one name is listed under another, in one step.
    Renamed {
        from: ServerName,
        to: ServerName,
    },
}

/// The lists as clients should see them have changed, or a server says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generation {
    /// Counts every filing.
    pub filed: u64,
    /// Counts the filings after which clients have to list again.
    pub listed: u64,
}

pub struct Catalog {
    current: ArcSwap<Snapshot>,
    generation: watch::Sender<Generation>,
    /// One writer; readers never come here.
    writing: Mutex<()>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self { current: ArcSwap::default(), generation: watch::Sender::default(), writing: Mutex::new(()) }
    }
}

impl Catalog {
    pub fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.current.load()
    }

    pub fn generations(&self) -> watch::Receiver<Generation> {
        self.generation.subscribe()
    }

    /// Makes the next snapshot. A server's word that its tools changed is passed on even if nothing did.
    pub fn file(&self, filing: Filing) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut servers = self.current.load().servers().clone();
        let is_news = match filing {
            Filing::Turned { server, state, error } => {
                let entry = servers.entry(server).or_default();
                *entry = entry.turned(state, error);
                false
            }
            Filing::Offered { server, offer } => {
                let entry = servers.entry(server).or_default();
                *entry = entry.offering(offer);
                true
            }
            Filing::Withdrawn { server } => match servers.get_mut(&server) {
                Some(entry) if entry.offer().is_some() => {
                    *entry = entry.withdrawn();
                    true
                }
                _ => false,
            },
            Filing::Removed { server } => servers.remove(&server).is_some(),
            Filing::Renamed { from, to } => match servers.remove(&from) {
                Some(entry) => servers.insert(to, entry).is_none(),
                None => false,
            },
        };
        self.current.store(Arc::new(Snapshot::new(servers)));
        self.generation.send_modify(|generation| {
            generation.filed += 1;
            generation.listed += u64::from(is_news);
        });
    }

    /// Waits until every server's first try has been decided, or until `deadline`.
    pub async fn settled(&self, deadline: Instant) {
        let mut generations = self.generation.subscribe();
        while Instant::now() < deadline && self.snapshot().is_settling() {
            if tokio::time::timeout_at(deadline, generations.changed()).await.is_err() {
                return;
            }
        }
    }
}
