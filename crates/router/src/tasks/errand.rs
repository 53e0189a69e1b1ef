//! One task at the server that has it, and what its client wants of it.

use super::wards::{Left, Place, TaskKey};
use super::{TaskMethod, Wards};
use crate::call::Call;
use crate::target::quoted;
use bytes::Bytes;
use portolan_upstream::{Aside, Ask, CallError, Member, Reply, Session};
use portolan_wire::meta::TASKS;
use portolan_wire::params::{Changes, Hop, Params, Stamp};
use portolan_wire::tasks::{Form, Status, Task, relate, related, shown};
use portolan_wire::{Revision, answer};
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take over the end of a task that nobody waits for.
const TO_END: Duration = Duration::from_secs(5);
/// How long a task that is being cancelled is waited for, and how often it is looked at.
const TO_CANCEL: Duration = Duration::from_secs(2);

const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

pub(crate) struct Errand<'e> {
    pub(super) wards: &'e Wards,
    pub(super) member: &'e Member,
    pub(super) place: Place,
    pub(super) call: &'e Call<'e>,
    pub(super) task: TaskKey,
    /// What its client can be asked, as a server of 2026-07-28 hears it with every request.
    capabilities: String,
}

/// One request about a task.
pub(super) struct Asking<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a Params,
    /// Members that are new or other, as raw JSON.
    pub(super) set: &'a [(&'a str, &'a str)],
    pub(super) aside: Option<&'a Arc<Aside>>,
    pub(super) timeout: Duration,
}

impl<'e> Errand<'e> {
    pub(super) fn new(
        wards: &'e Wards,
        member: &'e Member,
        place: Place,
        call: &'e Call<'e>,
        id: &str,
    ) -> Self {
        let abilities = &call.caller.party.abilities;
        let capabilities = if place.session.revision().has_handshake() {
            String::new()
        } else {
            abilities.with_extension(TASKS).as_raw().to_owned()
        };
        let task = TaskKey { server: place.session.server().clone(), id: id.to_owned() };
        Self { wards, member, place, call, task, capabilities }
    }

    /// The id by which the client knows the task.
    pub(super) fn shown(&self) -> String {
        match self.call.view.alone() {
            None => shown(self.task.server.as_str(), &self.task.id),
            Some(_) => self.task.id.clone(),
        }
    }

    /// The reply, and the revision whose form it has.
    pub(super) async fn run(&self, method: TaskMethod) -> Result<(Reply, Revision), CallError> {
        let (server, client) = (self.place.session.revision(), self.call.caller.revision);
        let reply = match (server.has_handshake(), client.has_handshake(), method) {
            (true, true, TaskMethod::Result) => return Ok((self.fetch().await?, server)),
            (false, true, TaskMethod::Result) => return Ok((self.result().await?, server)),
            (true, true, TaskMethod::Get | TaskMethod::Cancel)
            | (false, false, TaskMethod::Get | TaskMethod::Update | TaskMethod::Cancel) => {
                self.renamed(self.pass(method).await?)
            }
            (false, true, TaskMethod::Get) => self.look().await?,
            (false, true, TaskMethod::Cancel) => self.cancel_newer().await?,
            // What 2026-07-28 wants in every result, theirs has not.
            (true, false, TaskMethod::Get) => return Ok((self.surface().await?, server)),
            (true, false, TaskMethod::Update) => return Ok((self.update().await?, server)),
            (true, false, TaskMethod::Cancel) => return Ok((self.cancel_older().await?, server)),
            (_, true, TaskMethod::Update) | (_, false, TaskMethod::Result) => {
                let text = format!("method not found: {}", method.method());
                Reply::Error(answer::error_object(METHOD_NOT_FOUND, &text, None).into())
            }
        };
        Ok((reply, client))
    }

    /// Sends a request about the task.
    pub(super) async fn ask(&self, asking: Asking<'_>) -> Result<Reply, CallError> {
        ask(&self.place.session, &self.task.id, &self.capabilities, asking).await
    }

    /// A request of our own about the task.
    pub(super) async fn own(&self, method: &str, set: &[(&str, &str)]) -> Result<Reply, CallError> {
        let params = Params::default();
        let timeout = self.member.call_timeout;
        self.ask(Asking { method, params: &params, set, aside: None, timeout }).await
    }

    /// The client's own request. What the server asks meanwhile does not belong to it: it is beside the task.
    async fn pass(&self, method: TaskMethod) -> Result<Reply, CallError> {
        let (params, timeout) = (self.call.params, self.member.call_timeout);
        let asking = Asking { method: method.method(), params, set: &[], aside: None, timeout };
        let reply = self.ask(asking).await?;
        if method == TaskMethod::Cancel && matches!(reply, Reply::Result(_)) {
            self.wards.release(&self.task);
        }
        Ok(reply)
    }

    /// A task in the form that it came in, under the id that its client knows.
    fn renamed(&self, reply: Reply) -> Reply {
        let (None, Some(task)) = (self.call.view.alone(), read(&reply)) else { return reply };
        let own = self.shown();
        let form =
            if self.place.session.revision().has_handshake() { Form::Experimental } else { Form::Extension };
        let result = task.get("result").filter(|result| related(result).is_some());
        let result = result.map(|result| relate(result, Some(&own)));
        let with: Vec<(&str, &str)> = result.iter().map(|result| ("result", &**result)).collect();
        done(task.write(form, &own, &with))
    }

    /// `tasks/get` of a client of 2025-11-25 at a server of 2026-07-28.
    async fn look(&self) -> Result<Reply, CallError> {
        let reply = self.own("tasks/get", &[]).await?;
        Ok(self.as_older(&reply).unwrap_or(reply))
    }

    /// A task of the extension as 2025-11-25 has it, where a tool's own error is a failure.
    fn as_older(&self, reply: &Reply) -> Option<Reply> {
        let task = read(reply)?;
        let is_error = |result: &str| {
            portolan_wire::json::Members::parse(result).is_ok_and(|all| all.get("isError") == Some("true"))
        };
        let is_failed = task.status == Status::Completed && task.get("result").is_some_and(is_error);
        let with: &[(&str, &str)] = if is_failed { &[("status", r#""failed""#)] } else { &[] };
        Some(done(task.write(Form::Experimental, &self.shown(), with)))
    }

    /// `tasks/cancel` of a client of 2025-11-25, which is answered with the task, at a server that only acknowledges it.
    async fn cancel_newer(&self) -> Result<Reply, CallError> {
        let before = self.own("tasks/get", &[]).await?;
        match read(&before) {
            None => return Ok(before),
            Some(task) if task.status.is_final() => {
                let text = format!("Cannot cancel task: it is {}", task.get("status").unwrap_or("over"));
                return Ok(Reply::Error(answer::error_object(INVALID_PARAMS, &text, None).into()));
            }
            Some(_) => {}
        }
        let acknowledged = self.own("tasks/cancel", &[]).await?;
        if matches!(acknowledged, Reply::Error(_)) {
            return Ok(acknowledged);
        }
        let begun = tokio::time::Instant::now();
        loop {
            let reply = self.own("tasks/get", &[]).await?;
            let Some(task) = read(&reply) else { return Ok(reply) };
            if task.status.is_final() || begun.elapsed() >= TO_CANCEL {
                return Ok(self.as_older(&reply).unwrap_or(reply));
            }
            tokio::time::sleep(task.pause().min(TO_CANCEL / 10)).await;
        }
    }

    /// `tasks/cancel` of a client of 2026-07-28, which is acknowledged even if there is nothing left to cancel, at a server
    /// that refuses it then.
    async fn cancel_older(&self) -> Result<Reply, CallError> {
        let reply = self.own("tasks/cancel", &[]).await?;
        if matches!(reply, Reply::Error(_)) {
            let task = self.own("tasks/get", &[]).await?;
            if read(&task).is_none_or(|task| !task.status.is_final()) {
                return Ok(reply);
            }
        }
        self.wards.release(&self.task);
        Ok(done("{}".to_owned()))
    }

    /// Has the task ended if whoever waits for it goes away.
    pub(super) fn guard(&self) -> Guard<'_> {
        let left = Left {
            task: self.task.clone(),
            place: self.place.clone(),
            capabilities: self.capabilities.clone(),
        };
        Guard { wards: self.wards, left: Some(left) }
    }

    pub(super) fn broke(&self, reason: impl Into<String>) -> CallError {
        CallError::Protocol { server: self.task.server.clone(), reason: reason.into() }
    }
}

/// Ends a task when it is dropped, unless that is not wanted any more.
pub(super) struct Guard<'g> {
    wards: &'g Wards,
    left: Option<Left>,
}

impl Guard<'_> {
    pub(super) fn disarm(mut self) {
        self.left = None;
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(left) = self.left.take() {
            self.wards.leave(left);
        }
    }
}

/// Ends a task that nobody waits for any more; whether its server hears it does not matter.
pub(super) async fn end(left: &Left) {
    let params = Params::default();
    let asking = Asking { method: "tasks/cancel", params: &params, set: &[], aside: None, timeout: TO_END };
    ask(&left.place.session, &left.task.id, &left.capabilities, asking).await.map(drop).unwrap_or_default();
}

pub(super) async fn ask(
    session: &Session,
    id: &str,
    capabilities: &str,
    asking: Asking<'_>,
) -> Result<Reply, CallError> {
    let own = quoted(id);
    let mut set = vec![("taskId", own.as_str())];
    set.extend(asking.set);
    let stamp = Stamp { capabilities, level: None, is_own: false };
    let write = |hop: &Hop<'_>, out: &mut Vec<u8>| {
        asking.params.write(hop, &stamp, &Changes { set: &set }, out);
    };
    let length: usize = set.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
    session
        .request(Ask {
            method: asking.method,
            params: &write,
            params_len: asking.params.byte_len() + length + 256,
            timeout: asking.timeout,
            aside: asking.aside,
            name: Some(id),
            mirrored: &[],
        })
        .await
}

/// The task in a reply, if it has one.
pub(super) fn read(reply: &Reply) -> Option<Task<'_>> {
    Task::parse(text(reply)?)
}

/// A reply's result as text. It was parsed as text when it came in.
pub(super) fn text(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::Result(raw) => std::str::from_utf8(raw).ok(),
        Reply::Error(_) => None,
    }
}

pub(super) fn done(result: String) -> Reply {
    Reply::Result(Bytes::from(result))
}
