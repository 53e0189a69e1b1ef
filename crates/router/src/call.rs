//! A call from its name to its answer: resolve, find the session, dispatch under a deadline, record.

use crate::resolve::{Unresolved, resolve};
use portolan_catalog::{Catalog, View};
use portolan_model::{ServerName, ToolName};
use portolan_telemetry::counters;
use portolan_upstream::{Aside, Ask, CallError, Fleet, Member, Reply, Unavailable};
use portolan_wire::call::CallParams;
use portolan_wire::level::Level;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// EC-010: a call to a server that is coming back waits this long, unsent.
const WAIT_FOR_SESSION: Duration = Duration::from_secs(10);
/// Between a session's refusal and its end there are microseconds.
const WAIT_FOR_END: Duration = Duration::from_secs(1);

pub struct Router {
    pub catalog: Arc<Catalog>,
    pub fleet: Arc<Fleet>,
}

/// One `tools/call`, as a client sent it.
pub struct Call<'a> {
    pub view: &'a View,
    pub params: &'a CallParams<'a>,
    pub aside: &'a Arc<Aside>,
}

#[derive(Debug)]
pub struct Answered {
    pub server: ServerName,
    pub reply: Reply,
}

#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Router {
    /// The way of every tool call. No database, no lock held across an await; a server that hangs holds up only this
    /// caller, and only until its deadline.
    pub async fn call(&self, call: Call<'_>) -> Result<Answered, RouteError> {
        let outcome = self.route(&call).await;
        counters::CALLS.one();
        if outcome.is_err() {
            counters::CALLS_FAILED.one();
        }
        outcome
    }

    /// Asks the servers for log messages of this level and above.
    pub async fn set_level(&self, level: Level) {
        self.fleet.set_level(level).await;
    }

    pub fn has_server(&self, server: &ServerName) -> bool {
        self.fleet.member(server.as_str()).is_some()
    }

    async fn route(&self, call: &Call<'_>) -> Result<Answered, RouteError> {
        let target = self.target(call).await?;
        let member = self.member(&target.server, &call.params.name)?;
        let reply = dispatch(&member, &target.tool, call, self.fleet.call_timeout()).await?;
        Ok(Answered { server: target.server, reply })
    }

    /// Resolves the name; one of a server that is still starting is resolved again when it is there: what it offers is on
    /// file before its session can be had.
    async fn target(&self, call: &Call<'_>) -> Result<ToolName, RouteError> {
        let name = &call.params.name;
        let first = resolve(&self.catalog.snapshot(), call.view, name);
        let Err(Unresolved::Absent { server, .. }) = first else { return Ok(first?) };
        let member = self.member(&server, name)?;
        tokio::select! {
            session = member.session(WAIT_FOR_SESSION) => drop(session?),
            () = call.aside.cancelled() => return Err(CallError::Cancelled.into()),
        }
        match resolve(&self.catalog.snapshot(), call.view, name) {
            Err(Unresolved::Absent { .. }) => Err(Unresolved::Unknown { name: name.to_string() }.into()),
            other => Ok(other?),
        }
    }

    fn member(&self, server: &ServerName, name: &str) -> Result<Arc<Member>, Unresolved> {
        self.fleet.member(server.as_str()).ok_or_else(|| Unresolved::Unknown { name: name.to_owned() })
    }
}

/// Sends the call. What the server has not taken in may go out once more, on a new session; all else never does.
async fn dispatch(
    member: &Member,
    tool: &str,
    call: &Call<'_>,
    general_timeout: Duration,
) -> Result<Reply, RouteError> {
    let write = |token: u64, out: &mut Vec<u8>| call.params.write(tool, token, out);
    let mut is_second = false;
    loop {
        let session = tokio::select! {
            session = member.session(WAIT_FOR_SESSION) => session?,
            () = call.aside.cancelled() => return Err(CallError::Cancelled.into()),
        };
        let ask = Ask {
            method: "tools/call",
            params: &write,
            params_len: call.params.byte_len(),
            timeout: member.spec.timeout.unwrap_or(general_timeout),
            aside: Some(call.aside),
        };
        match session.request(ask).await {
            Err(CallError::NotSent { .. }) if !is_second => {
                is_second = true;
                counters::CALLS_RESENT.one();
                // What refused the call is ending; only the session after it is worth the second try.
                timeout(WAIT_FOR_END, session.closed()).await.unwrap_or_default();
            }
            outcome => return Ok(outcome?),
        }
    }
}
