//! The table of client sessions: random ids, bounded in number and in idle time.

use crate::client::Client;
use dashmap::DashMap;
use portolan_telemetry::counters;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub struct Sessions {
    table: DashMap<Box<str>, Arc<Held>>,
    most: usize,
    idle: Duration,
    begun: Instant,
}

pub(crate) struct Held {
    pub(crate) client: Client,
    /// Seconds after the start at which it was last used.
    used: AtomicU64,
}

impl Held {
    /// A client that comes with one request and is forgotten after it.
    pub(crate) fn alone(client: Client) -> Arc<Self> {
        Arc::new(Self { client, used: AtomicU64::new(0) })
    }
}

/// The table is full of sessions in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Sessions {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self { table: DashMap::new(), most, idle, begun: Instant::now() }
    }

    /// Takes a client in under a new id.
    pub(crate) fn open(&self, client: Client) -> Result<(Box<str>, Arc<Held>), Full> {
        if self.table.len() >= self.most {
            return Err(Full);
        }
        counters::CLIENT_SESSIONS.one();
        let held = Arc::new(Held { client, used: AtomicU64::new(self.now()) });
        let id = random_id();
        self.table.insert(id.clone(), held.clone());
        Ok((id, held))
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Held>> {
        let held = self.table.get(id)?.clone();
        held.used.store(self.now(), Ordering::Relaxed);
        Some(held)
    }

    pub(crate) fn close(&self, id: &str) -> Option<Arc<Held>> {
        let (_, held) = self.table.remove(id)?;
        held.client.hang_up();
        Some(held)
    }

    pub(crate) fn each(&self, mut visit: impl FnMut(&Client)) {
        for held in &self.table {
            visit(&held.client);
        }
    }

    /// Ends the streams of every client, each once what it may still have to carry has been answered.
    pub(crate) fn hang_up_when_done(&self, tasks: &TaskTracker) {
        for held in &self.table {
            let held = held.clone();
            tasks.spawn(async move {
                held.client.all_done().await;
                held.client.hang_up();
            });
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.table.len() >= self.most
    }

    /// Forgets sessions that nobody has used for the idle time and that have no open stream; gives back what they were.
    pub(crate) fn sweep(&self) -> Vec<Arc<Held>> {
        let (now, mut forgotten) = (self.now(), Vec::new());
        self.table.retain(|_, held| {
            let is_recent =
                now.saturating_sub(held.used.load(Ordering::Relaxed)) < self.idle.as_secs().max(1);
            let stays = is_recent || held.client.has_stream();
            if !stays {
                forgotten.push(held.clone());
            }
            stays
        });
        forgotten
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }
}

/// 128 bits that nobody can guess.
fn random_id() -> Box<str> {
    let mut bytes = [0u8; 16];
    // Without randomness there is no safe id: better no session than a guessable one.
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "the system gives no randomness; sessions cannot be opened safely");
        std::process::abort();
    }
    portolan_model::hex(&bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_catalog::View;

    fn client() -> Client {
        Client::new(View::All, 8)
    }

    #[tokio::test(start_paused = true)]
    async fn t27_sessions_are_bounded_and_idle_ones_make_room() {
        let sessions = Sessions::new(2, Duration::from_mins(1));
        let (first, _) = sessions.open(client()).unwrap();
        let (second, held) = sessions.open(client()).unwrap();
        assert_ne!(first, second);
        assert_eq!(sessions.open(client()).err(), Some(Full));
        let stream = held.client.open_stream();
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(sessions.sweep().len(), 1);
        assert!(sessions.open(client()).is_ok());
        assert!(sessions.get(&first).is_none(), "the idle one is gone");
        assert!(sessions.get(&second).is_some(), "the one with an open stream is not");
        drop(stream);
    }
}
