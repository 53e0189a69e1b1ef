//! `tasks/list` of 2025-11-25 over all servers that have it. A client is shown its own tasks: who shares a session with it has
//! nothing to do with them.

use super::errand::text;
use super::wards::TaskKey;
use crate::call::{Answered, Call, RouteError, Router};
use futures_util::future::join_all;
use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_upstream::{Ask, Reply, Session};
use portolan_wire::Revision;
use portolan_wire::json::{self, Members};
use portolan_wire::params::{Hop, write_own};
use portolan_wire::tasks::{Form, Task, shown};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many pages one server's list may have.
const MOST_PAGES: usize = 20;
/// How long one page may take: a server that hangs holds up the others' tasks.
const PATIENCE: Duration = Duration::from_secs(5);

impl Router {
    pub(crate) async fn list_tasks(&self, call: &Call<'_>) -> Result<Answered, RouteError> {
        if call.params.get("cursor").is_some_and(|cursor| cursor != "null") {
            return Err(RouteError::Invalid("the cursor is not one that was given out here".to_owned()));
        }
        let sees = |server: &ServerName| call.view.has_server(server);
        let snapshot = self.catalog.snapshot().clone();
        let first = snapshot.servers().keys().find(|server| sees(server)).cloned();
        let server = first.ok_or_else(|| RouteError::Invalid("there is no server here".to_owned()))?;
        let mut own: BTreeMap<ServerName, Vec<(TaskKey, Session)>> = BTreeMap::new();
        for (task, session) in self.wards.of_client(call.caller.party.client) {
            let entry = snapshot.servers().get(&task.server);
            if sees(&task.server) && entry.is_some_and(|entry| super::declared(entry).lists) {
                own.entry(task.server.clone()).or_default().push((task, session));
            }
        }
        let lists = join_all(own.into_values().map(|own| of_server(own, call.view))).await;
        let tasks = lists.into_iter().flatten().collect::<Vec<_>>().join(",");
        let reply = Reply::Result(format!(r#"{{"tasks":[{tasks}]}}"#).into());
        Ok(Answered { server, reply, revision: Revision::V2025_11_25 })
    }
}

/// The tasks of a client at one server, as they are shown to it. They may be on several sessions, each of which is asked once.
async fn of_server(mut own: Vec<(TaskKey, Session)>, view: &View) -> Vec<String> {
    let mut tasks = Vec::new();
    while let Some((first, session)) = own.pop() {
        own.push((first.clone(), session.clone()));
        for raw in listed(&session).await {
            let Some(task) = Task::parse(raw.get()) else { continue };
            let Some(at) = own.iter().position(|(key, _)| key.id == task.id) else { continue };
            let (key, _) = own.swap_remove(at);
            let id = match view.alone() {
                None => shown(key.server.as_str(), &key.id),
                Some(_) => key.id,
            };
            tasks.push(task.write(Form::Experimental, &id, &[]));
        }
        // One that its own session does not list is no more.
        own.retain(|(key, _)| *key != first);
    }
    tasks
}

/// The tasks of one session, whosoever they are; those of a server that does not answer are none.
async fn listed(session: &Session) -> Vec<Box<RawValue>> {
    let (mut tasks, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let after = cursor.take();
        let set: Vec<(&str, &str)> = after.iter().map(|raw| ("cursor", raw.as_str())).collect();
        let write = |hop: &Hop<'_>, out: &mut Vec<u8>| write_own(hop, &set, out);
        let ask = Ask {
            method: "tasks/list",
            params: &write,
            params_len: 256,
            timeout: PATIENCE,
            aside: None,
            name: None,
            mirrored: &[],
        };
        let Ok(reply) = session.request(ask).await else { break };
        let Some(Ok(page)) = text(&reply).map(Members::parse) else { break };
        let part = page.get("tasks").and_then(|raw| serde_json::from_str::<Vec<Box<RawValue>>>(raw).ok());
        tasks.extend(part.unwrap_or_default());
        let next = page.get("nextCursor").filter(|raw| json::text(raw).is_some());
        match next {
            Some(next) if after.as_deref() != Some(next) => cursor = Some(next.to_owned()),
            Some(_) | None => break,
        }
    }
    tasks
}
