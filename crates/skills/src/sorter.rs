//! The one task that classifies: it takes batches from the queue and writes down what came of them.

mod looks;
mod people;
mod work;

pub use people::{SkillDraft, SkillPatch};

use crate::classifier::Classifier;
use crate::pause::Pause;
use crate::queue::{ASKED, Job, Put, Queue, ROOM};
use crate::taxonomy::Taxonomy;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use portolan_model::{Classification, Moment, ServerId, Workspace};
use portolan_store::{Overwrite, Store, StoreError};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use work::Away;

/// A tool for which the model has given this many unusable answers is left alone until the next start, until its server
/// changes it, or until somebody wants it classified.
const TRIES: u32 = 3;
/// More than can be waiting and under way: whoever is beyond is new to the queue.
const PAGE: u32 = 1200;

/// Classifies tools in the background. Whoever tells it of tools never waits.
pub struct Sorter {
    store: Arc<dyn Store>,
    classifier: Classifier,
    workspace: Workspace,
    state: Mutex<State>,
    woken: Notify,
    /// Somebody wants tools classified now: they may know that the model is back.
    wanted: Notify,
    changes: watch::Sender<u64>,
    standing: watch::Sender<Standing>,
    /// One change of a skill at a time: what one says is read before it is written.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    queue: Queue,
    /// Whose waiting tools are still to be read from the store.
    unread: Unread,
}

#[derive(Default)]
struct Unread {
    /// Every server's, those that were given up included.
    all: bool,
    servers: BTreeSet<ServerId>,
}

/// What the task has under way.
enum Errand {
    Read(Result<(), StoreError>),
    Worked(Job, Result<Vec<String>, Away>),
}

/// How it goes, for whoever asks about health.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    pub waiting: usize,
    /// Why nothing is classified at the moment.
    pub away: Option<String>,
}

impl Sorter {
    pub fn new(store: Arc<dyn Store>, classifier: Classifier, workspace: Workspace) -> Self {
        Self {
            store,
            classifier,
            workspace,
            state: Mutex::default(),
            woken: Notify::new(),
            wanted: Notify::new(),
            changes: watch::Sender::new(0),
            standing: watch::Sender::default(),
            changing: tokio::sync::Mutex::default(),
        }
    }

    /// Adds the skills of the built-in taxonomy that were never there.
    pub async fn plant(&self, taxonomy: &Taxonomy) -> Result<usize, StoreError> {
        self.store.add_missing_skills(&taxonomy.skills(&self.workspace, Moment::now())).await
    }

    /// After a start: everything that is not classified is to be.
    pub fn resume(&self) {
        self.state().unread.all = true;
        self.woken.notify_one();
    }

    /// The store has a new list of this server's tools.
    pub fn discovered(&self, server: ServerId) {
        self.state().unread.servers.insert(server);
        self.woken.notify_one();
    }

    /// Classifies these tools of a server again; how many are waiting for it now. Those that nobody has looked at when the
    /// process ends stay as they are.
    pub fn classify(
        &self,
        server: ServerId,
        tools: impl IntoIterator<Item = String>,
        overwrite: Overwrite,
    ) -> usize {
        let mut state = self.state();
        let puts = tools.into_iter().map(|tool| state.queue.put(server, tool, overwrite, ASKED));
        let wanted = puts.filter(|put| *put != Put::Full).count();
        let waiting = state.queue.len();
        drop(state);
        self.standing.send_modify(|standing| standing.waiting = waiting);
        self.wanted.notify_one();
        wanted
    }

    /// Nobody is going to classify anything, for this reason: whoever asks is told.
    pub fn has_nobody(&self, reason: &str) {
        self.standing.send_modify(|standing| standing.away = Some(reason.to_owned()));
    }

    /// Changes whenever what is stored may have changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Works until it is told to end. What is under way then is looked at again at the next start.
    ///
    /// Whatever touches the store is polled together: an errand that waited for a connection by itself would keep those
    /// that hold one from going on.
    pub async fn run(&self, ended: CancellationToken) {
        let mut errands: FuturesUnordered<BoxFuture<'_, Errand>> = FuturesUnordered::new();
        let (mut working, mut is_reading) = (0, false);
        let mut pause = Pause::default();
        loop {
            if !is_reading && pause.lanes() > 0 && self.has_unread() {
                is_reading = true;
                errands.push(Box::pin(async { Errand::Read(self.read_open().await) }));
            }
            while working < pause.lanes() {
                let Some(job) = self.state().queue.take(self.classifier.batch()) else { break };
                working += 1;
                errands.push(Box::pin(async {
                    let (job, outcome) = self.work(job).await;
                    Errand::Worked(job, outcome)
                }));
            }
            tokio::select! {
                () = ended.cancelled() => return,
                Some(errand) = errands.next(), if !errands.is_empty() => match errand {
                    Errand::Worked(job, outcome) => {
                        working -= 1;
                        self.settle(&job, outcome, &mut pause);
                    }
                    Errand::Read(read) => {
                        is_reading = false;
                        if let Err(error) = read {
                            tracing::warn!(%error, "the tools that wait for their skills cannot be read");
                            pause.failed(Instant::now());
                        }
                    }
                },
                () = self.woken.notified() => {}
                () = self.wanted.notified() => pause.over(),
                () = end_of(pause) => pause.over(),
            }
        }
    }

    /// What comes of a batch for those that wait.
    fn settle(&self, job: &Job, outcome: Result<Vec<String>, Away>, pause: &mut Pause) {
        let (again, away) = match outcome {
            Ok(again) => {
                pause.answered();
                (again, None)
            }
            Err(Away(reason)) => {
                pause.failed(Instant::now());
                tracing::warn!(reason, "tools stay unclassified for now");
                (job.tools.clone(), Some(reason))
            }
        };
        let mut state = self.state();
        state.queue.done(job);
        let mut is_full = false;
        for tool in again {
            is_full |= state.queue.put(job.server, tool, job.overwrite, ASKED) == Put::Full;
        }
        if is_full {
            state.unread.servers.insert(job.server);
        }
        let waiting = state.queue.len();
        drop(state);
        self.standing.send_replace(Standing { waiting, away });
        self.changed();
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Whether there is something to read, and room for it.
    fn has_unread(&self) -> bool {
        let state = self.state();
        (state.unread.all || !state.unread.servers.is_empty()) && state.queue.len() <= ROOM / 2
    }

    /// Brings the tools that the store knows to wait into the queue, as far as there is room.
    async fn read_open(&self) -> Result<(), StoreError> {
        let unread = std::mem::take(&mut self.state().unread);
        let mut left = Unread::default();
        let mut failure = None;
        if unread.all {
            match self.read_page(None, u32::MAX).await {
                Ok(more) => left.all = more,
                Err(error) => (left.all, failure) = (true, Some(error)),
            }
        }
        for server in unread.servers {
            match self.read_page(Some(server), TRIES).await {
                Ok(false) => {}
                Ok(true) => drop(left.servers.insert(server)),
                Err(error) => {
                    left.servers.insert(server);
                    failure = Some(error);
                }
            }
        }
        let mut state = self.state();
        state.unread.all |= left.all;
        state.unread.servers.extend(left.servers);
        failure.map_or(Ok(()), Err)
    }

    /// Whether there are more than had room.
    async fn read_page(&self, server: Option<ServerId>, tries: u32) -> Result<bool, StoreError> {
        let open = self.store.open_tools(&self.workspace, server, PAGE).await?;
        let is_full_page = u32::try_from(open.len()).is_ok_and(|len| len == PAGE);
        let mut state = self.state();
        let (mut added, mut is_full) = (0, false);
        for tool in open.into_iter().filter(|tool| tool.tries < tries) {
            // Under way and not changed since: its outcome is still to come.
            if tool.state == Classification::Classifying && state.queue.is_under_way(tool.server, &tool.tool)
            {
                continue;
            }
            match state.queue.put(tool.server, tool.tool, Overwrite::KeepPersons, ROOM) {
                Put::Added => added += 1,
                Put::Known => {}
                Put::Full => is_full = true,
            }
        }
        let waiting = state.queue.len();
        drop(state);
        self.standing.send_modify(|standing| standing.waiting = waiting);
        Ok(is_full || (is_full_page && added > 0))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end_of(pause: Pause) {
    match pause.until() {
        Some(then) => tokio::time::sleep_until(then).await,
        None => std::future::pending().await,
    }
}
