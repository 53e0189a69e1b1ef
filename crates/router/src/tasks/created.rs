//! The answer to a call where that is a task: for a client that knows tasks in the form that it knows, for any other what the
//! task comes to.

use super::errand::{Errand, done};
use super::wards::{Owner, TaskKey};
use super::{Knowing, Mode, Place, Wards};
use crate::call::{Answered, Call};
use crate::target::Target;
use portolan_upstream::{CallError, Lease, Member, Reply};
use portolan_wire::Revision;
use portolan_wire::tasks::{Form, Task, shown, write_created};
use std::time::Duration;

/// A call that its server has answered.
pub(crate) struct Landed<'l> {
    pub(crate) wards: &'l Wards,
    pub(crate) member: &'l Member,
    pub(crate) target: &'l Target,
    pub(crate) call: &'l Call<'l>,
    pub(crate) mode: Mode,
}

/// What is known of a new task.
struct Created {
    id: String,
    pause: Duration,
    keeping: Option<Duration>,
    /// As its client gets to see it.
    shown: Reply,
}

impl Landed<'_> {
    /// What the client is answered.
    pub(crate) async fn settle(self, lease: Lease, reply: Reply) -> Result<Answered, CallError> {
        let (server, revision) = (self.target.server.clone(), lease.session.revision());
        let Some(created) = self.created(&reply, revision) else {
            return Ok(Answered { server, reply, revision });
        };
        let errand = Errand::new(self.wards, self.member, Place::new(lease), self.call, &created.id);
        let has_handshake = revision.has_handshake();
        if has_handshake {
            let owner =
                Owner { client: self.call.caller.party.client, token: self.call.params.progress_token() };
            self.wards.know(&errand.task, owner, &errand.place, created.keeping);
        }
        let outcome = match Knowing::of(self.call) {
            Knowing::Asking | Knowing::Declaring => {
                let revision = self.call.caller.revision;
                return Ok(Answered { server, reply: created.shown, revision });
            }
            Knowing::Nothing if has_handshake => Box::pin(errand.drive(created.pause)).await,
            Knowing::Nothing => Box::pin(errand.answer()).await,
        };
        self.wards.release(&TaskKey { server: server.clone(), id: created.id });
        match outcome {
            // The call itself was sent, and must not be sent again.
            Err(CallError::NotSent { server, reason }) => Err(CallError::Lost { server, reason }),
            outcome => Ok(Answered { server, reply: outcome?, revision }),
        }
    }

    /// Reads what has become a task. A server of the handshake era makes one only if it was asked to.
    fn created(&self, reply: &Reply, revision: Revision) -> Option<Created> {
        let form = match (revision.has_handshake(), self.mode) {
            (_, Mode::Untouched) | (true, Mode::Plain | Mode::Extended) => return None,
            (true, Mode::Asked | Mode::AsTask) => Form::Experimental,
            (false, Mode::Plain | Mode::Extended | Mode::Asked | Mode::AsTask) => Form::Extension,
        };
        let Reply::Result(raw) = reply else { return None };
        let result = std::str::from_utf8(raw).ok()?;
        let task = Task::created(result, form)?;
        Some(Created {
            id: task.id.clone().into_owned(),
            pause: task.pause(),
            keeping: task.keeping(),
            shown: self.shown(&task, form, result).unwrap_or_else(|| reply.clone()),
        })
    }

    /// The result as its client is to see it; `None` for as it is.
    fn shown(&self, task: &Task<'_>, from: Form, result: &str) -> Option<Reply> {
        let to = Form::of(self.call.caller.revision)?;
        let id = match self.call.view.alone() {
            None => shown(self.target.server.as_str(), &task.id),
            Some(_) if from == to => return None,
            Some(_) => task.id.clone().into_owned(),
        };
        Some(done(match (from, to) {
            (Form::Experimental, Form::Experimental) => {
                let task = task.write(to, &id, &[]);
                let members = portolan_wire::json::Members::parse(result).ok()?;
                let mut out = Vec::new();
                let swapped = members.iter().map(|(k, v)| (k, if k == "task" { task.as_str() } else { v }));
                portolan_wire::json::write_object(swapped, &mut out);
                String::from_utf8(out).ok()?
            }
            (Form::Extension, Form::Experimental) => write_created(&task.write(to, &id, &[])),
            (Form::Experimental, Form::Extension) => {
                let members = portolan_wire::json::Members::parse(result).ok()?;
                let meta = members.get("_meta").map(|meta| ("_meta", meta));
                let with: Vec<(&str, &str)> = [("resultType", r#""task""#)].into_iter().chain(meta).collect();
                task.write(to, &id, &with)
            }
            (Form::Extension, Form::Extension) => task.write(to, &id, &[]),
        }))
    }
}
