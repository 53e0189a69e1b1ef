//! Calls that Portolan makes by itself, on behalf of whoever asked.

use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_router::{Aside, Call, Caller, Note, Reply, RouteError, Router, What};
use portolan_wire::json::{self, Members};
use portolan_wire::params::Params;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) router: Arc<Router>,
    pub(crate) tasks: TaskTracker,
    /// Whose calls they are: they go the way that the client's own would.
    pub(crate) caller: Caller,
    /// Where the client takes what servers ask meanwhile.
    pub(crate) aside: Option<Arc<Aside>>,
}

/// Why no result came.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server answered that it will not.
    Refused(String),
    /// It is not reached, or gave no answer.
    Lost(String),
}

impl Trouble {
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Refused(reason) | Self::Lost(reason) => reason,
        }
    }
}

impl Calls {
    pub(crate) async fn tool(
        &self,
        server: &ServerName,
        tool: &str,
        arguments: &str,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, Trouble> {
        let name = Value::from(tool);
        let params = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        self.make(server, What::Tool, params, cancel).await
    }

    pub(crate) async fn resource(
        &self,
        server: &ServerName,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, Trouble> {
        self.make(server, What::Resource, json!({ "uri": uri }).to_string(), cancel).await
    }

    /// Makes a call in a task of its own: when nobody waits any more, the server is still told so.
    async fn make(
        &self,
        server: &ServerName,
        what: What,
        params: String,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, Trouble> {
        let params = Params::from_text(params).map_err(|error| Trouble::Refused(error.to_string()))?;
        let (view, router, cancelled) =
            (View::Server(server.clone()), self.router.clone(), cancel.child_token());
        let _dropped = cancelled.clone().drop_guard();
        let (caller, theirs) = (self.caller.clone(), self.aside.clone());
        let made = self.tasks.spawn(async move {
            let aside =
                Arc::new(theirs.as_ref().map_or_else(Aside::default, |aside| Aside::of(aside.client())));
            let call = Call { view: &view, what, params: &params, aside: &aside, caller: &caller };
            let mut call = std::pin::pin!(router.call(call));
            loop {
                tokio::select! {
                    done = &mut call => return done,
                    () = aside.noted() => pass_on(&aside, theirs.as_ref()),
                    () = cancelled.cancelled() => {
                        aside.cancel(Some("\"nobody waits for the answer any more\""));
                        return call.await;
                    }
                }
            }
        });
        match made.await {
            Ok(Ok(answered)) => result(answered.reply),
            Ok(Err(error)) => Err(trouble(&error)),
            Err(_) => Err(Trouble::Lost("the call was given up".to_owned())),
        }
    }
}

/// What only the client can answer goes to it; of how far the server is, whoever asked hears in other words.
fn pass_on(from: &Aside, to: Option<&Arc<Aside>>) {
    while let Some(note) = from.take() {
        match (note, to) {
            (note @ (Note::Question(_) | Note::Withdrawn(_)), Some(to)) => drop(to.add(note)),
            (Note::Question(question), None) => question.decline(),
            (Note::Progress(_) | Note::Other(_), _) | (Note::Withdrawn(_), None) => {}
        }
    }
}

fn result(reply: Reply) -> Result<Box<RawValue>, Trouble> {
    let unreadable = || Trouble::Refused("its answer is not JSON".to_owned());
    match reply {
        Reply::Result(result) => {
            let text = String::from_utf8(result.into()).map_err(|_| unreadable())?;
            RawValue::from_string(text).map_err(|_| unreadable())
        }
        Reply::Error(error) => {
            let text = String::from_utf8_lossy(&error);
            Err(Trouble::Refused(message_of(&text)))
        }
    }
}

/// What a JSON-RPC error says, or all of it where it says nothing in particular.
pub(crate) fn message_of(error: &str) -> String {
    let members = Members::parse(error).ok();
    let message = members.as_ref().and_then(|members| members.get("message")).and_then(json::text);
    message.unwrap_or(error.into()).into_owned()
}

fn trouble(error: &RouteError) -> Trouble {
    let reason = error.to_string();
    match error {
        RouteError::Unresolved(_) | RouteError::Invalid(_) => Trouble::Refused(reason),
        RouteError::Unavailable(_) | RouteError::Call(_) => Trouble::Lost(reason),
    }
}
