//! What has happened on its way into the store: bounded, in order, and patient with a store that does not answer.

use crate::verdicts;
use portolan_model::ServerId;
use portolan_store::{EventRecord, HistoryRecord, Store, StoreError, ToolDraft, ToolsChange};
use portolan_telemetry::counters;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// History and events that wait for a store that does not answer; the oldest go first.
const MOST_WAITING: usize = 10_000;
/// A store that did not answer is asked again after this, doubling up to the second.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Told when a server's tools have been stored.
pub(crate) type OnTools = Box<dyn Fn(ServerId, ToolsChange) + Send + Sync>;

pub(crate) struct Recorder {
    store: Arc<dyn Store>,
    backlog: Mutex<Backlog>,
    more: Notify,
    /// Something else was stored: a store that took nothing takes something again.
    taken: Notify,
    doing: watch::Sender<Doing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Everything that was handed over has been stored.
    Resting,
    Storing,
    /// The store does not take anything right now: to wait for it would help nobody.
    Stuck,
}

#[derive(Default)]
struct Backlog {
    history: VecDeque<HistoryRecord>,
    events: VecDeque<EventRecord>,
    /// Only the latest list of a server is worth storing.
    tools: BTreeMap<ServerId, Arc<Vec<ToolDraft>>>,
    /// The same for which era each server speaks.
    eras: Option<Arc<Vec<u8>>>,
}

impl Backlog {
    fn is_empty(&self) -> bool {
        self.history.is_empty() && self.events.is_empty() && self.tools.is_empty() && self.eras.is_none()
    }
}

impl Recorder {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            backlog: Mutex::default(),
            more: Notify::new(),
            taken: Notify::new(),
            doing: watch::channel(Doing::Resting).0,
        }
    }

    pub(crate) fn history(&self, record: HistoryRecord) {
        self.add(|backlog| push(&mut backlog.history, record));
    }

    pub(crate) fn event(&self, record: EventRecord) {
        self.add(|backlog| push(&mut backlog.events, record));
    }

    pub(crate) fn tools(&self, server: ServerId, tools: Vec<ToolDraft>) {
        self.add(|backlog| drop(backlog.tools.insert(server, Arc::new(tools))));
    }

    pub(crate) fn eras(&self, all: Vec<u8>) {
        self.add(|backlog| backlog.eras = Some(Arc::new(all)));
    }

    /// Whoever has just stored something says so: what waits need not wait any longer.
    pub(crate) fn go_on(&self) {
        self.taken.notify_waiters();
    }

    fn add(&self, put: impl FnOnce(&mut Backlog)) {
        put(&mut self.backlog.lock().unwrap_or_else(PoisonError::into_inner));
        self.doing.send_if_modified(|doing| {
            let was_resting = *doing == Doing::Resting;
            if was_resting {
                *doing = Doing::Storing;
            }
            was_resting
        });
        self.more.notify_one();
    }

    /// Waits until everything handed over so far has been stored, for `patience` at most, and not at all while the store
    /// takes nothing.
    pub(crate) async fn settled(&self, patience: Duration) {
        let mut doing = self.doing.subscribe();
        let settled = doing.wait_for(|doing| *doing != Doing::Storing);
        drop(tokio::time::timeout(patience, settled).await);
    }

    /// Stores what comes, for ever; whoever owns it ends it after a last `settled`.
    pub(crate) async fn run(&self, on_tools: OnTools) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.store_all(&on_tools).await {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    self.more.notified().await;
                }
                Err(error) => {
                    self.doing.send_replace(Doing::Stuck);
                    tracing::warn!(%error, "what happened cannot be stored right now; it is kept and tried again");
                    drop(tokio::time::timeout(pause, self.taken.notified()).await);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Stores everything that waits. What could not be stored waits on.
    async fn store_all(&self, on_tools: &OnTools) -> Result<(), StoreError> {
        loop {
            let (history, events, tools, eras) = {
                let backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
                if backlog.is_empty() {
                    self.doing.send_replace(Doing::Resting);
                    return Ok(());
                }
                let history: Vec<HistoryRecord> = backlog.history.iter().cloned().collect();
                let events: Vec<EventRecord> = backlog.events.iter().cloned().collect();
                let tools = backlog.tools.first_key_value().map(|(id, tools)| (*id, tools.clone()));
                (history, events, tools, backlog.eras.clone())
            };
            if let Some(eras) = eras {
                self.store.put_setting(verdicts::KEY, &eras).await?;
                // Newer ones that came meanwhile wait on.
                let is_same = |waiting: &mut Arc<Vec<u8>>| Arc::ptr_eq(waiting, &eras);
                self.done(|backlog| drop(backlog.eras.take_if(is_same)));
            }
            if let Some((server, drafts)) = tools {
                match self.store.put_tools(server, &drafts).await {
                    Ok(change) => {
                        self.done(|backlog| forget_tools(backlog, server, &drafts));
                        on_tools(server, change);
                    }
                    // It was removed meanwhile.
                    Err(StoreError::NoSuchServer) => self.done(|backlog| drop(backlog.tools.remove(&server))),
                    Err(error) => return Err(error),
                }
            }
            if !history.is_empty() {
                self.store.add_history(&history).await?;
                self.done(|backlog| forget(&mut backlog.history, history.last(), |a, b| a == b));
            }
            if !events.is_empty() {
                self.store.add_events(&events).await?;
                self.done(|backlog| forget(&mut backlog.events, events.last(), |a, b| a.id == b.id));
            }
        }
    }

    fn done(&self, forget: impl FnOnce(&mut Backlog)) {
        forget(&mut self.backlog.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn push<T>(queue: &mut VecDeque<T>, record: T) {
    if queue.len() == MOST_WAITING {
        queue.pop_front();
        counters::RECORDS_DROPPED.one();
    }
    queue.push_back(record);
}

/// Removes what is stored: everything up to the last stored one, some of which may have been pushed out meanwhile.
fn forget<T>(queue: &mut VecDeque<T>, last: Option<&T>, is_same: fn(&T, &T) -> bool) {
    let Some(last) = last else { return };
    if let Some(at) = queue.iter().position(|record| is_same(record, last)) {
        queue.drain(..=at);
    }
}

/// A newer list of the same server that came meanwhile waits on.
fn forget_tools(backlog: &mut Backlog, server: ServerId, stored: &Arc<Vec<ToolDraft>>) {
    if backlog.tools.get(&server).is_some_and(|waiting| Arc::ptr_eq(waiting, stored)) {
        backlog.tools.remove(&server);
    }
}
