//! Tasks as clients see them: who may ask about them, what is declared of them, and news of them.

use crate::Front;
use crate::client::{Client, locked};
use crate::fault::{MISSING_CAPABILITY, refusal_with};
use crate::listen::Listener;
use crate::request::{Pieces, Request};
use bytes::Bytes;
use portolan_catalog::{Declared, View};
use portolan_model::ServerName;
use portolan_router::{Notice, What};
use portolan_wire::json::Members;
use portolan_wire::meta::TASKS;
use portolan_wire::tasks::{Form, Status, Task, relate_shown, related, shown};
use portolan_wire::{Revision, answer, progress};
use serde_json::json;
use serde_json::value::to_raw_value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A task by its server and the server's own id for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TaskAt {
    pub(crate) server: ServerName,
    pub(crate) id: String,
}

/// A task that a stream is about.
#[derive(Debug)]
pub(crate) struct Followed {
    /// The id by which its client asked.
    pub(crate) shown: String,
    /// How often something has happened to it.
    news: u64,
    is_looked_at: bool,
}

impl Front {
    /// What keeps a client from asking this: a server by itself that has no tasks, or that the client has not declared them.
    pub(crate) fn refuses_tasks(&self, client: &Client, request: &Request, what: What) -> Option<Pieces> {
        match what {
            What::Tool | What::Prompt | What::Resource | What::Completion => return None,
            What::Task(_) | What::Tasks => {}
        }
        if let Some(server) = client.view.alone()
            && !self.router.tasks(&client.view).has_any()
            && self.router.is_met(server)
        {
            return Some(Self::unknown(request));
        }
        undeclared(client, request)
    }

    /// Puts what the servers of a view have of tasks into the words of a client's revision.
    pub(crate) fn declare_tasks(&self, view: &View, revision: Revision, all: &mut Declared) {
        let declared = self.router.tasks(view);
        let is_own = view.alone().is_some() && declared.experimental;
        let theirs = all.remove("tasks").filter(|_| is_own);
        let mut extensions: Declared =
            all.remove("extensions").and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        extensions.remove(TASKS);
        match Form::of(revision).filter(|_| declared.has_any()) {
            Some(Form::Experimental) => {
                let mut tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
                if declared.lists {
                    tasks["list"] = json!({});
                }
                all.extend(theirs.or_else(|| to_raw_value(&tasks).ok()).map(|raw| ("tasks".to_owned(), raw)));
            }
            Some(Form::Extension) => {
                extensions.extend(to_raw_value(&json!({})).ok().map(|raw| (TASKS.to_owned(), raw)));
            }
            None => {}
        }
        if !extensions.is_empty() {
            all.extend(to_raw_value(&extensions).ok().map(|raw| ("extensions".to_owned(), raw)));
        }
    }

    /// Something has happened to a task: the client whose it is hears of it, under the id that it knows.
    pub(crate) fn tell_of_task(self: &Arc<Self>, notice: &Notice, form: Form, params: Option<&str>) {
        let Some(task) = params.and_then(Task::parse) else { return };
        if task.status.is_final() {
            self.router.task_is_over(&notice.server, &task.id);
        }
        self.tell_listeners(&notice.server, form, &task);
        let Some(owner) = self.router.task_owner(&notice.server, &task.id) else { return };
        self.sessions.each(|client| {
            let knows = Form::of(client.terms().revision) == Some(Form::Experimental);
            if client.number != owner || !knows || !client.sees(&notice.server) {
                return;
            }
            let message = match client.view.alone() {
                None => {
                    let id = shown(notice.server.as_str(), &task.id);
                    let params = task.write(Form::Experimental, &id, &[]);
                    answer::notification("notifications/tasks/status", Some(&params)).into()
                }
                Some(_) => notice.message.clone(),
            };
            client.tell(&message);
        });
    }
}

impl Front {
    /// The streams about a task bring it as the extension has it: whole. Where the server has not said what belongs to a
    /// status, as before 2026-07-28, it is looked up first.
    fn tell_listeners(self: &Arc<Self>, server: &ServerName, form: Form, task: &Task<'_>) {
        let is_whole = match (form, task.status) {
            (Form::Extension, _) | (Form::Experimental, Status::Working | Status::Cancelled) => true,
            (Form::Experimental, Status::InputRequired | Status::Completed | Status::Failed) => false,
        };
        let at = TaskAt { server: server.clone(), id: task.id.clone().into_owned() };
        self.listeners.each(|listener| {
            let Some(is_looked_at) = listener.stir(&at, is_whole) else { return };
            if is_whole {
                listener.hear_of_task(&at, task);
            } else if !is_looked_at {
                let (front, listener, at) = (self.clone(), listener.clone(), at.clone());
                self.owns(async move { front.look_for(&listener, &at).await });
            }
        });
    }

    /// Tells a stream how a task stands, once nothing has happened to it while that was looked up.
    async fn look_for(&self, listener: &Listener, at: &TaskAt) {
        while let Some(news) = listener.news_of(at) {
            let looked = self.router.look_at_task(&at.server, &at.id, &listener.caller).await;
            if !listener.has_looked(at, news) {
                continue;
            }
            let text = looked.as_deref().and_then(|raw| std::str::from_utf8(raw).ok());
            if let Some(task) = text.and_then(Task::parse) {
                listener.hear_of_task(at, &task);
            }
            return;
        }
    }

    /// A task makes progress: its client hears of it by the token of the call that has become the task.
    pub(crate) fn tell_of_progress(&self, notice: &Notice, params: Option<&str>) {
        let Some((params, id)) = params.and_then(|raw| Some((raw, related(raw)?))) else { return };
        let Some((owner, token)) = self.router.task_progress(&notice.server, &id) else { return };
        self.sessions.each(|client| {
            if client.number != owner {
                return;
            }
            let params = match client.view.alone() {
                None => relate_shown(params, notice.server.as_str()),
                Some(_) => Cow::Borrowed(params),
            };
            if let Some(message) = progress::with_token(&params, &token) {
                client.tell(&Bytes::from(message));
            }
        });
    }

    /// Has servers tell of tasks; those of no known server are left out, which the acknowledgement shows.
    pub(crate) async fn follow(
        &self,
        client: &Client,
        ids: impl Iterator<Item = &str>,
    ) -> HashMap<TaskAt, Followed> {
        let mut wanted: BTreeMap<ServerName, BTreeMap<String, &str>> = BTreeMap::new();
        for shown in ids {
            if let Some((server, own)) = self.router.find_task(&client.view, shown) {
                wanted.entry(server).or_default().insert(own, shown);
            }
        }
        let mut followed = HashMap::new();
        for (server, tasks) in wanted {
            let ids: Vec<&str> = tasks.keys().map(String::as_str).collect();
            if self.router.follow_tasks(&server, &ids).await.is_err() {
                continue;
            }
            followed.extend(tasks.into_iter().map(|(id, shown)| {
                let new = Followed { shown: shown.to_owned(), news: 0, is_looked_at: false };
                (TaskAt { server: server.clone(), id }, new)
            }));
        }
        followed
    }
}

impl Listener {
    /// Something has happened to a task. If the stream is about it: whether somebody looks it up at this moment, as
    /// somebody does from here on where what is known of it is not whole.
    fn stir(&self, at: &TaskAt, is_whole: bool) -> Option<bool> {
        let mut all = locked(&self.followed);
        let followed = all.get_mut(at)?;
        followed.news += 1;
        let before = followed.is_looked_at;
        followed.is_looked_at |= !is_whole;
        Some(before)
    }

    fn news_of(&self, at: &TaskAt) -> Option<u64> {
        locked(&self.followed).get(at).map(|followed| followed.news)
    }

    /// A task has been looked up; `false` if something has happened to it since, and it has to be again.
    fn has_looked(&self, at: &TaskAt, news: u64) -> bool {
        let mut all = locked(&self.followed);
        let Some(followed) = all.get_mut(at) else { return true };
        followed.is_looked_at = followed.news != news;
        !followed.is_looked_at
    }

    /// Tells how a task stands; one that is over is not told of again.
    fn hear_of_task(&self, at: &TaskAt, task: &Task<'_>) {
        let mut all = locked(&self.followed);
        let Some(followed) = all.get(at) else { return };
        let params = task.write(Form::Extension, &followed.shown, &[]);
        if task.status.is_final() {
            all.remove(at);
        }
        if let Ok(params) = Members::parse(&params) {
            self.tell(self.stamped("notifications/tasks", &params));
        }
    }
}

/// Whoever asks about tasks of the extension has to declare it with the request.
pub(crate) fn undeclared(client: &Client, request: &Request) -> Option<Pieces> {
    let terms = request.terms(client);
    if terms.revision.has_handshake() || terms.abilities.has_extension(TASKS) {
        return None;
    }
    let data = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    let text = format!("Missing required client capability: {TASKS}");
    Some(refusal_with(request.id(), MISSING_CAPABILITY, &text, &data))
}

/// The bytes of a filter that speaks of tasks, which only who declares them may.
pub(crate) fn listens_to_tasks(request: &Request) -> bool {
    let filter = request.params().ok().and_then(|params| params.get("notifications"));
    filter.and_then(|raw| Members::parse(raw).ok()).is_some_and(|filter| filter.get("taskIds").is_some())
}
