//! `subscriptions/listen`: a stream on which a client of 2026-07-28 hears of changes, and of nothing else.

use crate::Front;
use crate::client::{Client, locked};
use crate::fault::{INVALID_PARAMS, refusal};
use crate::request::{Pieces, Request};
use bytes::Bytes;
use dashmap::DashMap;
use portolan_catalog::{Snapshot, View};
use portolan_model::{Kind, Kinds};
use portolan_router::Watched;
use portolan_telemetry::counters;
use portolan_wire::json::{self, Members};
use portolan_wire::meta::SUBSCRIPTION_ID;
use portolan_wire::{Abilities, answer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// How many resources one stream may be about.
const MOST_RESOURCES: usize = 1024;

#[derive(Default)]
pub(crate) struct Listeners {
    table: DashMap<u64, Arc<Listener>>,
    next: AtomicU64,
}

pub(crate) struct Listener {
    view: View,
    abilities: Abilities,
    /// The id of the request that opened the stream, as its client wrote it.
    id: Bytes,
    kinds: Kinds,
    /// The resources that it is about, each as the client asked for it.
    watched: HashMap<Watched, String>,
    stream: mpsc::Sender<Bytes>,
    told: Mutex<[u64; Kind::ALL.len()]>,
}

impl Listeners {
    pub(crate) fn each(&self, mut visit: impl FnMut(&Listener)) {
        for listener in &self.table {
            visit(&listener);
        }
    }

    /// Ends every stream in good order: one that is merely cut would be opened again by its client.
    pub(crate) fn end(&self) {
        self.each(Listener::end);
        self.table.clear();
    }
}

impl Listener {
    fn tell(&self, message: Vec<u8>) {
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
            let now = snapshot.stamp(&self.view, kind, &self.abilities);
            if std::mem::replace(&mut told[kind.index()], now) != now && self.kinds.has(kind) {
                news = news.with(kind);
            }
        }
        drop(told);
        for method in list_changed(news) {
            self.tell(self.stamped(method, None));
        }
    }

    /// Tells of a resource that has changed, if it is about it.
    pub(crate) fn hear_of_resource(&self, resource: &Watched, params: &Members<'_>) {
        let Some(shown) = self.watched.get(resource) else { return };
        self.tell(self.stamped("notifications/resources/updated", Some((params, shown))));
    }

    /// A notification with the stream's id in its `_meta`.
    fn stamped(&self, method: &str, updated: Option<(&Members<'_>, &str)>) -> Vec<u8> {
        let id = std::str::from_utf8(&self.id).unwrap_or("null");
        let before = updated.and_then(|(params, _)| params.get("_meta"));
        let before = before.and_then(|raw| Members::parse(raw).ok()).unwrap_or_default();
        let mut meta = Vec::new();
        let kept = before.iter().filter(|(key, _)| *key != SUBSCRIPTION_ID);
        json::write_object(kept.chain([(SUBSCRIPTION_ID, id)]), &mut meta);
        let meta = String::from_utf8_lossy(&meta);
        let mut params = Vec::new();
        match updated {
            None => json::write_object([("_meta", &*meta)].into_iter(), &mut params),
            Some((given, shown)) => {
                let shown = json!(shown).to_string();
                let kept = given.iter().filter(|(key, _)| *key != "_meta");
                let swapped =
                    kept.map(|(key, value)| (key, if key == "uri" { shown.as_str() } else { value }));
                json::write_object(swapped.chain([("_meta", &*meta)]), &mut params);
            }
        }
        answer::notification(method, Some(&String::from_utf8_lossy(&params)))
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
        let declares = |capability: &str| match &client.view {
            View::All => true,
            View::Server(server) => self.declares(server, capability),
        };
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
        let uris = filter.get("resourceSubscriptions").and_then(Value::as_array).cloned().unwrap_or_default();
        if uris.len() > MOST_RESOURCES {
            return Err(wrong(&format!("a stream may be about {MOST_RESOURCES} resources at most")));
        }
        let watched = self.watch(client, uris.iter().filter_map(Value::as_str)).await;
        if !watched.is_empty() {
            let mut shown: Vec<&String> = watched.values().collect();
            shown.sort();
            granted["resourceSubscriptions"] = json!(shown);
        }
        let snapshot = self.catalog().snapshot();
        let abilities = request.terms(client).abilities.clone();
        let told = Kind::ALL.map(|kind| snapshot.stamp(&client.view, kind, &abilities));
        let (id, view) = (request.id.clone(), client.view.clone());
        let listener =
            Arc::new(Listener { view, abilities, id, kinds, watched, stream, told: Mutex::new(told) });
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
