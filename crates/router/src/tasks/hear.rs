//! What clients of 2026-07-28 hear of tasks: whose each is, and how it stands.

use super::{TaskMethod, find};
use crate::call::{Call, Caller, RouteError, Router, WAIT_FOR_SESSION};
use crate::target::{What, quoted};
use bytes::Bytes;
use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_upstream::{Aside, Reply};
use portolan_wire::params::Params;
use std::sync::Arc;

impl Router {
    /// The server that has a task, and its own id for it; whether the task is there, only the server knows.
    pub fn find_task(&self, view: &View, id: &str) -> Option<(ServerName, String)> {
        let target = find(&self.catalog.snapshot(), view, id).ok()?;
        Some((target.server, target.name?))
    }

    /// One client more wants to hear of these tasks of a server.
    pub async fn follow_tasks(&self, server: &ServerName, ids: &[&str]) -> Result<(), RouteError> {
        let member = self.member(server)?;
        member.session(WAIT_FOR_SESSION).await?;
        member.follow_tasks(ids).await;
        Ok(())
    }

    /// One client less wants to hear of a task.
    pub fn unfollow_task(&self, server: &ServerName, id: &str) {
        if let Ok(member) = self.member(server) {
            member.unfollow_task(id);
        }
    }

    /// A task as its server's own view shows it to this client, if it does.
    pub async fn look_at_task(&self, server: &ServerName, id: &str, caller: &Caller) -> Option<Bytes> {
        let params = Params::from_text(format!(r#"{{"taskId":{}}}"#, quoted(id))).ok()?;
        let (view, aside) = (View::Server(server.clone()), Arc::new(Aside::default()));
        let what = What::Task(TaskMethod::Get);
        let call = Call { view: &view, what, params: &params, aside: &aside, caller };
        match self.task(TaskMethod::Get, &call).await.ok()?.reply {
            Reply::Result(task) => Some(task),
            Reply::Error(_) => None,
        }
    }
}
