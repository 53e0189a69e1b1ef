//! A task of 2025-11-25 for a client of 2026-07-28: its result and its questions are in the task itself.

use super::errand::{Asking, Errand, done, read, text};
use super::wards::{Owner, TaskKey, Waiting};
use super::{LONGEST, Wards};
use portolan_upstream::{Aside, CallError, Reply};
use portolan_wire::era::{self, Keeping};
use portolan_wire::json::Members;
use portolan_wire::params::Params;
use portolan_wire::tasks::{Form, Status, Task, relate, relate_back, related};
use portolan_wire::{Revision, answer, mrtr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long a task that says to need input is given to say which.
const TO_ASK: Duration = Duration::from_secs(1);
/// And to say what else, once it has said something.
const TOGETHER: Duration = Duration::from_millis(20);
const INVALID_PARAMS: i32 = -32602;

impl Errand<'_> {
    /// `tasks/get`: the state of the task with whatever goes along with it.
    pub(super) async fn surface(&self) -> Result<Reply, CallError> {
        let reply = self.own("tasks/get", &[]).await?;
        let Some(task) = read(&reply) else { return Ok(reply) };
        let shown = self.shown();
        match task.status {
            Status::Working | Status::Cancelled => Ok(done(task.write(Form::Extension, &shown, &[]))),
            Status::Completed | Status::Failed => self.ended(&task).await,
            Status::InputRequired => {
                let requests = self.requests(&task).await;
                // Until it says what it needs, there is nothing to give.
                let with = match &requests {
                    Some(requests) => ("inputRequests", requests.as_str()),
                    None => ("status", r#""working""#),
                };
                Ok(done(task.write(Form::Extension, &shown, &[with])))
            }
        }
    }

    /// A task that is over, with its result or its error. A tool's own error is a result here.
    async fn ended(&self, task: &Task<'_>) -> Result<Reply, CallError> {
        let reply = match self.wards.take_waiting(&self.task) {
            Some(waiting) => match timeout(self.member.call_timeout, waiting.reply).await {
                Ok(Ok(reply)) => reply,
                Ok(Err(_)) | Err(_) => self.own("tasks/result", &[]).await?,
            },
            None => self.own("tasks/result", &[]).await?,
        };
        self.wards.release(&self.task);
        let shown = self.shown();
        Ok(done(match &reply {
            Reply::Result(_) => {
                let result = relate(text(&reply).unwrap_or("{}"), None);
                let from = self.place.session.revision();
                let result = era::result(&result, from, Revision::V2026_07_28, Keeping::Never);
                let result = String::from_utf8_lossy(&result);
                let with = [("status", r#""completed""#), ("result", &*result)];
                task.write(Form::Extension, &shown, &with)
            }
            Reply::Error(error) => {
                let error = String::from_utf8_lossy(error);
                task.write(Form::Extension, &shown, &[("status", r#""failed""#), ("error", &error)])
            }
        }))
    }

    /// What the task asks its client, as the extension has it. Its questions come on the way of `tasks/result`, which is
    /// begun for that and kept until the task is over.
    async fn requests(&self, task: &Task<'_>) -> Option<String> {
        let client = self.wards.client(&self.task).unwrap_or(self.call.caller.party.client);
        self.wards.know(&self.task, Owner { client, token: None }, &self.place, task.keeping());
        let patience = if self.wards.asked(&self.task).is_empty() { TO_ASK } else { TOGETHER };
        if let Some(waiting) = self.wards.lend_waiting(&self.task, || self.wait(client)) {
            let mut lent = Lent { wards: self.wards, task: &self.task, waiting: Some(waiting) };
            timeout(patience, lent.listen()).await.unwrap_or_default();
        }
        let asked = self.wards.asked(&self.task);
        if asked.is_empty() {
            return None;
        }
        let shown = self.shown();
        let asked: Vec<(&str, &str, Option<String>)> = asked
            .iter()
            .map(|(key, question)| {
                let params = question.params().map(|raw| match related(raw) {
                    Some(_) => relate(raw, Some(&shown)).into_owned(),
                    None => raw.to_owned(),
                });
                (key.as_str(), &*question.method, params)
            })
            .collect();
        let requests = asked.iter().map(|(key, method, params)| (*key, *method, params.as_deref()));
        let written = mrtr::write(requests, None);
        let written = String::from_utf8_lossy(&written);
        Members::parse(&written).ok()?.get("inputRequests").map(str::to_owned)
    }

    /// Begins to wait for the task's end.
    fn wait(&self, client: u64) -> Waiting {
        // On pipes a question is for the client that has the session.
        let aside = Arc::new(Aside::of(client));
        let (place, id, beside) = (self.place.clone(), self.task.id.clone(), aside.clone());
        let reply = Box::pin(async move {
            let params = Params::default();
            let asking = Asking {
                method: "tasks/result",
                params: &params,
                set: &[],
                aside: Some(&beside),
                timeout: LONGEST,
            };
            super::errand::ask(&place.session, &id, "", asking).await
        });
        Waiting { reply, aside }
    }

    /// `tasks/update`: answers for whatever the task has asked; what it has not asked, or not any more, is passed over.
    pub(super) async fn update(&self) -> Result<Reply, CallError> {
        let given = self.call.params.get("inputResponses").filter(|raw| raw.starts_with('{'));
        let Some(Ok(given)) = given.map(Members::parse) else {
            let error = answer::error_object(INVALID_PARAMS, "inputResponses must be an object", None);
            return Ok(Reply::Error(error.into()));
        };
        if self.wards.client(&self.task).is_none() {
            let reply = self.own("tasks/get", &[]).await?;
            if matches!(reply, Reply::Error(_)) {
                return Ok(reply);
            }
        }
        for (key, question) in self.wards.asked(&self.task) {
            if let Some(response) = given.get(&key) {
                let response = relate_back(response, self.task.server.as_str(), question.params());
                question.answer(Reply::Result(response.into_owned().into()));
            }
        }
        Ok(done("{}".to_owned()))
    }
}

/// What waits for a task's end, lent by the task: whoever goes away meanwhile gives it back.
struct Lent<'l> {
    wards: &'l Wards,
    task: &'l TaskKey,
    waiting: Option<Waiting>,
}

impl Lent<'_> {
    /// Ready when the server has said something. One that has said the last word is over: the next look will tell.
    async fn listen(&mut self) {
        let Some(waiting) = &mut self.waiting else { return };
        let is_over = tokio::select! {
            biased;
            _ = &mut waiting.reply => true,
            () = waiting.aside.noted() => false,
        };
        if is_over {
            self.waiting = None;
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.wards.keep_waiting(self.task, self.waiting.take());
    }
}
