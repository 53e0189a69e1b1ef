//! A request from its name to its answer: resolve, find the session, dispatch under a deadline, record.

use crate::learned::Learned;
use crate::resolve::Unresolved;
use crate::rounds::Rounds;
use crate::target::{Target, What};
use crate::tasks::{Landed, Wards};
use portolan_catalog::{Catalog, View};
use portolan_model::{Kind, ServerName};
use portolan_telemetry::counters;
use portolan_upstream::{Aside, CallError, Fleet, Member, Party, Reply, Unavailable};
use portolan_wire::Revision;
use portolan_wire::json::Members;
use portolan_wire::level::Level;
use portolan_wire::params::Params;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// EC-010: a call to a server that is coming back waits this long, unsent.
pub(crate) const WAIT_FOR_SESSION: Duration = Duration::from_secs(10);
/// Between a session's refusal and its end there are microseconds.
pub(crate) const WAIT_FOR_END: Duration = Duration::from_secs(1);

pub struct Router {
    pub catalog: Arc<Catalog>,
    pub fleet: Arc<Fleet>,
    pub(crate) learned: Learned,
    pub(crate) wards: Wards,
}

/// One request for a server, as a client sent it.
pub struct Call<'a> {
    pub view: &'a View,
    pub what: What,
    pub params: &'a Params,
    pub aside: &'a Arc<Aside>,
    pub caller: &'a Caller,
}

/// Who asks, and what may be said to it.
#[derive(Clone)]
pub struct Caller {
    pub revision: Revision,
    pub party: Party,
    /// Log messages of this level and above, if any at all.
    pub level: Option<Level>,
}

impl Caller {
    /// A program that is no MCP client: it cannot be asked anything, and is told nothing on the way.
    pub fn plain() -> Self {
        Self { revision: Revision::NEWEST_WITH_HANDSHAKE, party: Party::nobody(), level: None }
    }
}

#[derive(Debug)]
pub struct Answered {
    pub server: ServerName,
    pub reply: Reply,
    /// The revision that the server speaks: its answer is of that form.
    pub revision: Revision,
}

impl Answered {
    /// What a server would say that knows of no values: to a client that is no error.
    fn with_no_values(server: ServerName) -> Self {
        let none = br#"{"completion":{"values":[],"total":0,"hasMore":false}}"#;
        let reply = Reply::Result(bytes::Bytes::from_static(none));
        Self { server, reply, revision: Revision::NEWEST_WITH_HANDSHAKE }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    Call(#[from] CallError),
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(String),
}

impl Router {
    pub fn new(catalog: Arc<Catalog>, fleet: Arc<Fleet>) -> Self {
        Self { catalog, fleet, learned: Learned::default(), wards: Wards::default() }
    }

    /// The way of every request that a server answers. No database, no lock held across an await; a server that hangs holds
    /// up only this caller, and only until its deadline.
    pub async fn call(&self, call: Call<'_>) -> Result<Answered, RouteError> {
        let outcome = match call.what {
            What::Task(method) => Box::pin(self.task(method, &call)).await,
            What::Tasks => Box::pin(self.list_tasks(&call)).await,
            What::Tool | What::Prompt | What::Resource | What::Completion => self.route(&call).await,
        };
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
        if call.what == What::Completion && !self.completes(&target.server) {
            return Ok(Answered::with_no_values(target.server));
        }
        let member = self.member(&target.server)?;
        let mut answered = dispatch(&self.wards, &member, &target, call).await?;
        if call.view.alone().is_none() {
            match call.what {
                What::Tool | What::Prompt => self.learned.learn(&answered.server, &answered.reply),
                What::Resource => target.show_as_asked(call.params, &mut answered.reply),
                What::Completion | What::Task(_) | What::Tasks => {}
            }
        }
        Ok(answered)
    }

    /// Whether a server completes arguments. One that does not is not asked.
    fn completes(&self, server: &ServerName) -> bool {
        let snapshot = self.catalog.snapshot();
        let offer = snapshot.servers().get(server).and_then(|entry| entry.offer());
        let declared = offer.and_then(|offer| offer.manner.capabilities.as_ref());
        declared.is_none_or(|raw| Members::parse(raw.get()).is_ok_and(|all| all.get("completions").is_some()))
    }

    /// Resolves what is asked for; a name of a server that is still starting is resolved again when it is there: what it
    /// offers is on file before its session can be had.
    pub(crate) async fn target(&self, call: &Call<'_>) -> Result<Target, RouteError> {
        let first = Target::find(&self.catalog.snapshot(), &self.learned, call);
        let Err(RouteError::Unresolved(Unresolved::Absent { server, kind, name })) = first else {
            return first;
        };
        let member = self.member(&server)?;
        tokio::select! {
            session = member.session(WAIT_FOR_SESSION) => drop(session?),
            () = call.aside.cancelled() => return Err(CallError::Cancelled.into()),
        }
        match Target::find(&self.catalog.snapshot(), &self.learned, call) {
            Err(RouteError::Unresolved(Unresolved::Absent { .. })) => {
                Err(Unresolved::Unknown { kind, name }.into())
            }
            other => other,
        }
    }

    pub(crate) fn member(&self, server: &ServerName) -> Result<Arc<Member>, RouteError> {
        // One that was removed this very moment is away like any other.
        let gone = || Unresolved::Absent { kind: Kind::Tools, server: server.clone(), name: String::new() };
        self.fleet.member(server.as_str()).ok_or_else(|| gone().into())
    }
}

/// Sends the request. What the server has not taken in may go out once more, on a new session; all else never does.
async fn dispatch(
    wards: &Wards,
    member: &Member,
    target: &Target,
    call: &Call<'_>,
) -> Result<Answered, RouteError> {
    let mut rounds = Rounds::new(wards, member, target, call);
    let party = wards.party(&call.caller.party, member, target);
    let mut is_second = false;
    loop {
        let lease = tokio::select! {
            lease = member.lease(&party, WAIT_FOR_SESSION) => lease?,
            () = call.aside.cancelled() => return Err(CallError::Cancelled.into()),
        };
        // A call that waits here was found before it came this far; what is left is nobody's, or another's.
        if lease.session.revision().has_handshake() && call.params.get("requestState").is_some() {
            let text = "requestState is not one that was given out here; send the request anew without it";
            return Err(RouteError::Invalid(text.to_owned()));
        }
        match rounds.go_on(&lease.session).await {
            Err(CallError::NotSent { .. }) if !is_second => {
                is_second = true;
                counters::CALLS_RESENT.one();
                // What refused the call is ending; only the session after it is worth the second try.
                timeout(WAIT_FOR_END, lease.session.closed()).await.unwrap_or_default();
            }
            outcome => {
                let landed = Landed { wards, member, target, call, mode: rounds.mode() };
                return Ok(landed.settle(lease, outcome?).await?);
            }
        }
    }
}
