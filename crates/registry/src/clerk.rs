//! Files what the fleet tells: into the catalog at once, into the store soon, and into the log of events.

use crate::events::{EventLog, Subject};
use crate::overlay;
use crate::recorder::Recorder;
use crate::verdicts::Verdicts;
use portolan_catalog::{Catalog, Filing};
use portolan_model::{Era, Kind, Kinds, LeftOut, Moment, Offer, ServerId, ServerName, State, fingerprint};
use portolan_store::{Curation, HistoryRecord, ToolDraft};
use portolan_upstream::{Happening, Status};
use portolan_wire::Abilities;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What is known of one server beside its session.
#[derive(Default)]
struct Folder {
    id: Option<ServerId>,
    /// What people have set for its tools, by their own names.
    curations: HashMap<String, Curation>,
    /// As the server gave it; the catalog has it as people want it shown.
    offer: Option<Offer>,
    tool_count: u64,
    last_told: Option<(State, Option<Arc<str>>)>,
}

/// Where records and events go, where there is a store.
pub(crate) struct Books {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) events: Arc<EventLog>,
}

pub struct Clerk {
    catalog: Arc<Catalog>,
    most_tools: usize,
    folders: Mutex<HashMap<ServerName, Folder>>,
    last_sync: Mutex<Option<Moment>>,
    books: Option<Books>,
    pub(crate) verdicts: Verdicts,
}

impl Clerk {
    /// One that only files into the catalog: nothing outlives the process.
    pub fn without_books(catalog: Arc<Catalog>, most_tools: usize) -> Arc<Self> {
        Arc::new(Self::new(catalog, most_tools, None))
    }

    pub(crate) fn new(catalog: Arc<Catalog>, most_tools: usize, books: Option<Books>) -> Self {
        Self {
            catalog,
            most_tools,
            folders: Mutex::default(),
            last_sync: Mutex::default(),
            books,
            verdicts: Verdicts::default(),
        }
    }

    /// Files whatever is told until it is stopped, and then what was told by then.
    pub async fn run(self: Arc<Self>, mut told: mpsc::Receiver<Happening>, stop: CancellationToken) {
        loop {
            let happening = tokio::select! {
                happening = told.recv() => happening,
                () = stop.cancelled() => told.try_recv().ok(),
            };
            match happening {
                Some(happening) => self.file(happening),
                None => return,
            }
        }
    }

    /// Puts a server on file before it starts: a client that asks at once has to find it starting, and not missing.
    pub fn expect(&self, server: &ServerName, state: State) {
        if !self.catalog.snapshot().servers().contains_key(server) {
            self.catalog.file(Filing::Turned { server: server.clone(), state, error: None });
        }
    }

    /// Opens the folder of a server of the store.
    pub(crate) fn know(&self, server: &ServerName, id: ServerId, known: Known) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folders.entry(server.clone()).or_default();
        folder.id = Some(id);
        folder.tool_count = known.tool_count;
        folder.curations = known.curations.into_iter().collect();
    }

    /// What a server offered before the restart is shown until it is back.
    pub(crate) fn recall(&self, server: &ServerName, offer: Offer) {
        let shown = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = folders.entry(server.clone()).or_default();
            let shown = overlay::apply(&offer, &folder.curations);
            folder.offer = Some(offer);
            shown
        };
        let announced = Kinds::NONE;
        self.catalog.file(Filing::Offered { server: server.clone(), offer: shown, announced });
    }

    pub(crate) fn forget(&self, server: &ServerName) {
        let folder = self.folders.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
        if let (Some(books), Some(id)) = (&self.books, folder.and_then(|folder| folder.id))
            && let Some(all) = self.verdicts.forget(id)
        {
            books.recorder.eras(all);
        }
        self.catalog.file(Filing::Removed { server: server.clone() });
    }

    /// Moves everything that is listed under one name to another, in one step.
    pub(crate) fn rename(&self, from: &ServerName, to: &ServerName) {
        {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(folder) = folders.remove(from) {
                folders.insert(to.clone(), folder);
            }
        }
        self.catalog.file(Filing::Renamed { from: from.clone(), to: to.clone() });
    }

    /// Shows a tool as people want it from now on.
    pub(crate) fn curate(&self, server: &ServerName, tool: &str, curation: Curation) {
        let shown = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(folder) = folders.get_mut(server) else { return };
            folder.curations.insert(tool.to_owned(), curation);
            let is_listed =
                self.catalog.snapshot().servers().get(server).is_some_and(|e| e.offer().is_some());
            folder.offer.as_ref().filter(|_| is_listed).map(|offer| overlay::apply(offer, &folder.curations))
        };
        if let Some(offer) = shown {
            let announced = Kinds::NONE;
            self.catalog.file(Filing::Offered { server: server.clone(), offer, announced });
        }
    }

    /// Hands a server's tools to the store once more, which did not know the server before.
    pub(crate) fn store_again(&self, server: &ServerName) {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Folder { id: Some(id), offer: Some(offer), .. }) = folders.get(server) else { return };
        if let Some(books) = &self.books {
            books.recorder.tools(*id, offer.tools.iter().map(|tool| draft(tool)).collect());
        }
    }

    /// Waits until a server is on file with this state.
    pub(crate) async fn shows(&self, server: &ServerName, state: State) {
        let mut generations = self.catalog.generations();
        let is_so =
            || self.catalog.snapshot().servers().get(server).is_some_and(|entry| entry.state == state);
        while !is_so() {
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn tool_count(&self, server: &ServerName) -> u64 {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.get(server).map_or(0, |folder| folder.tool_count)
    }

    /// What is not offered of a server's tools and why, and whether their list is only a part.
    pub(crate) fn shortfall(&self, server: &ServerName) -> (Vec<LeftOut>, bool) {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let offer = folders.get(server).and_then(|folder| folder.offer.as_ref());
        let Some(offer) = offer else { return (Vec::new(), false) };
        let tools = offer.left_out.iter().filter(|left_out| left_out.kind == Kind::Tools);
        (tools.cloned().collect(), offer.partial.has(Kind::Tools))
    }

    /// When a server's tools were last listed.
    pub(crate) fn last_sync(&self) -> Option<Moment> {
        *self.last_sync.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, happening: Happening) {
        match happening {
            Happening::Turned { server, status } => self.turned(&server, &status),
            Happening::Withdrawn { server } => self.catalog.file(Filing::Withdrawn { server }),
            Happening::Removed { server } => self.catalog.file(Filing::Removed { server }),
            Happening::Met { server, era } => self.met(&server, era),
            Happening::Stale { server, kinds } => self.catalog.file(Filing::Stale { server, kinds }),
            Happening::Unseen { abilities } => self.catalog.file(Filing::Unseen { abilities }),
            Happening::Seen { server, abilities, offer, missing, differs } => {
                self.seen(&server, &abilities, offer, missing);
                let snapshot = self.catalog.snapshot();
                let entry = snapshot.servers().get(&server);
                // Whoever looked may have gone.
                differs.send(entry.is_some_and(|entry| entry.differs_for(&abilities))).unwrap_or_default();
            }
            Happening::Offered { server, offer, announced, filed } => {
                self.offered(server, offer, announced);
                drop(filed);
            }
        }
    }

    fn met(&self, server: &ServerName, era: Era) {
        let id = self.folders.lock().unwrap_or_else(PoisonError::into_inner).get(server).and_then(|f| f.id);
        if let (Some(books), Some(id)) = (&self.books, id)
            && let Some(all) = self.verdicts.keep(id, era)
        {
            books.recorder.eras(all);
        }
    }

    fn turned(&self, server: &ServerName, status: &Status) {
        let (state, error) = (status.state, status.error.clone());
        self.catalog.file(Filing::Turned { server: server.clone(), state, error: error.clone() });
        let Some(books) = &self.books else { return };
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = folders.get_mut(server) else { return };
        let now = Some((state, error.clone()));
        let Some(id) = folder.id.filter(|_| folder.last_told != now) else { return };
        let is_retry = folder.last_told.as_ref().is_some_and(|(last, _)| *last == state);
        folder.last_told = now;
        let details = error.as_ref().map(|error| json!({ "error": &**error }).to_string());
        let event = if is_retry { "RETRY" } else { state.as_str() };
        books.recorder.history(HistoryRecord {
            id: 0,
            server: id,
            event: event.to_owned(),
            details,
            at: Moment::now(),
        });
        let status = ("status", Value::from(state.as_str()));
        let error = ("error_message", error.as_deref().map_or(Value::Null, Value::from));
        books.tell("server.status", Subject { id, name: server }, [status, error]);
    }

    fn offered(&self, server: ServerName, mut offer: Offer, announced: Kinds) {
        self.keep_within_the_limit(&server, &mut offer);
        *self.last_sync.lock().unwrap_or_else(PoisonError::into_inner) = Some(Moment::now());
        if offer.tools.is_empty() {
            tracing::warn!(%server, "the server offers no tools");
        }
        let (id, shown) = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = folders.entry(server.clone()).or_default();
            folder.tool_count = offer.tools.len() as u64;
            let shown = overlay::apply(&offer, &folder.curations);
            folder.offer = Some(offer.clone());
            (folder.id, shown)
        };
        self.catalog.file(Filing::Offered { server, offer: shown, announced });
        if let (Some(books), Some(id)) = (&self.books, id) {
            books.recorder.tools(id, offer.tools.iter().map(|tool| draft(tool)).collect());
        }
    }

    /// Files what clients are shown that declare something. Only the catalog has it: it is found out again after a restart.
    fn seen(&self, server: &ServerName, abilities: &Abilities, mut offer: Offer, missing: Kinds) {
        let shown = {
            let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Folder { offer: Some(of_all), curations, .. }) = folders.get(server) else { return };
            offer.take_over(missing, of_all);
            // What is left out for everybody is left out for each.
            let listed: HashSet<&str> = of_all.tools.iter().map(|tool| &*tool.name).collect();
            let left_out = of_all.left_out.iter().filter(|one| one.kind == Kind::Tools);
            let left_out: HashSet<&str> = left_out.map(|one| one.tool.as_str()).collect();
            offer.tools.retain(|tool| !left_out.contains(&*tool.name) || listed.contains(&*tool.name));
            overlay::apply(&offer, curations)
        };
        let (server, abilities) = (server.clone(), abilities.clone());
        self.catalog.file(Filing::Seen { server, abilities, offer: shown });
    }

    fn keep_within_the_limit(&self, server: &ServerName, offer: &mut Offer) {
        let most = self.most_tools;
        let others = self.catalog.snapshot().tools().filter(|(other, _)| *other != server).count();
        let room = most.saturating_sub(others);
        if offer.tools.len() <= room {
            return;
        }
        tracing::warn!(%server, room, "the limit of {most} tools is reached; some of its tools are left out");
        let reason = format!("there are {most} tools in all already");
        let over = offer.tools.split_off(room);
        offer.left_out.extend(over.iter().map(|tool| LeftOut {
            kind: Kind::Tools,
            tool: tool.name.to_string(),
            reason: reason.clone(),
        }));
        offer.partial = offer.partial.with(Kind::Tools);
    }
}

/// What the store knows of a server at the start.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) tool_count: u64,
    pub(crate) curations: Vec<(String, Curation)>,
}

impl Books {
    pub(crate) fn tell(
        &self,
        kind: &str,
        subject: Subject<'_>,
        details: impl IntoIterator<Item = (&'static str, Value)>,
    ) {
        self.recorder.event(self.events.tell(kind, subject, details));
    }
}

fn draft(tool: &portolan_model::Tool) -> ToolDraft {
    let definition = tool.definition.get();
    ToolDraft {
        name: tool.name.to_string(),
        description: overlay::description(definition),
        definition: definition.to_owned(),
        fingerprint: fingerprint([definition.as_bytes()]),
    }
}

#[cfg(test)]
mod tests;
