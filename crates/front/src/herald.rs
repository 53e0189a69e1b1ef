//! Tells clients what happens outside of their requests: changed lists and resources, and what servers say to everybody.

use crate::Front;
use crate::listen::list_changed;
use crate::told::is_wanted_outside;
use bytes::Bytes;
use portolan_catalog::Generation;
use portolan_router::{Notice, Watched};
use portolan_wire::json::{self, Members};
use portolan_wire::meta::SUBSCRIPTION_ID;
use portolan_wire::tasks::Form;
use portolan_wire::{Message, answer, envelope};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};

/// Changes within this time of one another are told as one.
const COALESCE: Duration = Duration::from_millis(50);

/// How often calls are looked over for those whose clients have not come back.
const SWEEP: Duration = Duration::from_secs(5);

impl Front {
    /// Starts the heralds, and whoever looks after calls that wait for their clients; they end with the front.
    pub fn start_heralds(self: &Arc<Self>, notices: broadcast::Receiver<Notice>) {
        let front = self.clone();
        self.owns(async move { front.tell_of_lists().await });
        let front = self.clone();
        self.owns(async move { front.tell_of_notices(notices).await });
        let front = self.clone();
        self.owns(async move { front.router.look_after_tasks().await });
        let front = self.clone();
        self.owns(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                front.lot.sweep();
            }
        });
    }

    async fn tell_of_lists(&self) {
        let mut generations = self.catalog().generations();
        let news = |generation: &Generation| (generation.listed, generation.seen);
        let mut told = news(&generations.borrow());
        while generations.changed().await.is_ok() {
            let now = news(&generations.borrow_and_update());
            if now == told {
                continue;
            }
            told = now;
            let snapshot = self.catalog().snapshot().clone();
            self.sessions.each(|client| {
                for method in list_changed(client.news(&snapshot)) {
                    client.tell(&answer::notification(method, None).into());
                }
            });
            self.listeners.each(|listener| listener.hear_of_lists(&snapshot));
            tokio::time::sleep(COALESCE).await;
        }
    }

    async fn tell_of_notices(self: &Arc<Self>, mut notices: broadcast::Receiver<Notice>) {
        loop {
            match notices.recv().await {
                Ok(notice) => self.pass_on(&notice),
                Err(RecvError::Lagged(count)) => portolan_telemetry::counters::NOTES_DROPPED.add(count),
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn pass_on(self: &Arc<Self>, notice: &Notice) {
        let Ok(text) = std::str::from_utf8(&notice.message) else { return };
        let Ok(Message::Notification { method, params }) = envelope::parse_one(text) else { return };
        match &*method {
            "notifications/resources/updated" => self.tell_of_resource(notice, params),
            "notifications/tasks/status" => self.tell_of_task(notice, Form::Experimental, params),
            "notifications/tasks" => self.tell_of_task(notice, Form::Extension, params),
            "notifications/progress" => self.tell_of_progress(notice, params),
            _ => self.sessions.each(|client| {
                if client.sees(&notice.server) && is_wanted_outside(client, &notice.message) {
                    client.tell(&notice.message);
                }
            }),
        }
    }

    /// A resource has changed: whoever wanted to know is told, each under the URI by which it asked.
    fn tell_of_resource(&self, notice: &Notice, params: Option<&str>) {
        let Some(Ok(params)) = params.map(Members::parse) else { return };
        let Some(uri) = params.get("uri").and_then(json::text) else { return };
        let resource = Watched { server: notice.server.clone(), uri: uri.clone().into_owned() };
        // The id of our own stream means nothing to anybody else.
        let is_plain = params.get("_meta").is_none_or(|meta| !meta.contains(SUBSCRIPTION_ID));
        self.sessions.each(|client| {
            let Some(shown) = client.watches(&resource) else { return };
            if shown == uri && is_plain {
                client.tell(&notice.message);
                return;
            }
            let message =
                answer::notification("notifications/resources/updated", Some(&plainly(&params, &shown)));
            client.tell(&Bytes::from(message));
        });
        self.listeners.each(|listener| listener.hear_of_resource(&resource, &params));
    }
}

/// The params of an update under the URI by which a client asked, without the id of our own stream.
fn plainly(params: &Members<'_>, shown: &str) -> String {
    let shown = serde_json::json!(shown).to_string();
    let meta = params.get("_meta").and_then(|raw| Members::parse(raw).ok()).map(|meta| {
        let mut kept = Vec::new();
        json::write_object(meta.iter().filter(|(key, _)| *key != SUBSCRIPTION_ID), &mut kept);
        String::from_utf8_lossy(&kept).into_owned()
    });
    let mut out = Vec::new();
    let swapped = params.iter().filter_map(|(key, value)| match (key, &meta) {
        ("uri", _) => Some((key, shown.as_str())),
        ("_meta", Some(meta)) => (meta != "{}").then_some((key, meta.as_str())),
        _ => Some((key, value)),
    });
    json::write_object(swapped, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
