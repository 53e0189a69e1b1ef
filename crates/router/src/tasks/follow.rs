//! A task of 2026-07-28 for a client that waits for its result: it is looked at as often as its server wants, and what the
//! server wants to know meanwhile, the client is asked.

use super::LONGEST;
use super::errand::{Errand, read};
use crate::rounds::Rounds;
use crate::target::Target;
use bytes::Bytes;
use portolan_upstream::{CallError, Reply};
use portolan_wire::era::{self, Keeping};
use portolan_wire::tasks::{Status, Task, relate};
use portolan_wire::{Revision, answer};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

const CANCELLED: i32 = -32602;
const INTERNAL: i32 = -32603;

/// How long somebody waits for a task.
pub(super) struct Clock {
    limit: Duration,
    until: Instant,
    at_last: Instant,
    mark: String,
}

impl Clock {
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, until: now + limit, at_last: now + limit.max(LONGEST), mark: String::new() }
    }

    /// A task to which something has happened is given more time, like a call that makes progress.
    pub(super) fn see(&mut self, task: &Task<'_>, now: Instant) {
        let mark = task.mark();
        if mark != self.mark {
            self.mark = mark;
            self.extend(self.limit, now);
        }
    }

    pub(super) fn extend(&mut self, by: Duration, now: Instant) {
        self.until = (now + by).min(self.at_last);
    }

    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    pub(super) const fn limit(&self) -> Duration {
        self.limit
    }
}

impl Errand<'_> {
    /// `tasks/result` of a client of 2025-11-25: it waits for as long as the task takes.
    pub(super) async fn result(&self) -> Result<Reply, CallError> {
        let reply = self.follow(Clock::new(LONGEST, Instant::now())).await?;
        let Reply::Result(raw) = &reply else { return Ok(reply) };
        let result = std::str::from_utf8(raw).unwrap_or("null");
        Ok(Reply::Result(Bytes::from(relate(result, Some(&self.shown())).into_owned())))
    }

    /// The answer to a call that has become a task its client knows nothing of.
    pub(super) async fn answer(&self) -> Result<Reply, CallError> {
        let guard = self.guard();
        let reply = self.follow(Clock::new(self.member.call_timeout, Instant::now())).await?;
        guard.disarm();
        Ok(reply)
    }

    async fn follow(&self, mut clock: Clock) -> Result<Reply, CallError> {
        let mut asked = HashSet::new();
        loop {
            let until = clock.until();
            let looked = tokio::select! {
                looked = self.own("tasks/get", &[]) => looked?,
                end = self.end_of_patience(until, clock.limit()) => return Err(end),
            };
            let Some(task) = read(&looked) else {
                return match looked {
                    Reply::Error(_) => Ok(looked),
                    Reply::Result(_) => Err(self.broke("its task cannot be read")),
                };
            };
            if let Some(ended) = ended(&task) {
                return Ok(ended);
            }
            clock.see(&task, Instant::now());
            if task.status == Status::InputRequired
                && let Some(refused) = self.inform(&looked, &task, &mut asked).await?
            {
                return Ok(refused);
            }
            if task.status == Status::InputRequired {
                clock.extend(clock.limit(), Instant::now());
            }
            let until = clock.until();
            tokio::select! {
                () = sleep(task.pause()) => {}
                end = self.end_of_patience(until, clock.limit()) => return Err(end),
            }
        }
    }

    /// Ready when nobody waits any more.
    pub(super) async fn end_of_patience(&self, until: Instant, limit: Duration) -> CallError {
        tokio::select! {
            () = self.call.aside.cancelled() => CallError::Cancelled,
            () = sleep_until(until) => CallError::TimedOut { server: self.task.server.clone(), limit },
        }
    }

    /// Asks the client what the server has not asked before, and tells the server. A client that refuses has the last word.
    async fn inform(
        &self,
        looked: &Reply,
        task: &Task<'_>,
        asked: &mut HashSet<String>,
    ) -> Result<Option<Reply>, CallError> {
        let Reply::Result(raw) = looked else { return Ok(None) };
        let mut requests = task
            .requests()
            .map_err(|malformed| self.broke(format!("what it asks for cannot be read: {malformed}")))?;
        requests.retain(|request| asked.insert(request.key.clone()));
        if requests.is_empty() {
            return Ok(None);
        }
        let target = Target::new(self.task.server.clone(), "taskId", self.task.id.clone());
        match Rounds::new(self.wards, self.member, &target, self.call).ask_all(raw, requests).await? {
            Ok(responses) => {
                let told = self.own("tasks/update", &[("inputResponses", &responses)]).await?;
                Ok(Some(told).filter(|told| matches!(told, Reply::Error(_))))
            }
            Err(refused) => Ok(Some(Reply::Error(refused))),
        }
    }
}

/// What a task has come to, if it is over.
fn ended(task: &Task<'_>) -> Option<Reply> {
    let error = |code, text: &str| Reply::Error(answer::error_object(code, text, None).into());
    match task.status {
        Status::Working | Status::InputRequired => None,
        Status::Completed => {
            let result = task.get("result").unwrap_or("{}");
            // Within a task a result need not say that it is complete.
            let (from, to) = (Revision::NEWEST_WITH_HANDSHAKE, Revision::V2026_07_28);
            let result = era::result(result, from, to, Keeping::Never);
            Some(Reply::Result(Bytes::copy_from_slice(&result)))
        }
        Status::Failed => Some(match task.get("error") {
            Some(raw) => Reply::Error(Bytes::copy_from_slice(raw.as_bytes())),
            None => error(INTERNAL, "the task has failed, and its server does not say why"),
        }),
        Status::Cancelled => Some(error(CANCELLED, "the task was cancelled")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    fn task(updated: u32) -> String {
        format!(r#"{{"taskId":"1","status":"working","lastUpdatedAt":"{updated}"}}"#)
    }

    #[test]
    fn only_a_task_to_which_something_happens_is_given_more_time_and_never_for_ever() {
        let begun = Instant::now();
        let mut clock = Clock::new(LIMIT, begun);
        clock.see(&Task::parse(&task(0)).unwrap(), begun);
        clock.see(&Task::parse(&task(0)).unwrap(), begun + LIMIT / 2);
        assert_eq!(clock.until() - begun, LIMIT);
        for updated in 1..1000 {
            let now = begun + LIMIT / 2 * updated;
            clock.see(&Task::parse(&task(updated)).unwrap(), now);
            assert_eq!(clock.until(), (now + LIMIT).min(begun + LONGEST));
        }
    }

    #[track_caller]
    fn check(raw: &str, expected: Option<&str>) {
        let ended = ended(&Task::parse(raw).unwrap()).map(|reply| match reply {
            Reply::Result(raw) | Reply::Error(raw) => String::from_utf8(raw.to_vec()).unwrap(),
        });
        assert_eq!(ended.as_deref(), expected, "{raw}");
    }

    #[test]
    fn a_task_that_is_over_is_what_its_call_would_have_been() {
        check(r#"{"taskId":"1","status":"working","result":{}}"#, None);
        check(r#"{"taskId":"1","status":"unheard-of"}"#, None);
        check(
            r#"{"taskId":"1","status":"completed","result":{"isError":true}}"#,
            Some(r#"{"resultType":"complete","isError":true}"#),
        );
        check(r#"{"taskId":"1","status":"failed","error":{"code":-5}}"#, Some(r#"{"code":-5}"#));
        let cancelled = r#"{"code":-32602,"message":"the task was cancelled"}"#;
        check(r#"{"taskId":"1","status":"cancelled"}"#, Some(cancelled));
    }
}
