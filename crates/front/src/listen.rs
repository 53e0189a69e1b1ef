//! `subscriptions/listen`: a stream on which a client of 2026-07-28 hears of changes, and of nothing else.

use crate::Front;
use crate::client::{Client, locked};
use crate::fault::{INVALID_PARAMS, refusal};
use crate::request::{Pieces, Request};
use crate::tasks::{self, Followed, TaskAt};
use bytes::Bytes;
use dashmap::DashMap;
use portolan_catalog::{Snapshot, View};
use portolan_model::{Kind, Kinds};
use portolan_router::{Caller, Watched};
use portolan_telemetry::counters;
use portolan_wire::answer;
use portolan_wire::json::{self, Members};
use portolan_wire::meta::SUBSCRIPTION_ID;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// How many resources one stream may be about, and how many tasks.
const MOST_NAMED: usize = 1024;

#[derive(Default)]
pub(crate) struct Listeners {
    table: DashMap<u64, Arc<Listener>>,
    next: AtomicU64,
}

pub(crate) struct Listener {
    view: View,
    pub(crate) caller: Caller,
    /// The id of the request that opened the stream, as its client wrote it.
    id: Bytes,
    kinds: Kinds,
    /// The resources that it is about, each as the client asked for it.
    watched: HashMap<Watched, String>,
    /// The tasks that it is about and that are not over.
    pub(crate) followed: Mutex<HashMap<TaskAt, Followed>>,
    stream: mpsc::Sender<Bytes>,
    told: Mutex<[u64; Kind::ALL.len()]>,
}

impl Listeners {
    pub(crate) fn each(&self, mut visit: impl FnMut(&Arc<Listener>)) {
        for listener in &self.table {
            visit(&listener);
        }
    }

    /// Ends every stream in good order: one that is merely cut would be opened again by its client.
    pub(crate) fn end(&self) {
        self.each(|listener| listener.end());
        self.table.clear();
    }
}

impl Listener {
    pub(crate) fn tell(&self, message: Vec<u8>) {
        if self.stream.try_send(message.into()).is_err() {
            counters::NOTES_DROPPED.one();
        }
    }

    fn end(&self) {
        let id = std::str::from_utf8(&self.id).unwrap_or("null");
        let result = format!(r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#);
        self.tell(answer::result(id, result.as_bytes()));
    }

    /// Tells of the lists that have changed, as far as it wants to hear of them.
    pub(crate) fn hear_of_lists(&self, snapshot: &Snapshot) {
        let mut news = Kinds::NONE;
        let mut told = locked(&self.told);
        for kind in Kind::ALL {
            let now = snapshot.stamp(&self.view, kind, &self.caller.party.abilities);
            if std::mem::replace(&mut told[kind.index()], now) != now && self.kinds.has(kind) {
                news = news.with(kind);
            }
        }
        drop(told);
        for method in list_changed(news) {
            self.tell(self.stamped(method, &Members::default()));
        }
    }

    /// Tells of a resource that has changed, if it is about it.
    pub(crate) fn hear_of_resource(&self, resource: &Watched, params: &Members<'_>) {
        let Some(shown) = self.watched.get(resource) else { return };
        let shown = json!(shown).to_string();
        let mut swapped = Vec::new();
        let uri = |(key, value)| (key, if key == "uri" { shown.as_str() } else { value });
        json::write_object(params.iter().map(uri), &mut swapped);
        let swapped = String::from_utf8_lossy(&swapped);
        let Ok(params) = Members::parse(&swapped) else { return };
        self.tell(self.stamped("notifications/resources/updated", &params));
    }

    /// A notification with the stream's id in the `_meta` of its params.
    pub(crate) fn stamped(&self, method: &str, params: &Members<'_>) -> Vec<u8> {
        let id = std::str::from_utf8(&self.id).unwrap_or("null");
        let before = params.get("_meta").and_then(|raw| Members::parse(raw).ok()).unwrap_or_default();
        let mut meta = Vec::new();
        let kept = before.iter().filter(|(key, _)| *key != SUBSCRIPTION_ID);
        json::write_object(kept.chain([(SUBSCRIPTION_ID, id)]), &mut meta);
        let meta = String::from_utf8_lossy(&meta);
        let mut stamped = Vec::new();
        let kept = params.iter().filter(|(key, _)| *key != "_meta");
        json::write_object(kept.chain([("_meta", &*meta)]), &mut stamped);
        answer::notification(method, Some(&String::from_utf8_lossy(&stamped)))
    }
}

/// The notifications for lists of these kinds; templates are told of as resources.
pub(crate) fn list_changed(kinds: Kinds) -> impl Iterator<Item = &'static str> {
    let resources = kinds.has(Kind::Resources) || kinds.has(Kind::Templates);
    [
        (kinds.has(Kind::Tools), "notifications/tools/list_changed"),
        (kinds.has(Kind::Prompts), "notifications/prompts/list_changed"),
        (resources, "notifications/resources/list_changed"),
    ]
    .into_iter()
    .filter_map(|(is_so, method)| is_so.then_some(method))
}

/// An open stream; dropping it ends it.
pub(crate) struct Listening {
    front: Arc<Front>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let Some((_, listener)) = self.front.listeners.table.remove(&self.number) else { return };
        for watched in listener.watched.keys() {
            self.front.router.unsubscribe(watched);
        }
        for task in locked(&listener.followed).keys() {
            self.front.router.unfollow_task(&task.server, &task.id);
        }
    }
}

impl Front {
    /// Opens a stream: the first message on it says what it will bring.
    pub(crate) async fn listen(
        self: &Arc<Self>,
        client: &Client,
        request: &Request,
        stream: mpsc::Sender<Bytes>,
    ) -> Result<Listening, Pieces> {
        if let Some(refused) = tasks::undeclared(client, request).filter(|_| tasks::listens_to_tasks(request))
        {
            return Err(refused);
        }
        let wrong = |text: &str| refusal(request.id(), INVALID_PARAMS, text);
        let filter: Value = request
            .params()?
            .get("notifications")
            .and_then(|raw| serde_json::from_str(raw).ok())
            .unwrap_or_default();
        let Some(filter) = filter.as_object() else {
            return Err(wrong("subscriptions/listen needs params with `notifications`, an object"));
        };
        let wants = |name: &str| filter.get(name).and_then(Value::as_bool).unwrap_or_default();
        let declares =
            |capability: &str| client.view.alone().is_none_or(|server| self.declares(server, capability));
        let mut granted = json!({});
        let mut kinds = Kinds::NONE;
        for (name, kind) in [
            ("toolsListChanged", Kind::Tools),
            ("promptsListChanged", Kind::Prompts),
            ("resourcesListChanged", Kind::Resources),
        ] {
            if wants(name) && declares(kind.capability()) {
                granted[name] = json!(true);
                kinds = kinds.with(kind);
            }
        }
        if kinds.has(Kind::Resources) {
            kinds = kinds.with(Kind::Templates);
        }
        let named = |key: &str| filter.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let (uris, ids) = (named("resourceSubscriptions"), named("taskIds"));
        if uris.len() > MOST_NAMED || ids.len() > MOST_NAMED {
            return Err(wrong(&format!("a stream may be about {MOST_NAMED} resources and as many tasks")));
        }
        let watched = self.watch(client, uris.iter().filter_map(Value::as_str)).await;
        if !watched.is_empty() {
            let mut shown: Vec<&String> = watched.values().collect();
            shown.sort();
            granted["resourceSubscriptions"] = json!(shown);
        }
        let followed = self.follow(client, ids.iter().filter_map(Value::as_str)).await;
        if !followed.is_empty() {
            let mut shown: Vec<&String> = followed.values().map(|followed| &followed.shown).collect();
            shown.sort();
            granted["taskIds"] = json!(shown);
        }
        let (snapshot, caller) = (self.catalog().snapshot(), client.caller(request));
        let told = Kind::ALL.map(|kind| snapshot.stamp(&client.view, kind, &caller.party.abilities));
        let (id, view) = (request.id.clone(), client.view.clone());
        let (followed, told) = (Mutex::new(followed), Mutex::new(told));
        let listener = Arc::new(Listener { view, caller, id, kinds, watched, followed, stream, told });
        let subscription: Value = serde_json::from_str(request.id()).unwrap_or_default();
        let acknowledged = json!({"notifications": granted, "_meta": {SUBSCRIPTION_ID: subscription}});
        listener.tell(answer::notification(
            "notifications/subscriptions/acknowledged",
            Some(&acknowledged.to_string()),
        ));
        let number = self.listeners.next.fetch_add(1, Ordering::Relaxed);
        self.listeners.table.insert(number, listener);
        Ok(Listening { front: self.clone(), number })
    }

    /// Subscribes to resources; those that cannot be had are left out, which the acknowledgement shows.
    async fn watch(&self, client: &Client, uris: impl Iterator<Item = &str>) -> HashMap<Watched, String> {
        let mut watched = HashMap::new();
        for uri in uris {
            let Ok(resource) = self.router.watched(&client.view, uri) else { continue };
            if watched.contains_key(&resource) {
                continue;
            }
            if let Ok(portolan_router::Reply::Result(_)) = self.router.subscribe(&resource).await {
                watched.insert(resource, uri.to_owned());
            }
        }
        watched
    }
}
