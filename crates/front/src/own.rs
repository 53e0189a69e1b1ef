//! Portolan's own tools among those of the servers.

use crate::Front;
use crate::client::Client;
use crate::request::Request;
use bytes::Bytes;
use portolan_catalog::own_tools;
use portolan_model::Piece;
use portolan_model::name::BUILT_IN;
use portolan_router::{Aside, Caller, OwnAnswer, OwnCall, RouteError, What};
use portolan_wire::params::Params;
use std::sync::Arc;

impl Front {
    /// The list of tools for a client that is shown ours instead of the servers'.
    pub(crate) fn own_list(&self, client: &Client, request: &Request) -> Option<Bytes> {
        let tools = self.own.shown(&client.view);
        (!tools.is_empty()).then(|| {
            let pieces =
                tools.iter().map(|tool| Piece { key: &tool.name, definition: tool.definition.get() });
            own_tools(pieces, request.terms(client).revision)
        })
    }

    /// Answers a call that is meant for us; `None` for all others.
    pub(crate) async fn own_call(
        &self,
        client: &Client,
        what: What,
        params: &Params,
        (caller, aside): (&Caller, &Arc<Aside>),
    ) -> Option<Result<OwnAnswer, RouteError>> {
        if what != What::Tool || client.view.alone().is_some() {
            return None;
        }
        let name = params.text("name")?;
        if !BUILT_IN.contains(&&*name) {
            return None;
        }
        self.own.call(OwnCall { view: &client.view, name: &name, params, caller, aside }).await
    }
}
