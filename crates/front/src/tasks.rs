//! Tasks as clients see them: who may ask about them, what is declared of them, and news of them.

use crate::Front;
use crate::client::Client;
use crate::fault::{MISSING_CAPABILITY, refusal_with};
use crate::request::{Pieces, Request};
use portolan_catalog::{Declared, View};
use portolan_router::{Notice, What};
use portolan_wire::json::Members;
use portolan_wire::meta::TASKS;
use portolan_wire::tasks::{Form, Task, shown};
use portolan_wire::{Revision, answer};
use serde_json::json;
use serde_json::value::to_raw_value;

impl Front {
    /// What keeps a client from asking this: a server by itself that has no tasks, or that the client has not declared them.
    pub(crate) fn refuses_tasks(&self, client: &Client, request: &Request, what: What) -> Option<Pieces> {
        match what {
            What::Tool | What::Prompt | What::Resource | What::Completion => return None,
            What::Task(_) | What::Tasks => {}
        }
        if let View::Server(server) = &client.view
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
        let is_own = matches!(view, View::Server(_)) && declared.experimental;
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
    pub(crate) fn tell_of_task(&self, notice: &Notice, params: Option<&str>) {
        let Some(task) = params.and_then(Task::parse) else { return };
        if task.status.is_final() {
            self.router.task_is_over(&notice.server, &task.id);
        }
        let Some(owner) = self.router.task_owner(&notice.server, &task.id) else { return };
        self.sessions.each(|client| {
            let knows = Form::of(client.terms().revision) == Some(Form::Experimental);
            if client.number != owner || !knows || !client.sees(&notice.server) {
                return;
            }
            let message = match client.view {
                View::All => {
                    let id = shown(notice.server.as_str(), &task.id);
                    let params = task.write(Form::Experimental, &id, &[]);
                    answer::notification("notifications/tasks/status", Some(&params)).into()
                }
                View::Server(_) => notice.message.clone(),
            };
            client.tell(&message);
        });
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
