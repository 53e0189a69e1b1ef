//! What a server is asked to tell by itself: changes of its lists, and of resources that clients have subscribed to.

use crate::error::CallError;
use crate::pending::Reply;
use crate::session::{Ask, Session};
use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use portolan_model::{Era, Kind, Kinds};
use portolan_wire::params::{Hop, write_own};
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

/// The resources that clients want to hear of, each with how many want it. They outlive sessions: whoever comes back is
/// asked again. One task a session tells the server, so that what it hears is in order.
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
    counts: BTreeMap<String, usize>,
    /// What the server would not have, and what it said.
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

    fn all(&self) -> BTreeSet<String> {
        self.table().counts.keys().cloned().collect()
    }

    /// Has the server tell of this resource from now on: its own answer where it would not.
    pub(crate) async fn subscribe(&self, uri: &str, limit: Duration) -> Reply {
        let is_first = {
            let mut table = self.table();
            table.refused.remove(uri);
            let count = table.counts.entry(uri.to_owned()).or_default();
            *count += 1;
            *count == 1
        };
        if is_first {
            self.wanted.send_modify(|count| *count += 1);
        }
        self.reach(limit).await;
        self.table().refused.get(uri).cloned().unwrap_or_else(nothing)
    }

    /// One client less wants to hear of this resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let is_last = {
            let mut table = self.table();
            match table.counts.get_mut(uri) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    false
                }
                Some(_) => table.counts.remove(uri).is_some(),
                None => false,
            }
        };
        if is_last {
            self.wanted.send_modify(|count| *count += 1);
        }
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
            let (now, all) = (*wanted.borrow_and_update(), self.all());
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
                        table.counts.remove(&uri);
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
        let mut streams: FuturesUnordered<Standing> = FuturesUnordered::new();
        let mut covered: Option<BTreeSet<String>> = None;
        let mut pause = REOPEN;
        loop {
            let (now, all) = (*wanted.borrow_and_update(), self.all());
            let is_full = streams.len() >= MOST_STREAMS;
            let added: Vec<String> = match &covered {
                Some(covered) if !is_full => all.difference(covered).cloned().collect(),
                Some(_) | None => all.iter().cloned().collect(),
            };
            if covered.is_none() || !added.is_empty() {
                let scope = if covered.is_none() || is_full { Scope::Everything } else { Scope::Resources };
                let mut next: Standing = Box::pin(stand(session.clone(), scope, added));
                match opened(session, &mut next).await {
                    Opened::Yes => {
                        if is_full {
                            // Whatever is still on the old ones is read before they are closed.
                            timeout(SOON, async { while streams.next().await.is_some() {} }).await.ok();
                            streams.clear();
                        }
                        streams.push(next);
                        covered.get_or_insert_default().extend(all);
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
                }
            }
            self.heard.send_replace(now);
            tokio::select! {
                Some(_) = streams.next() => {
                    // What changed in between nobody has told.
                    session.want_lists(Kinds::ALL);
                    streams.clear();
                    covered = None;
                    sleep(pause).await;
                }
                changed = wanted.changed() => {
                    pause = REOPEN;
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

type Standing = std::pin::Pin<Box<dyn Future<Output = Result<Reply, CallError>> + Send>>;

/// What a stream is to bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    Resources,
}

/// What became of a stream that was asked for.
enum Opened {
    Yes,
    NotYet,
    Never,
}

/// Waits until the server has said what the stream will bring. One that says nothing for a while counts as open.
async fn opened(session: &Session, next: &mut Standing) -> Opened {
    let acknowledged = session.inbox().acknowledged.notified();
    tokio::select! {
        () = acknowledged => Opened::Yes,
        ended = next => match ended {
            Ok(Reply::Error(error)) => {
                let error = String::from_utf8_lossy(&error);
                tracing::debug!(server = %session.server(), %error, "it tells nothing by itself");
                Opened::Never
            }
            Ok(Reply::Result(_)) | Err(_) => Opened::NotYet,
        },
        () = sleep(SOON) => Opened::Yes,
    }
}

async fn stand(session: Session, scope: Scope, uris: Vec<String>) -> Result<Reply, CallError> {
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
    if !uris.is_empty() {
        filter["resourceSubscriptions"] = json!(uris);
    }
    let filter = filter.to_string();
    let write = |hop: &Hop<'_>, out: &mut Vec<u8>| write_own(hop, &[("notifications", &filter)], out);
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
