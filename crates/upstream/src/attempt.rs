//! One try to connect: expand the values, open, shake hands, list the tools; all within the limit for connecting.

use crate::discover::{self, Bounds};
use crate::error::ConnectError;
use crate::fleet::Outside;
use crate::handshake;
use crate::health::HealthCheck;
use crate::question::Party;
use crate::session::{Ground, Session};
use crate::wishes::{self, Wishes};
use portolan_model::{Era, Kinds, Offer, ServerSpec};
use portolan_wire::Revision;
use portolan_wire::level::Level;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a successful try leads to.
pub(crate) struct Connection {
    pub(crate) session: Session,
    pub(crate) offer: Offer,
    pub(crate) health_check: HealthCheck,
}

pub(crate) async fn attempt(
    spec: ServerSpec,
    era: Option<Era>,
    wishes: Arc<Wishes>,
    ground: Ground,
) -> Result<Connection, ConnectError> {
    let outside = ground.outside.clone();
    let limit = outside.limits.connect_timeout;
    let work = async {
        let reached = (outside.resolve)(&spec).map_err(ConnectError::Failed)?;
        let health_check = HealthCheck::new(reached.health_check_url.as_ref(), spec.origin)?;
        let nobody = Party::nobody();
        let session = Session::open(&spec.name, &reached.endpoint, era, &nobody, &ground).await?;
        let level = Level::from_number(outside.level.load(Ordering::Relaxed));
        if level < Level::Emergency {
            session.set_level(level).await;
        }
        wishes::keep_telling(&session, &wishes, outside.limits.call_timeout).await;
        let bounds = Bounds { filter: &spec.tools, tools: outside.limits.tools_per_server, timeout: limit };
        let offer = discover::offer(&session, &bounds, Kinds::ALL, None).await?;
        handshake::refuse_loop(&offer.instances, &outside.identity)?;
        Ok(Connection { session, offer, health_check })
    };
    match tokio::time::timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ConnectError::Failed(format!("it did not answer within {limit:?}"))),
    }
}

/// What a server showed when it was tried out.
#[derive(Debug)]
pub struct Trial {
    pub revision: Revision,
    pub offer: Offer,
}

/// Connects once, lists the tools and leaves again; for people who want to know whether an entry works.
pub async fn try_out(spec: &ServerSpec, outside: Arc<Outside>) -> Result<Trial, ConnectError> {
    let ground = Ground::new(outside);
    let outcome = attempt(spec.clone(), None, Arc::default(), ground.clone()).await;
    let trial = match outcome {
        Ok(Connection { session, offer, .. }) => {
            let revision = session.welcome().revision;
            session.close(Duration::ZERO).await;
            Ok(Trial { revision, offer })
        }
        Err(error) => Err(error),
    };
    ground.end().await;
    trial
}
