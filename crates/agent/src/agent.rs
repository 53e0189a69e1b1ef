//! One server's agent between queries: who it is, what it has done, how often it may be asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_llm::Owner;
use portolan_model::{Moment, ServerName};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::agents::Card;
use crate::rate::Rate;
use crate::report::Failure;
use crate::tally::{Tally, Used};

pub(crate) struct Agent {
    card: Mutex<Arc<Card>>,
    pub(crate) since: Moment,
    tally: Mutex<Tally>,
    rate: Mutex<Rate>,
    /// Whether the tally is other than what is stored.
    is_unwritten: AtomicBool,
    /// Wakes whoever writes tallies.
    changed: Arc<Notify>,
    /// Cancelled when the server is removed: its queries end with it.
    pub(crate) gone: CancellationToken,
}

impl Agent {
    pub(crate) fn new(card: Card, tally: Tally, changed: Arc<Notify>) -> Self {
        Self {
            card: Mutex::new(Arc::new(card)),
            since: Moment::now(),
            tally: Mutex::new(tally),
            rate: Mutex::default(),
            is_unwritten: AtomicBool::new(false),
            changed,
            gone: CancellationToken::new(),
        }
    }

    pub(crate) fn card(&self) -> Arc<Card> {
        Arc::clone(&locked(&self.card))
    }

    /// What is known of the server now; what the agent has done stays.
    pub(crate) fn rewrite(&self, card: Card) {
        *locked(&self.card) = Arc::new(card);
    }

    pub(crate) fn tally(&self) -> Tally {
        *locked(&self.tally)
    }

    /// What an earlier run had done.
    pub(crate) fn remember(&self, earlier: &Tally) {
        let mut tally = locked(&self.tally);
        *tally = tally.plus(earlier);
    }

    pub(crate) fn book(&self, used: &Used) {
        locked(&self.tally).add(used, Moment::now());
        self.set_unwritten();
    }

    pub(crate) fn set_unwritten(&self) {
        self.is_unwritten.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Whether the tally is to be written; from now on it counts as written.
    pub(crate) fn take_unwritten(&self) -> bool {
        self.is_unwritten.swap(false, Ordering::AcqRel)
    }

    /// Lets a query through if it is not one too many in this minute.
    pub(crate) fn admit(&self) -> Result<(), Failure> {
        let card = self.card();
        let Some(limit) = card.limits.queries_per_minute else { return Ok(()) };
        let admitted = locked(&self.rate).admit(limit);
        admitted.map_err(|retry_after| Failure::TooOften {
            connector: card.name.to_string(),
            limit,
            retry_after,
        })
    }
}

/// On whose account a server's agent asks models.
pub(crate) fn owner(server: &ServerName) -> Owner {
    Owner::from(format!("the agent of {server}").as_str())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
