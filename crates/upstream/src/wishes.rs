//! What a server is asked to tell by itself: changes of its lists, and of resources and tasks that clients want to hear of.

use crate::error::CallError;
use crate::member::Member;
use crate::pending::Reply;
use crate::session::{Ask, Session};
use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use portolan_model::{Era, Kind, Kinds};
use portolan_wire::meta::TASKS;
use portolan_wire::params::{Changes, Hop, Params, Stamp, write_own};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How long a server may take to acknowledge a stream.
const SOON: Duration = Duration::from_secs(2);
/// How soon a stream that ended is opened again; and at most, when it keeps ending.
const REOPEN: Duration = Duration::from_millis(500);
const REOPEN_MOST: Duration = Duration::from_secs(30);
/// How many streams a server of the newer era may have before they are put together.
const MOST_STREAMS: usize = 8;

/// Something that clients want to hear of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    /// By its URI.
    Resource(String),
    /// By its id. A server of the older era tells of its tasks by itself.
    Task(String),
}

/// What clients want to hear of, each with how many want it. They outlive sessions: whoever comes back is asked again. One
/// task a session tells the server, so that what it hears is in order.
#[derive(Debug)]
pub(crate) struct Wishes {
    table: Mutex<Table>,
    /// Counts every change of what is wanted.
    wanted: watch::Sender<u64>,
    /// The last change that the server has heard of.
    heard: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Table {
    counts: BTreeMap<Wish, usize>,
    /// The resources that the server would not tell of, and what it said.
    refused: HashMap<String, Reply>,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { table: Mutex::default(), wanted: watch::channel(0).0, heard: watch::channel(0).0 }
    }
}

impl Wishes {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Critical sections here insert and remove; a panic in one leaves nothing half-done.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> BTreeSet<Wish> {
        self.table().counts.keys().cloned().collect()
    }

    /// Those of them that a server of the older era has to be asked for.
    fn resources(&self) -> BTreeSet<String> {
        let uri = |wish| match wish {
            Wish::Resource(uri) => Some(uri),
            Wish::Task(_) => None,
        };
        self.all().into_iter().filter_map(uri).collect()
    }

    /// One client more wants each of these.
    fn add(&self, wishes: impl IntoIterator<Item = Wish>) {
        let mut has_new = false;
        let mut table = self.table();
        for wish in wishes {
            let count = table.counts.entry(wish).or_default();
            *count += 1;
            has_new |= *count == 1;
        }
        drop(table);
        if has_new {
            self.wanted.send_modify(|count| *count += 1);
        }
    }

    /// One client less wants this.
    fn remove(&self, wish: &Wish) {
        let is_last = {
            let mut table = self.table();
            match table.counts.get_mut(wish) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    false
                }
                Some(_) => table.counts.remove(wish).is_some(),
                None => false,
            }
        };
        if is_last {
            self.wanted.send_modify(|count| *count += 1);
        }
    }

    fn forget(&self, wish: &Wish) {
        let removed = self.table().counts.remove(wish);
        if removed.is_some() {
            self.wanted.send_modify(|count| *count += 1);
        }
    }

    /// Has the server tell of this resource from now on: its own answer where it would not.
    pub(crate) async fn subscribe(&self, uri: &str, limit: Duration) -> Reply {
        self.table().refused.remove(uri);
        self.add([Wish::Resource(uri.to_owned())]);
        self.reach(limit).await;
        self.table().refused.get(uri).cloned().unwrap_or_else(nothing)
    }

    /// One client less wants to hear of this resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.remove(&Wish::Resource(uri.to_owned()));
    }

    /// Waits until the server has heard of the last change.
    async fn reach(&self, limit: Duration) {
        let wanted = *self.wanted.borrow();
        let mut heard = self.heard.subscribe();
        timeout(limit, heard.wait_for(|heard| *heard >= wanted)).await.map(drop).unwrap_or_default();
    }

    /// Sees to it that a session's server tells what is wanted, for as long as the session lives.
    async fn keep(&self, session: &Session, limit: Duration) {
        match session.era() {
            Era::Legacy => self.subscribe_all(session, limit).await,
            Era::Modern => self.listen(session).await,
        }
    }

    /// The older era: one request for each resource, one after the other.
    async fn subscribe_all(&self, session: &Session, limit: Duration) {
        let mut wanted = self.wanted.subscribe();
        let mut told = BTreeSet::new();
        loop {
            let (now, all) = (*wanted.borrow_and_update(), self.resources());
            let over: Vec<String> = told.difference(&all).cloned().collect();
            for uri in over {
                if ask(session, "resources/unsubscribe", &uri, limit).await.is_err() {
                    return;
                }
                told.remove(&uri);
            }
            let new: Vec<String> = all.difference(&told).cloned().collect();
            for uri in new {
                match ask(session, "resources/subscribe", &uri, limit).await {
                    Ok(Reply::Result(_)) => drop(told.insert(uri)),
                    Ok(refused @ Reply::Error(_)) => {
                        let mut table = self.table();
                        table.counts.remove(&Wish::Resource(uri.clone()));
                        table.refused.insert(uri, refused);
                    }
                    Err(_) => return,
                }
            }
            self.heard.send_replace(now);
            if wanted.changed().await.is_err() {
                return;
            }
        }
    }

    /// The newer era: streams that each bring what they were opened for. For what is wanted in addition one more is opened;
    /// what is not wanted any more is simply not passed on. To close a stream with an update on it would lose the update.
    async fn listen(&self, session: &Session) {
        let mut wanted = self.wanted.subscribe();
        let mut streams: FuturesUnordered<Standing<'_>> = FuturesUnordered::new();
        let mut covered: Option<BTreeSet<Wish>> = None;
        let mut tells_tasks = true;
        let mut pause = REOPEN;
        loop {
            let (now, mut all) = (*wanted.borrow_and_update(), self.all());
            all.retain(|wish| tells_tasks || matches!(wish, Wish::Resource(_)));
            let is_full = streams.len() >= MOST_STREAMS;
            let added: BTreeSet<Wish> = match &covered {
                Some(covered) if !is_full => all.difference(covered).cloned().collect(),
                Some(covered) if all.is_subset(covered) => BTreeSet::new(),
                Some(_) | None => all,
            };
            if covered.is_none() || !added.is_empty() {
                let scope = if covered.is_none() || is_full { Scope::Everything } else { Scope::Named };
                let mut next = self.stream(session, scope, added.clone());
                match opened(session, &mut next).await {
                    Opened::Yes => {
                        if is_full {
                            // Whatever is still on the old ones is read before they are closed.
                            timeout(SOON, async { while streams.next().await.is_some() {} }).await.ok();
                            streams.clear();
                            covered = None;
                        }
                        streams.push(next);
                        covered.get_or_insert_default().extend(added);
                    }
                    Opened::Never if added.iter().any(|wish| matches!(wish, Wish::Task(_))) => {
                        // It may be for the tasks: all else is not to suffer for them.
                        tells_tasks = false;
                        continue;
                    }
                    Opened::Never => {
                        // It has no such stream, which it may: its lists are then asked for and not told.
                        self.heard.send_replace(now);
                        if wanted.changed().await.is_err() {
                            return;
                        }
                        continue;
                    }
                    Opened::NotYet => {
                        sleep(pause).await;
                        pause = (pause * 2).min(REOPEN_MOST);
                        continue;
                    }
                    Opened::Unwanted => continue,
                }
            }
            self.heard.send_replace(now);
            tokio::select! {
                Some(ended) = streams.next() => match ended {
                    Ended::Unwanted(tasks) => {
                        covered.get_or_insert_default().retain(|wish| !tasks.contains(wish));
                    }
                    Ended::ByServer(_) => {
                        // What changed in between nobody has told.
                        session.want_lists(Kinds::ALL);
                        streams.clear();
                        covered = None;
                        sleep(pause).await;
                    }
                },
                changed = wanted.changed() => {
                    pause = REOPEN;
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// A stream that brings this. One for tasks alone ends when nobody wants any of them any more, as tasks come and go.
    fn stream<'w>(&'w self, session: &Session, scope: Scope, wishes: BTreeSet<Wish>) -> Standing<'w> {
        let is_lasting =
            scope == Scope::Everything || wishes.iter().any(|wish| matches!(wish, Wish::Resource(_)));
        let session = session.clone();
        Box::pin(async move {
            tokio::select! {
                ended = stand(&session, scope, &wishes) => return Ended::ByServer(ended),
                () = self.unwanted(&wishes), if !is_lasting => {}
            }
            Ended::Unwanted(wishes)
        })
    }

    /// Ready when nobody wants any of these any more.
    async fn unwanted(&self, wishes: &BTreeSet<Wish>) {
        let mut wanted = self.wanted.subscribe();
        while wishes.iter().any(|wish| self.table().counts.contains_key(wish)) {
            if wanted.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Member {
    /// Has it tell of these tasks from now on, as one client more wants it. Where that is up to the server it may not.
    pub async fn follow_tasks(&self, ids: &[&str]) {
        self.wishes.add(ids.iter().map(|id| Wish::Task((*id).to_owned())));
        self.wishes.reach(self.call_timeout).await;
    }

    /// One client less wants to hear of a task.
    pub fn unfollow_task(&self, id: &str) {
        self.wishes.remove(&Wish::Task(id.to_owned()));
    }

    /// A task is over: there is nothing more to hear of it, whoever wanted to.
    pub fn forget_task(&self, id: &str) {
        self.wishes.forget(&Wish::Task(id.to_owned()));
    }
}

type Standing<'w> = std::pin::Pin<Box<dyn Future<Output = Ended> + Send + 'w>>;

/// How a stream ended.
enum Ended {
    ByServer(Result<Reply, CallError>),
    /// Nobody wants to hear of these tasks any more.
    Unwanted(BTreeSet<Wish>),
}

/// What a stream is to bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Changes of the lists, and what is named.
    Everything,
    Named,
}

/// What became of a stream that was asked for.
enum Opened {
    Yes,
    NotYet,
    Never,
    Unwanted,
}

/// Waits until the server has said what the stream will bring. One that says nothing for a while counts as open.
async fn opened(session: &Session, next: &mut Standing<'_>) -> Opened {
    let acknowledged = session.inbox().acknowledged.notified();
    tokio::select! {
        () = acknowledged => Opened::Yes,
        ended = next => match ended {
            Ended::ByServer(Ok(Reply::Error(error))) => {
                let error = String::from_utf8_lossy(&error);
                tracing::debug!(server = %session.server(), %error, "it tells nothing by itself");
                Opened::Never
            }
            Ended::ByServer(Ok(Reply::Result(_)) | Err(_)) => Opened::NotYet,
            Ended::Unwanted(_) => Opened::Unwanted,
        },
        () = sleep(SOON) => Opened::Yes,
    }
}

async fn stand(session: &Session, scope: Scope, wishes: &BTreeSet<Wish>) -> Result<Reply, CallError> {
    let welcome = session.welcome();
    let mut filter = json!({});
    let kinds = [
        (Kind::Tools, "toolsListChanged"),
        (Kind::Prompts, "promptsListChanged"),
        (Kind::Resources, "resourcesListChanged"),
    ];
    for (_, name) in kinds.into_iter().filter(|(kind, _)| scope == Scope::Everything && welcome.has(*kind)) {
        filter[name] = json!(true);
    }
    let (mut uris, mut tasks) = (Vec::new(), Vec::new());
    for wish in wishes {
        match wish {
            Wish::Resource(uri) => uris.push(uri),
            Wish::Task(id) => tasks.push(id),
        }
    }
    // Whoever names tasks has to declare that it knows them.
    let declared = if tasks.is_empty() { json!({}) } else { json!({"extensions": {TASKS: {}}}) };
    for (key, names) in [("resourceSubscriptions", uris), ("taskIds", tasks)] {
        if !names.is_empty() {
            filter[key] = json!(names);
        }
    }
    let (filter, declared) = (filter.to_string(), declared.to_string());
    let stamp = Stamp { capabilities: &declared, ..Stamp::OWN };
    let write = |hop: &Hop<'_>, out: &mut Vec<u8>| {
        Params::default().write(hop, &stamp, &Changes { set: &[("notifications", &filter)] }, out);
    };
    session.stand(Ask::own("subscriptions/listen", &write, Duration::MAX)).await
}

async fn ask(session: &Session, method: &str, uri: &str, limit: Duration) -> Result<Reply, CallError> {
    let uri = json!(uri).to_string();
    let write = |hop: &Hop<'_>, out: &mut Vec<u8>| write_own(hop, &[("uri", &uri)], out);
    session.request(Ask::own(method, &write, limit)).await
}

fn nothing() -> Reply {
    Reply::Result(Bytes::from_static(b"{}"))
}

/// Has a session's server tell from now on, as a task of the session. When this returns it has been asked to, or takes its
/// time: what is listed after this cannot change unheard.
pub(crate) async fn keep_telling(session: &Session, wishes: &Arc<Wishes>, limit: Duration) {
    // What an earlier session has heard of this one has not.
    wishes.wanted.send_modify(|count| *count += 1);
    let (held, kept) = (session.clone(), wishes.clone());
    session.owns(async move { kept.keep(&held, limit).await });
    wishes.reach(SOON).await;
}
