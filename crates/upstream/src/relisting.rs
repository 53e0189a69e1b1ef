//! Listing a connected server's tools again, when it says that they changed or somebody asks.

use crate::discover::{self, Bounds};
use crate::error::ConnectError;
use crate::fleet::{Happening, Outside};
use crate::handshake;
use crate::session::Session;
use portolan_model::ServerSpec;
use std::time::Duration;
use tokio::sync::mpsc;

/// A server whose tools change with every look at them is looked at no more often than this.
const BETWEEN: Duration = Duration::from_millis(200);

pub(crate) struct Relisting<'a> {
    pub(crate) spec: &'a ServerSpec,
    pub(crate) outside: &'a Outside,
    pub(crate) happenings: &'a mpsc::Sender<Happening>,
}

impl Relisting<'_> {
    /// Lists a server's tools again, and not too soon after that once more. Fails only if it leads back to us.
    pub(crate) async fn again(&self, session: &Session) -> Result<(), ConnectError> {
        let limits = &self.outside.limits;
        let bounds = Bounds { tools: limits.tools_per_server, timeout: limits.call_timeout };
        match discover::tools(session, &self.spec.tools, &bounds).await {
            Ok(offer) => {
                handshake::refuse_loop(&offer.instances, &self.outside.identity)?;
                Happening::offer(self.happenings, self.spec, offer).await;
            }
            // What was listed last stays; a session that broke shows as such by itself.
            Err(error) => {
                tracing::warn!(server = %self.spec.name, %error, "its tools could not be listed again");
            }
        }
        tokio::time::sleep(BETWEEN).await;
        Ok(())
    }
}
