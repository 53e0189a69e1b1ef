//! Listing again what a connected server offers, when it says that it changed or somebody asks.

use crate::discover::{self, Bounds};
use crate::error::ConnectError;
use crate::fleet::{Happening, Outside};
use crate::handshake;
use crate::profiles::Profiles;
use crate::session::Session;
use portolan_model::{Kinds, Offer, ServerSpec};
use std::time::Duration;
use tokio::sync::mpsc;

/// A server whose lists change with every look at them is looked at no more often than this.
const BETWEEN: Duration = Duration::from_millis(200);
/// Clients are told of a change after this time even if the new list is not there yet: some wait for the word only
/// shortly, and whoever lists meanwhile is told again if there is a difference.
const PATIENCE: Duration = Duration::from_millis(150);

pub(crate) struct Relisting<'a> {
    pub(crate) spec: &'a ServerSpec,
    pub(crate) outside: &'a Outside,
    pub(crate) happenings: &'a mpsc::Sender<Happening>,
    pub(crate) profiles: &'a Profiles,
    /// What the server was found to offer last.
    pub(crate) last: &'a mut Offer,
}

impl Relisting<'_> {
    /// Lists some kinds again, and not too soon after that once more. Fails only if the server leads back to us. Whoever
    /// drops this before its end finds the kinds to be listed again still waiting.
    pub(crate) async fn again(&mut self, session: &Session, kinds: Kinds) -> Result<(), ConnectError> {
        let waiting = Waiting { session, kinds };
        // Before anybody is told: whoever then lists has it looked at again.
        self.profiles.forget(&self.spec.name);
        match self.listed(session, kinds).await {
            Ok((offer, announced)) => {
                handshake::refuse_loop(&offer.instances, &self.outside.identity)?;
                self.last.clone_from(&offer);
                Happening::offer(self.happenings, self.spec, offer, announced).await;
            }
            // What was listed last stays; a session that broke shows as such by itself.
            Err(error) => {
                tracing::warn!(server = %self.spec.name, %error, "its lists could not be had again");
            }
        }
        waiting.end();
        tokio::time::sleep(BETWEEN).await;
        Ok(())
    }

    /// The new offer, and of which kinds clients have yet to be told.
    async fn listed(&self, session: &Session, kinds: Kinds) -> Result<(Offer, Kinds), ConnectError> {
        let limits = &self.outside.limits;
        let (filter, tools) = (&self.spec.tools, limits.tools_per_server);
        let bounds = Bounds { filter, tools, timeout: limits.call_timeout };
        let listing = discover::offer(session, &bounds, kinds, Some(self.last));
        let mut listing = std::pin::pin!(listing);
        if let Ok(outcome) = tokio::time::timeout(PATIENCE, &mut listing).await {
            return Ok((outcome?, kinds));
        }
        self.happenings.send(Happening::Stale { server: self.spec.name.clone(), kinds }).await.ok();
        Ok((listing.await?, Kinds::NONE))
    }
}

/// Kinds that have yet to be listed again.
struct Waiting<'s> {
    session: &'s Session,
    kinds: Kinds,
}

impl Waiting<'_> {
    fn end(mut self) {
        self.kinds = Kinds::NONE;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.kinds.is_empty() {
            self.session.want_lists(self.kinds);
        }
    }
}
