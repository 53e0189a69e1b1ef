//! One task a server: connect, discover, watch, back off, drain. It alone decides the server's state.

use crate::backoff::{Backoff, Pace};
use crate::discover::{self, Bounds};
use crate::error::ConnectError;
use crate::fleet::{Happening, Outside};
use crate::handshake;
use crate::health::{Health, Verdict};
use crate::member::Status;
use crate::session::{Ground, Session};
use arc_swap::ArcSwapOption;
use portolan_model::{Event, Lifecycle, Offer, ServerSpec, State};
use portolan_telemetry::counters;
use portolan_wire::level::Level;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A server that crashed keeps its place in the lists this long, so that a quick restart is no flicker.
const KEEP_LISTED: Duration = Duration::from_secs(5);
/// A session that lasted this long was a good one: its loss is news, and not one more turn of a crash loop.
const STEADY: Duration = Duration::from_secs(10);
/// A server whose tools change with every look at them is looked at no more often than this.
const BETWEEN_LISTINGS: Duration = Duration::from_millis(200);

pub(crate) struct Lifeline {
    pub(crate) spec: ServerSpec,
    pub(crate) outside: Arc<Outside>,
    pub(crate) slot: Arc<ArcSwapOption<Session>>,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) happenings: mpsc::Sender<Happening>,
    /// For what a lost session still has to finish.
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) life: Lifecycle,
    /// When a server that was lost leaves the lists.
    pub(crate) withdraw_at: Option<Instant>,
    /// Goes on from one session to the next until one lasts.
    pub(crate) backoff: Backoff,
    /// Whether the session before was lost early as well.
    pub(crate) is_shaky: bool,
}

/// Why a live session is no more.
enum End {
    Stopped,
    Lost(String),
    /// It turned out to lead back to us.
    Refused(ConnectError),
}

/// What there was to do for a live session.
enum Step {
    Listed(Result<(), ConnectError>),
    Looked(Verdict),
}

impl Lifeline {
    /// Lives until it is stopped; leaves nothing behind.
    pub(crate) async fn live(mut self) {
        self.turn(Event::Connect, None).await;
        while let Some((session, offer)) = self.connect().await {
            self.withdraw_at = None;
            self.happenings.send(self.offered(offer)).await.ok();
            self.slot.store(Some(Arc::new(session.clone())));
            self.turn(Event::Connected, None).await;
            tracing::info!(server = %self.spec.name, revision = %session.welcome().revision, "connected");
            let connected_at = Instant::now();
            let end = self.attend(&session).await;
            self.slot.store(None);
            if let End::Lost(reason) = &end {
                tracing::warn!(server = %self.spec.name, reason, "lost");
                counters::SESSIONS_LOST.one();
                self.withdraw_at = Some(Instant::now() + KEEP_LISTED);
                self.life.apply(Event::Lost);
                self.turn(Event::Connect, Some(reason)).await;
            }
            self.part_with(session, &end).await;
            match end {
                End::Stopped => break,
                End::Lost(reason) => {
                    if !self.is_back_soon(connected_at.elapsed(), reason).await {
                        break;
                    }
                }
                End::Refused(error) => {
                    self.withdraw().await;
                    self.life.apply(Event::Lost);
                    self.turn(Event::Connect, Some(&error.to_string())).await;
                    self.turn(Event::ConnectFailed, Some(&error.to_string())).await;
                    if !self.rest(None).await {
                        break;
                    }
                    self.turn(Event::Connect, None).await;
                }
            }
        }
        self.withdraw().await;
        self.turn(Event::Disconnect, None).await;
    }

    /// Ends a session. A lost child is reaped before the next one starts; what a lost HTTP session has in flight may
    /// still be answered, and holds up nobody.
    async fn part_with(&self, session: Session, end: &End) {
        let limits = &self.outside.limits;
        match end {
            End::Stopped => session.close(limits.drain).await,
            End::Lost(_) if session.outlives_its_loss() => {
                let grace = limits.call_timeout;
                self.tasks.spawn(async move { session.close(grace).await });
            }
            End::Lost(_) | End::Refused(_) => session.close(Duration::ZERO).await,
        }
    }

    /// After a loss: the first is followed by a try at once, one that comes early again by a pause, so that a server
    /// which dies with every start is not started without end. `false` when stopped.
    async fn is_back_soon(&mut self, lasted: Duration, reason: String) -> bool {
        if lasted >= STEADY {
            self.backoff = Backoff::default();
            self.is_shaky = false;
        }
        if !std::mem::replace(&mut self.is_shaky, true) {
            return true;
        }
        self.set_back(&ConnectError::Failed(reason)).await
    }

    /// Tries until a session stands; `None` when stopped.
    async fn connect(&mut self) -> Option<(Session, Offer)> {
        loop {
            let ground = Ground::new(self.outside.clone());
            let attempt = attempt(self.spec.clone(), ground.clone());
            let error = match self.while_away(attempt).await {
                Some(Ok(connected)) => return Some(connected),
                Some(Err(error)) => error,
                None => {
                    ground.end().await;
                    return None;
                }
            };
            ground.end().await;
            if !self.set_back(&error).await {
                return None;
            }
        }
    }

    /// Tells of a failed try and waits until the next one is due; `false` when stopped.
    async fn set_back(&mut self, error: &ConnectError) -> bool {
        let text = error.to_string();
        let pause = match (error.is_worth_a_retry(), self.backoff.failed()) {
            (true, Pace::Quick(pause)) => {
                tracing::debug!(server = %self.spec.name, error = text, "not connected, trying again");
                self.publish(Some(&text)).await;
                Some(pause)
            }
            (true, Pace::Slow(pause)) => {
                self.fail(&text).await;
                Some(pause)
            }
            (false, _) => {
                self.fail(&text).await;
                None
            }
        };
        if !self.rest(pause).await {
            return false;
        }
        if self.life.state() == State::Error {
            self.turn(Event::Connect, Some(&text)).await;
        }
        true
    }

    async fn fail(&mut self, error: &str) {
        tracing::warn!(server = %self.spec.name, error, "not connected");
        self.turn(Event::ConnectFailed, Some(error)).await;
    }

    /// Waits out a pause, or until the entry changes and this life ends with it; `false` when stopped.
    async fn rest(&mut self, pause: Option<Duration>) -> bool {
        let pause = async move {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        self.while_away(pause).await.is_some()
    }

    /// Does something while there is no session: the lists are told when the server has been away too long.
    async fn while_away<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        loop {
            let withdraw_at = self.withdraw_at;
            let overdue = async move {
                match withdraw_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                done = &mut work => return Some(done),
                () = self.stop.cancelled() => return None,
                () = overdue => self.withdraw().await,
            }
        }
    }

    /// Watches a live session until it ends: looks after its health, and lists its tools again when they change.
    async fn attend(&mut self, session: &Session) -> End {
        // A server that may take long over a call may be too busy to answer meanwhile: it is asked less often.
        let longest_call = self.spec.timeout.unwrap_or_default();
        let mut health = Health::new(self.outside.limits.health_interval.max(longest_call / 2));
        loop {
            let step = async {
                tokio::select! {
                    () = session.tools_changed() => Step::Listed(self.list_again(session).await),
                    () = health.due() => Step::Looked(health.look(session).await),
                }
            };
            let step = tokio::select! {
                () = self.stop.cancelled() => return End::Stopped,
                () = session.closed() => return End::Lost(session.epitaph()),
                step = step => step,
            };
            match step {
                Step::Listed(Ok(())) | Step::Looked(Verdict::Unchanged) => {}
                Step::Listed(Err(error)) => return End::Refused(error),
                Step::Looked(Verdict::Well) => self.turn(Event::Answered, None).await,
                Step::Looked(Verdict::Ill) => {
                    tracing::warn!(server = %self.spec.name, "it has not answered two health checks");
                    self.turn(Event::MissedTwice, Some("it has not answered two health checks")).await;
                }
                Step::Looked(Verdict::Dead) => {
                    return End::Lost("it has not answered three health checks".to_owned());
                }
            }
        }
    }

    /// Lists a server's tools again, and not too soon after that once more. Fails only if it leads back to us.
    async fn list_again(&self, session: &Session) -> Result<(), ConnectError> {
        let listed = discover::tools(session, &self.spec.tools, &self.bounds()).await;
        match listed {
            Ok(offer) => {
                handshake::refuse_loop(&offer.instances, &self.outside.identity)?;
                self.happenings.send(self.offered(offer)).await.ok();
            }
            // What was listed last stays; a session that broke shows as such by itself.
            Err(error) => {
                tracing::warn!(server = %self.spec.name, %error, "its tools could not be listed again");
            }
        }
        tokio::time::sleep(BETWEEN_LISTINGS).await;
        Ok(())
    }

    fn bounds(&self) -> Bounds {
        let limits = &self.outside.limits;
        Bounds { tools: limits.tools_per_server, timeout: limits.call_timeout }
    }

    fn offered(&self, offer: Offer) -> Happening {
        for left_out in &offer.left_out {
            let (tool, reason) = (&left_out.tool, &left_out.reason);
            tracing::warn!(server = %self.spec.name, tool, reason, "a tool is left out");
        }
        Happening::Offered { server: self.spec.name.clone(), offer }
    }

    async fn withdraw(&mut self) {
        self.withdraw_at = None;
        self.happenings.send(Happening::Withdrawn { server: self.spec.name.clone() }).await.ok();
    }

    /// Takes a turn of the state machine and tells everybody.
    async fn turn(&mut self, event: Event, error: Option<&str>) {
        if self.life.apply(event).is_some() {
            self.publish(error).await;
        }
    }

    async fn publish(&self, error: Option<&str>) {
        let status = Status { state: self.life.state(), error: error.map(Arc::from) };
        self.status.send_replace(status.clone());
        self.happenings.send(Happening::Turned { server: self.spec.name.clone(), status }).await.ok();
    }
}

/// Connects once, lists the tools and leaves again; for people who want to know whether an entry works.
pub async fn try_out(spec: &ServerSpec, outside: Arc<Outside>) -> Result<Trial, ConnectError> {
    let ground = Ground::new(outside);
    let outcome = attempt(spec.clone(), ground.clone()).await;
    let trial = match outcome {
        Ok((session, offer)) => {
            let revision = session.welcome().revision;
            session.close(Duration::ZERO).await;
            Ok(Trial { revision, offer })
        }
        Err(error) => Err(error),
    };
    ground.end().await;
    trial
}

/// What a server showed when it was tried out.
#[derive(Debug)]
pub struct Trial {
    pub revision: portolan_wire::Revision,
    pub offer: Offer,
}

/// One try: expand the values, open, shake hands, list the tools; all within the limit for connecting.
async fn attempt(spec: ServerSpec, ground: Ground) -> Result<(Session, Offer), ConnectError> {
    let outside = ground.outside.clone();
    let limit = outside.limits.connect_timeout;
    let work = async {
        let endpoint = (outside.resolve)(&spec).map_err(ConnectError::Failed)?;
        let session = Session::open(&spec.name, &endpoint, ground).await?;
        let level = Level::from_number(outside.level.load(Ordering::Relaxed));
        if level < Level::Emergency {
            session.set_level(level).await;
        }
        let bounds = Bounds { tools: outside.limits.tools_per_server, timeout: limit };
        let offer = discover::tools(&session, &spec.tools, &bounds).await?;
        handshake::refuse_loop(&offer.instances, &outside.identity)?;
        Ok((session, offer))
    };
    match tokio::time::timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ConnectError::Failed(format!("it did not answer within {limit:?}"))),
    }
}
