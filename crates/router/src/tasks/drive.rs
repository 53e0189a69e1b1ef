//! A task of 2025-11-25 for a client that waits for its result: `tasks/result` is on its way all the while, so that what the
//! server asks meanwhile has somewhere to go.

use super::LONGEST;
use super::errand::{Asking, Errand, read, text};
use super::follow::Clock;
use super::relay::Relay;
use bytes::Bytes;
use portolan_upstream::{CallError, Note, Reply};
use portolan_wire::params::Params;
use portolan_wire::tasks::{Status, relate, related};
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a call waits for its client to answer a question: a person may have to be found first.
const FOR_AN_ANSWER: Duration = Duration::from_mins(10);

impl Errand<'_> {
    /// The answer to a call that has become a task its client knows nothing of.
    pub(super) async fn drive(&self, pause: Duration) -> Result<Reply, CallError> {
        let guard = self.guard();
        let (params, aside) = (Params::default(), self.call.aside);
        let asking = self.ask(Asking {
            method: "tasks/result",
            params: &params,
            set: &[],
            aside: Some(aside),
            timeout: LONGEST,
        });
        // What was asked before there was a call to ask it in.
        for question in self.wards.take_asked(&self.task) {
            if !aside.can_be_asked() || !aside.add(Note::Question(question.clone())) {
                question.decline();
            }
        }
        let (mut clock, mut pause) = (Clock::new(self.member.call_timeout, Instant::now()), pause);
        let mut asking = pin!(asking);
        let mut looking = pin!(self.look_after(pause));
        let reply = loop {
            let until = clock.until();
            tokio::select! {
                biased;
                reply = &mut asking => break reply?,
                looked = &mut looking => {
                    if let Some(task) = looked.as_ref().ok().and_then(read) {
                        clock.see(&task, Instant::now());
                        pause = task.pause();
                        if task.status == Status::InputRequired {
                            clock.extend(clock.limit().max(FOR_AN_ANSWER), Instant::now());
                        }
                    }
                    looking.set(self.look_after(pause));
                }
                end = self.end_of_patience(until, clock.limit()) => return Err(end),
            }
        };
        guard.disarm();
        Ok(match text(&reply) {
            Some(result) => Reply::Result(Bytes::from(relate(result, None).into_owned())),
            None => reply,
        })
    }

    async fn look_after(&self, pause: Duration) -> Result<Reply, CallError> {
        sleep(pause).await;
        self.own("tasks/get", &[]).await
    }

    /// `tasks/result` of a client that has the same form of tasks.
    pub(super) async fn fetch(&self) -> Result<Reply, CallError> {
        let relay = Relay::new(self.call);
        let asking = self.ask(Asking {
            method: "tasks/result",
            params: self.call.params,
            set: &[],
            aside: Some(relay.aside()),
            timeout: LONGEST,
        });
        for question in self.wards.take_asked(&self.task) {
            relay.put(&question);
        }
        let reply = relay.carry(asking).await?;
        self.wards.release(&self.task);
        Ok(match text(&reply) {
            Some(result) if related(result).is_some() => {
                Reply::Result(Bytes::from(relate(result, Some(&self.shown())).into_owned()))
            }
            Some(_) | None => reply,
        })
    }
}
