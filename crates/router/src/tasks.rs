//! Tasks: which calls become one, and the way of a request about one to the server that has it.

mod created;
mod drive;
mod errand;
mod follow;
mod hear;
mod list;
mod relay;
mod surface;
mod wards;

pub(crate) use created::Landed;
pub(crate) use relay::Relay;
pub(crate) use wards::{Place, TaskKey, Wards};

use crate::call::{Answered, Call, RouteError, Router, WAIT_FOR_END, WAIT_FOR_SESSION};
use crate::target::{Target, What};
use errand::Errand;
use portolan_catalog::{Entry, Snapshot, View};
use portolan_model::ServerName;
use portolan_telemetry::counters;
use portolan_upstream::{CallError, Member, Reply};
use portolan_wire::meta::TASKS;
use portolan_wire::tasks::{self, Declared, Form, Support};
use portolan_wire::{Revision, answer};
use std::time::Duration;
use tokio::time::timeout;

/// Whoever waits for a task waits no longer than this, whatever happens to it.
pub(crate) const LONGEST: Duration = Duration::from_hours(1);

/// What a client wants of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskMethod {
    Get,
    Result,
    Update,
    Cancel,
}

impl TaskMethod {
    pub const fn method(self) -> &'static str {
        match self {
            Self::Get => "tasks/get",
            Self::Result => "tasks/result",
            Self::Update => "tasks/update",
            Self::Cancel => "tasks/cancel",
        }
    }

    /// Whether clients of a revision have it.
    pub const fn is_of(self, revision: Revision) -> bool {
        match (Form::of(revision), self) {
            (Some(Form::Experimental), Self::Get | Self::Result | Self::Cancel)
            | (Some(Form::Extension), Self::Get | Self::Update | Self::Cancel) => true,
            (Some(Form::Experimental), Self::Update) | (Some(Form::Extension), Self::Result) | (None, _) => {
                false
            }
        }
    }
}

/// What a server, and the tool that is called there, have of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) declared: Declared,
    pub(crate) support: Support,
}

impl Offered {
    /// Of a server that has tasks at all, which few have.
    pub(crate) fn by(entry: &Entry, tool: Option<&str>) -> Option<Self> {
        let declared = declared(entry);
        if !declared.has_any() {
            return None;
        }
        let called = tool.filter(|_| declared.experimental).and_then(|tool| entry.tool(tool));
        let support = called.map(|tool| Support::read(tool.definition.get())).unwrap_or_default();
        Some(Self { declared, support })
    }
}

fn declared(entry: &Entry) -> Declared {
    let capabilities = entry.offer().and_then(|offer| offer.manner.capabilities.as_ref());
    capabilities.map(|raw| Declared::read(raw.get())).unwrap_or_default()
}

/// What the client of a call makes of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knowing {
    /// It has asked for one, as 2025-11-25 has it.
    Asking,
    /// It declares the extension.
    Declaring,
    /// It wants the answer, and nothing before.
    Nothing,
}

impl Knowing {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        let declares = || call.caller.party.abilities.has_extension(TASKS);
        match Form::of(call.caller.revision) {
            Some(Form::Experimental) if is_asking(call) => Self::Asking,
            Some(Form::Extension) if declares() => Self::Declaring,
            Some(Form::Experimental | Form::Extension) | None => Self::Nothing,
        }
    }
}

/// Whether a call asks for a task.
fn is_asking(call: &Call<'_>) -> bool {
    Form::of(call.caller.revision) == Some(Form::Experimental)
        && call.params.get("task").is_some_and(|raw| raw.starts_with('{'))
}

/// How a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is no tool.
    Untouched,
    /// Without a word of tasks.
    Plain,
    /// With the client's own wish for a task.
    Asked,
    /// With our wish for a task: the tool cannot be called in any other way.
    AsTask,
    /// With the extension declared for the client.
    Extended,
}

impl Mode {
    pub(crate) fn of(target: &Target, call: &Call<'_>, server: Revision) -> Self {
        if call.what != What::Tool {
            return Self::Untouched;
        }
        let Some(offered) = target.tasks.filter(|tasks| tasks.declared.has(server)) else {
            return Self::Plain;
        };
        match (is_asking(call), server.has_handshake()) {
            (true, true) => Self::Asked,
            (true, false) => Self::Extended,
            (false, true) if offered.support == Support::Required => Self::AsTask,
            (false, _) => Self::Plain,
        }
    }

    /// What becomes of the member `task` of the call's params: another value, none (the empty one), or as it came.
    pub(crate) fn member(self, server: Revision) -> Option<&'static str> {
        match self {
            Self::AsTask => Some("{}"),
            Self::Extended => Some(""),
            // From 2026-07-28 on nobody minds it.
            Self::Plain if server.has_handshake() => Some(""),
            Self::Untouched | Self::Plain | Self::Asked => None,
        }
    }
}

/// Whether a server of 2026-07-28 refuses a call only because tasks were not declared for it.
pub(crate) fn wants_extension(reply: &Reply) -> bool {
    let Reply::Error(error) = reply else { return false };
    let error = std::str::from_utf8(error).unwrap_or("null");
    answer::error_code(error) == Some(-32021) && error.contains(TASKS)
}

/// Where a request about a task goes.
pub(crate) fn target(snapshot: &Snapshot, call: &Call<'_>) -> Result<Target, RouteError> {
    let method = call.what.method();
    let id = call.params.text("taskId");
    let id = id.ok_or_else(|| RouteError::Invalid(format!("{method} needs params with a `taskId`")))?;
    find(snapshot, call.view, &id)
}

fn find(snapshot: &Snapshot, view: &View, id: &str) -> Result<Target, RouteError> {
    let (server, own) = owner(snapshot, view, id)?;
    let entry = snapshot.servers().get(&server);
    let tasks = entry.and_then(|entry| Offered::by(entry, None));
    if tasks.is_none() && entry.is_some_and(|entry| entry.offer().is_some()) {
        return Err(unknown(id));
    }
    Ok(Target { tasks, ..Target::new(server, "taskId", own) })
}

/// The server that has a task, and its own id for it. An id without a server's name can only be of a single server.
fn owner(snapshot: &Snapshot, view: &View, id: &str) -> Result<(ServerName, String), RouteError> {
    match view.alone() {
        Some(server) => Ok((server.clone(), id.to_owned())),
        None => {
            let seen = || snapshot.servers().iter().filter(|(server, _)| view.has_server(server));
            if let Some((name, own)) = tasks::split(id)
                && let Some((server, _)) = seen().find(|(server, _)| server.as_str() == name)
            {
                return Ok((server.clone(), own.to_owned()));
            }
            let mut having = seen().filter(|(_, entry)| declared(entry).has_any());
            match (having.next(), having.next()) {
                (Some((only, _)), None) => Ok((only.clone(), id.to_owned())),
                _ => Err(unknown(id)),
            }
        }
    }
}

fn unknown(id: &str) -> RouteError {
    RouteError::Invalid(format!("Task not found: {id}"))
}

impl Router {
    /// What the servers of a view have of tasks, taken together.
    pub fn tasks(&self, view: &View) -> Declared {
        let snapshot = self.catalog.snapshot();
        let of_view = snapshot.servers().iter().filter(|(name, _)| view.has_server(name));
        of_view.map(|(_, entry)| declared(entry)).fold(Declared::default(), |all, one| Declared {
            experimental: all.experimental || one.experimental,
            lists: all.lists || one.lists,
            extension: all.extension || one.extension,
        })
    }

    /// Whether it is known what a server has.
    pub fn is_met(&self, server: &ServerName) -> bool {
        self.catalog.snapshot().servers().get(server).is_some_and(|entry| entry.offer().is_some())
    }

    /// The client that a server's task belongs to, as far as that is known here.
    pub fn task_owner(&self, server: &ServerName, id: &str) -> Option<u64> {
        self.wards.client(&TaskKey { server: server.clone(), id: id.to_owned() })
    }

    /// The client that wants to hear of the progress of a server's task, and its token for that.
    pub fn task_progress(&self, server: &ServerName, id: &str) -> Option<(u64, Box<str>)> {
        self.wards.progress(&TaskKey { server: server.clone(), id: id.to_owned() })
    }

    /// A task is over: its session is not kept for it any more, and there is nothing more to hear of it.
    pub fn task_is_over(&self, server: &ServerName, id: &str) {
        self.wards.release(&TaskKey { server: server.clone(), id: id.to_owned() });
        if let Ok(member) = self.member(server) {
            member.forget_task(id);
        }
    }

    /// A client has gone: sessions are not kept for its tasks any more.
    pub fn forget_tasks_of(&self, client: u64) {
        self.wards.release_all_of(client);
    }

    /// Ends the tasks that nobody waits for any more, and forgets those that nobody asks about, for as long as it is polled.
    pub async fn look_after_tasks(&self) {
        self.wards.look_after().await;
    }

    /// The way of a request about a task.
    pub(crate) async fn task(&self, method: TaskMethod, call: &Call<'_>) -> Result<Answered, RouteError> {
        let target = self.target(call).await?;
        let answered = self.task_at(method, call, &target).await?;
        // In its own view a server's own id comes first, but the one of all servers is taken too.
        if let (Some(server), Reply::Error(_), Some(id)) = (call.view.alone(), &answered.reply, &target.name)
            && let Some(own) =
                tasks::split(id).filter(|(name, _)| *name == server.as_str()).map(|(_, own)| own)
        {
            let target = Target::new(server.clone(), "taskId", own.to_owned());
            return self.task_at(method, call, &target).await;
        }
        Ok(answered)
    }

    async fn task_at(
        &self,
        method: TaskMethod,
        call: &Call<'_>,
        target: &Target,
    ) -> Result<Answered, RouteError> {
        let id = target.name.as_deref().unwrap_or_default();
        let member = self.member(&target.server)?;
        let mut is_second = false;
        loop {
            let place = self.place(&member, target, call).await?;
            let session = place.session.clone();
            if target.tasks.is_some_and(|tasks| !tasks.declared.has(session.revision())) {
                return Err(unknown(id));
            }
            match Errand::new(&self.wards, &member, place, call, id).run(method).await {
                Err(CallError::NotSent { .. }) if !is_second => {
                    is_second = true;
                    counters::CALLS_RESENT.one();
                    timeout(WAIT_FOR_END, session.closed()).await.unwrap_or_default();
                }
                outcome => {
                    let (reply, revision) = outcome?;
                    return Ok(Answered { server: target.server.clone(), reply, revision });
                }
            }
        }
    }

    /// The session that has a task, or one on which its client would have made it.
    async fn place(&self, member: &Member, target: &Target, call: &Call<'_>) -> Result<Place, RouteError> {
        let id = target.name.as_deref().unwrap_or_default();
        let task = TaskKey { server: target.server.clone(), id: id.to_owned() };
        if let Some(place) = self.wards.place(&task) {
            return Ok(place);
        }
        let party = self.wards.party(&call.caller.party, member, target);
        tokio::select! {
            lease = member.lease(&party, WAIT_FOR_SESSION) => Ok(Place::new(lease?)),
            () = call.aside.cancelled() => Err(CallError::Cancelled.into()),
        }
    }
}
