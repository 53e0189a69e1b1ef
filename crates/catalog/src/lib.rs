//! What is offered right now: an immutable snapshot with one writer, and the lists rendered from it once.

mod aspect;
pub mod cursor;
mod entry;
mod filing;
mod foreign;
mod manner;
mod page;
mod render;
mod snapshot;
#[cfg(test)]
mod tests;
mod uris;
mod view;

pub use entry::Entry;
pub use filing::Filing;
pub use manner::Declared;
pub use page::PageAsk;
pub use render::{Peer, own_tools};
pub use snapshot::{Eyes, Snapshot};
pub use uris::Found;
pub use view::View;

use arc_swap::{ArcSwap, Guard};
use portolan_model::Kind;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;

/// One number for each kind, at the place of its index.
pub type PerKind = [u64; Kind::ALL.len()];

/// The lists as clients should see them have changed, or a server says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generation {
    /// Counts every filing.
    pub filed: u64,
    /// Counts the filings after which clients have to list a kind again; one of templates counts for resources too.
    pub listed: PerKind,
    /// Counts the filings after which only clients that declare something have to list again.
    pub seen: u64,
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

    /// Makes the next snapshot. A server's word that its lists changed is passed on even if nothing did.
    pub fn file(&self, filing: Filing) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load();
        let mut servers = before.servers().clone();
        let news = filing.apply(&mut servers);
        let mut generation = *self.generation.borrow();
        generation.filed += 1;
        for kind in news.kinds.iter() {
            generation.listed[kind.index()] += 1;
        }
        if let Some(entry) = news.server.and_then(|server| servers.get_mut(&server)) {
            entry.mark(news.kinds, &generation.listed);
        }
        let stirred = aspect::stirred(before.servers(), &mut servers, generation.seen + 1);
        generation.seen += u64::from(!stirred.is_empty());
        let mut next = before.followed_by(servers, &generation, &stirred);
        if let Some(abilities) = news.unseen {
            next.forget(&abilities);
        }
        self.current.store(Arc::new(next));
        self.generation.send_replace(generation);
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
