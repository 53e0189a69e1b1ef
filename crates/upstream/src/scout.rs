//! Finds out, one after the other and in the background, what servers show to clients that declare something.

use crate::discover::{self, Bounds};
use crate::error::ConnectError;
use crate::fleet::{Happening, Members, Outside};
use crate::handshake;
use crate::member::Member;
use crate::pool::Lease;
use crate::profiles::{Errand, Look, Outcome, Profiles};
use arc_swap::ArcSwap;
use portolan_model::{Era, Kinds, Offer};
use portolan_wire::Abilities;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// Between a session's refusal and its end there are microseconds.
const WAIT_FOR_END: Duration = Duration::from_secs(1);

pub(crate) struct Scout {
    pub(crate) profiles: Arc<Profiles>,
    pub(crate) members: Arc<ArcSwap<Members>>,
    pub(crate) outside: Arc<Outside>,
    pub(crate) happenings: mpsc::Sender<Happening>,
}

/// What a look has brought.
struct Found {
    offer: Offer,
    /// The kinds whose lists could not be had.
    missing: Kinds,
}

impl Scout {
    /// Runs errands until everything ends. There is one of it: a look may start a program, and not more than one at a time.
    pub(crate) async fn run(self) {
        tokio::select! {
            () = self.outside.hurry.cancelled() => {}
            () = self.work() => {}
        }
    }

    async fn work(&self) {
        loop {
            match self.profiles.next() {
                Some(Errand::Look(look)) => self.look(&look).await,
                Some(Errand::Forget(abilities)) => {
                    self.happenings.send(Happening::Unseen { abilities }).await.ok();
                }
                None => self.profiles.wanted().await,
            }
        }
    }

    async fn look(&self, look: &Look) {
        let member = self.members.load().get(&look.server).cloned();
        let Some(member) = member.filter(|member| member.live().is_some()) else {
            self.profiles.done(look, Outcome::Missed);
            return;
        };
        match self.found(&member, &look.abilities).await {
            Ok((found, lease)) => {
                if self.profiles.is_wanted(look) {
                    self.tell(look, found, &lease).await;
                    self.profiles.done(look, Outcome::Found);
                }
            }
            Err(error) => {
                tracing::debug!(server = %look.server, %error, "what it shows to others could not be found out");
                self.profiles.done(look, Outcome::Failed);
            }
        }
    }

    /// All lists as clients that declare this are shown them, and the session by which they were had.
    async fn found(&self, member: &Member, abilities: &Abilities) -> Result<(Found, Lease), ConnectError> {
        let limit = self.outside.limits.connect_timeout;
        let until = Instant::now() + limit;
        let work = async {
            let lease = lease(member, abilities, until).await?;
            match self.listed(member, abilities, &lease).await {
                Ok(found) => Ok((found, lease)),
                // What one session does not say, because it has ended without a word, the next one may.
                Err(error) => {
                    timeout(WAIT_FOR_END, lease.session.closed()).await.map_err(|_| error)?;
                    let lease = self::lease(member, abilities, until).await?;
                    Ok((self.listed(member, abilities, &lease).await?, lease))
                }
            }
        };
        let late = || ConnectError::Failed(format!("it did not answer within {limit:?}"));
        timeout_at(until, work).await.unwrap_or_else(|_| Err(late()))
    }

    async fn listed(
        &self,
        member: &Member,
        abilities: &Abilities,
        lease: &Lease,
    ) -> Result<Found, ConnectError> {
        let limits = &self.outside.limits;
        let (filter, tools) = (&member.spec.tools, limits.tools_per_server);
        let bounds = Bounds { filter, tools, timeout: limits.connect_timeout };
        let (offer, missing) = discover::lists(&lease.session, &bounds, abilities, Kinds::ALL).await?;
        handshake::refuse_loop(&offer.instances, &self.outside.identity)?;
        Ok(Found { offer, missing })
    }

    /// Has it filed. Where there is a difference the session stays for a while: whoever sees more may soon use it.
    async fn tell(&self, look: &Look, found: Found, lease: &Lease) {
        let (differs, told) = oneshot::channel();
        let (server, abilities, Found { offer, missing }) =
            (look.server.clone(), look.abilities.clone(), found);
        self.happenings.send(Happening::Seen { server, abilities, offer, missing, differs }).await.ok();
        // Where nobody files any more there is no difference.
        if told.await.unwrap_or_default() {
            lease.keep();
        }
    }
}

/// A session on which the server shows what it shows to such clients. One of the newer era is told with each request who asks,
/// one of the older needs a session of its own for it.
async fn lease(member: &Member, abilities: &Abilities, until: Instant) -> Result<Lease, ConnectError> {
    let session = member.live().ok_or_else(|| ConnectError::Failed("it has gone".to_owned()))?;
    match session.era() {
        Era::Modern => Ok(Lease::shared(session)),
        Era::Legacy => member.pool.look(abilities, until).await,
    }
}
