//! One task a server: connect, discover, watch, back off, drain. It alone decides the server's state.

use crate::attempt::{Connection, attempt};
use crate::backoff::{Backoff, Pace};
use crate::error::ConnectError;
use crate::fleet::{Happening, Outside};
use crate::health::{Health, Report, Verdict};
use crate::member::Status;
use crate::orders::{Farewell, Order, Parting, Taken};
use crate::pool::Pool;
use crate::profiles::Profiles;
use crate::relisting::Relisting;
use crate::session::{Ground, Session};
use crate::wishes::Wishes;
use arc_swap::ArcSwapOption;
use portolan_model::{Era, Event, Kinds, Lifecycle, Moment, Offer, ServerSpec, State};
use portolan_telemetry::counters;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A server that crashed keeps its place in the lists this long, so that a quick restart is no flicker.
const KEEP_LISTED: Duration = Duration::from_secs(5);
/// A session that lasted this long was a good one: its loss is news, and not one more turn of a crash loop.
const STEADY: Duration = Duration::from_secs(10);

pub(crate) struct Lifeline {
    pub(crate) spec: ServerSpec,
    pub(crate) outside: Arc<Outside>,
    pub(crate) slot: Arc<ArcSwapOption<Session>>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) wishes: Arc<Wishes>,
    pub(crate) profiles: Arc<Profiles>,
    /// The era that it speaks, as far as is known.
    pub(crate) era: Option<Era>,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) health: watch::Sender<Report>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) happenings: mpsc::Sender<Happening>,
    /// For what a lost session still has to finish.
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) life: Lifecycle,
    /// Whether it is meant to be connected.
    pub(crate) is_on: bool,
    /// When a server that was lost leaves the lists.
    pub(crate) withdraw_at: Option<Instant>,
    /// Goes on from one session to the next until one lasts.
    pub(crate) backoff: Backoff,
    /// Whether the session before was lost early as well.
    pub(crate) is_shaky: bool,
}

/// Why a server is no longer to be connected.
enum Halt {
    /// Its life is over.
    Stopped,
    /// Its session was ended on somebody's wish; `is_on` says what is wished now.
    Parted { given_up: usize, farewells: Vec<Farewell> },
}

/// Why a live session is no more.
enum End {
    Stopped,
    Off(Farewell),
    /// Somebody wants another one in its place.
    Replaced(Taken),
    Lost(String),
    /// It turned out to lead back to us.
    Refused(ConnectError),
}

/// What there was to do for a live session.
enum Step {
    Listed(Result<(), ConnectError>),
    Looked(Verdict),
    Ordered(Order),
}

/// What came of doing something while there was no session.
enum Away<T> {
    Done(T),
    /// Somebody wants it connected now.
    Woken,
}

impl Lifeline {
    /// Lives until it is stopped; leaves nothing behind.
    pub(crate) async fn live(mut self) {
        // One whose tools are known from before keeps its place in the lists for a moment, as after a crash.
        self.withdraw_at = Some(Instant::now() + KEEP_LISTED);
        loop {
            if !self.is_on && !self.is_switched_on().await {
                break;
            }
            match self.stay_connected().await {
                Halt::Stopped => break,
                Halt::Parted { given_up, farewells } => {
                    self.withdraw().await;
                    self.part().await;
                    for farewell in farewells {
                        // Whoever asked may have gone.
                        farewell.done.send(given_up).unwrap_or_default();
                    }
                }
            }
        }
        self.profiles.forget(&self.spec.name);
        self.withdraw().await;
        self.turn(Event::Disconnect, None).await;
    }

    /// Rests until somebody wants it connected; `false` when stopped.
    async fn is_switched_on(&mut self) -> bool {
        loop {
            let order = tokio::select! {
                () = self.stop.cancelled() => return false,
                order = self.orders.recv() => order,
            };
            match order {
                Some(Order::Connect(taken) | Order::Reconnect(taken)) => {
                    self.is_on = true;
                    self.turn(Event::Connect, None).await;
                    drop(taken);
                    return true;
                }
                Some(Order::Refresh) => {}
                Some(Order::Disconnect(farewell)) => farewell.done.send(0).unwrap_or_default(),
                None => return false,
            }
        }
    }

    /// Connects, and again after every loss, until there is a reason not to.
    async fn stay_connected(&mut self) -> Halt {
        self.backoff = Backoff::default();
        self.turn(Event::Connect, None).await;
        loop {
            let halt = match self.connect().await {
                Ok(connection) => self.serve(connection).await,
                Err(halt) => Err(halt),
            };
            if let Err(halt) = halt {
                return halt;
            }
        }
    }

    /// One session from its beginning to its end, and whatever comes between it and the next.
    async fn serve(&mut self, connection: Connection) -> Result<(), Halt> {
        let Connection { session, offer, health_check } = connection;
        self.withdraw_at = None;
        self.meet(session.era()).await;
        let before = offer.clone();
        Happening::offer(&self.happenings, &self.spec, offer, Kinds::NONE).await;
        self.slot.store(Some(Arc::new(session.clone())));
        self.profiles.arrived(&self.spec.name);
        self.turn(Event::Connected, None).await;
        tracing::info!(server = %self.spec.name, revision = %session.welcome().revision, "connected");
        let connected_at = Instant::now();
        // A server that may take long over a call may be too busy to answer meanwhile: it is asked less often.
        let longest_call = self.spec.timeout.unwrap_or_default();
        let interval = self.outside.limits.health_interval.max(longest_call / 2);
        let end = self.attend(&session, before, Health::new(interval, health_check)).await;
        self.slot.store(None);
        self.profiles.forget(&self.spec.name);
        if !matches!(end, End::Lost(_)) {
            self.pool.close();
        }
        match end {
            End::Stopped => {
                session.close(self.outside.limits.drain).await;
                Err(Halt::Stopped)
            }
            End::Off(farewell) => {
                self.is_on = false;
                self.withhold().await;
                Err(self.drain(&session, farewell.parting, vec![farewell]).await)
            }
            // It stays switched on, and so comes back.
            End::Replaced(taken) => {
                self.withhold().await;
                drop(taken);
                Err(self.drain(&session, Parting::Drained, Vec::new()).await)
            }
            End::Lost(reason) => self.recover(session, connected_at.elapsed(), reason).await,
            End::Refused(error) => {
                session.close(Duration::ZERO).await;
                self.withdraw().await;
                self.lose(&error.to_string()).await;
                self.turn(Event::ConnectFailed, Some(&error.to_string())).await;
                self.rest(None).await?;
                self.turn(Event::Connect, None).await;
                Ok(())
            }
        }
    }

    /// From here on no new calls come, and nobody is shown its tools.
    async fn withhold(&mut self) {
        self.status.send_modify(|status| status.is_draining = true);
        self.withdraw().await;
    }

    /// Lets calls under way end, while no new ones come. The last wish that is heard meanwhile decides how it goes on.
    async fn drain(&mut self, session: &Session, parting: Parting, mut farewells: Vec<Farewell>) -> Halt {
        let grace = match parting {
            Parting::Drained => self.outside.limits.drain,
            Parting::Forced => Duration::ZERO,
        };
        let mut given_up = 0;
        let mut closing = std::pin::pin!(session.close(grace));
        loop {
            tokio::select! {
                left = &mut closing => return Halt::Parted { given_up: given_up + left, farewells },
                Some(order) = self.orders.recv() => match order {
                    Order::Connect(_) | Order::Reconnect(_) => self.is_on = true,
                    Order::Refresh => {}
                    Order::Disconnect(farewell) => {
                        self.is_on = false;
                        // Whoever cannot wait any longer may say so.
                        if farewell.parting == Parting::Forced {
                            given_up += session.close(Duration::ZERO).await;
                        }
                        farewells.push(farewell);
                    }
                },
            }
        }
    }

    /// After a loss. A lost child is reaped before the next one starts; what a lost HTTP session has in flight may still
    /// be answered, and holds up nobody. The first loss is followed by a try at once, one that comes early again by a
    /// pause, so that a server which dies with every start is not started without end.
    async fn recover(&mut self, session: Session, lasted: Duration, reason: String) -> Result<(), Halt> {
        tracing::warn!(server = %self.spec.name, reason, "lost");
        counters::SESSIONS_LOST.one();
        self.withdraw_at = Some(Instant::now() + KEEP_LISTED);
        self.lose(&reason).await;
        if session.outlives_its_loss() {
            let grace = self.outside.limits.call_timeout;
            self.tasks.spawn(async move { session.close(grace).await });
        } else {
            session.close(Duration::ZERO).await;
        }
        if lasted >= STEADY {
            self.backoff = Backoff::default();
            self.is_shaky = false;
        }
        if !std::mem::replace(&mut self.is_shaky, true) {
            return Ok(());
        }
        self.set_back(&ConnectError::Failed(reason)).await
    }

    /// Tries until a session stands.
    async fn connect(&mut self) -> Result<Connection, Halt> {
        loop {
            let ground = Ground::new(self.outside.clone());
            let mut trying =
                Box::pin(attempt(self.spec.clone(), self.era, self.wishes.clone(), ground.clone()));
            let outcome = loop {
                match self.while_away(trying.as_mut()).await {
                    Ok(Away::Done(outcome)) => break outcome,
                    // It is being tried already.
                    Ok(Away::Woken) => {}
                    Err(halt) => {
                        ground.end().await;
                        return Err(halt);
                    }
                }
            };
            match outcome {
                Ok(connection) => return Ok(connection),
                Err(error) => {
                    ground.end().await;
                    // A program that ends at a question it does not know is not asked again, whether or not that was why.
                    self.era = match self.era {
                        None | Some(Era::Legacy) => Some(Era::Legacy),
                        Some(Era::Modern) => None,
                    };
                    self.set_back(&error).await?;
                }
            }
        }
    }

    /// Tells of a failed try and waits until the next one is due.
    async fn set_back(&mut self, error: &ConnectError) -> Result<(), Halt> {
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
                if let ConnectError::Unauthorized { .. } = error {
                    tracing::warn!(server = %self.spec.name, "security: the server refuses our credentials");
                }
                self.fail(&text).await;
                None
            }
        };
        self.rest(pause).await?;
        if self.life.state() == State::Error {
            self.turn(Event::Connect, Some(&text)).await;
        }
        Ok(())
    }

    async fn fail(&mut self, error: &str) {
        tracing::warn!(server = %self.spec.name, error, "not connected");
        self.turn(Event::ConnectFailed, Some(error)).await;
    }

    /// Waits out a pause, or until somebody wants it connected now.
    async fn rest(&mut self, pause: Option<Duration>) -> Result<(), Halt> {
        let mut pause = Box::pin(async move {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        });
        match self.while_away(pause.as_mut()).await? {
            Away::Done(()) => {}
            // Whoever asks has mended something: the quick tries are worth while again.
            Away::Woken => self.backoff = Backoff::default(),
        }
        Ok(())
    }

    /// Does something while there is no session: the lists are told when the server has been away too long.
    async fn while_away<T>(&mut self, mut work: impl Future<Output = T> + Unpin) -> Result<Away<T>, Halt> {
        loop {
            let withdraw_at = self.withdraw_at;
            let overdue = async move {
                match withdraw_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let order = tokio::select! {
                done = &mut work => return Ok(Away::Done(done)),
                () = self.stop.cancelled() => return Err(Halt::Stopped),
                () = overdue => {
                    self.withdraw().await;
                    continue;
                }
                order = self.orders.recv() => order,
            };
            match order {
                Some(Order::Connect(taken) | Order::Reconnect(taken)) => {
                    self.turn(Event::Connect, None).await;
                    drop(taken);
                    return Ok(Away::Woken);
                }
                // It is listed with the next session anyway.
                Some(Order::Refresh) => {}
                Some(Order::Disconnect(farewell)) => {
                    self.is_on = false;
                    return Err(Halt::Parted { given_up: 0, farewells: vec![farewell] });
                }
                None => return Err(Halt::Stopped),
            }
        }
    }

    /// Watches a live session until it ends: looks after its health, and lists its tools again when they change.
    async fn attend(&mut self, session: &Session, mut before: Offer, mut health: Health) -> End {
        loop {
            let mut listing = Relisting {
                spec: &self.spec,
                outside: &self.outside,
                happenings: &self.happenings,
                profiles: &self.profiles,
                last: &mut before,
            };
            let step = async {
                tokio::select! {
                    kinds = session.lists_changed() => Step::Listed(listing.again(session, kinds).await),
                    () = health.due() => Step::Looked(health.look(session, &self.outside.outbound).await),
                }
            };
            let step = tokio::select! {
                () = self.stop.cancelled() => return End::Stopped,
                () = session.closed() => return End::Lost(session.epitaph()),
                order = self.orders.recv() => match order {
                    Some(order) => Step::Ordered(order),
                    None => return End::Stopped,
                },
                step = step => step,
            };
            match step {
                Step::Listed(Ok(())) | Step::Ordered(Order::Connect(_)) => {}
                Step::Listed(Err(error)) => return End::Refused(error),
                Step::Ordered(Order::Refresh) => session.want_lists(Kinds::ALL),
                Step::Ordered(Order::Reconnect(taken)) => return End::Replaced(taken),
                Step::Ordered(Order::Disconnect(farewell)) => return End::Off(farewell),
                Step::Looked(verdict) => {
                    self.health.send_replace(health.report());
                    if let Some(end) = self.judge(verdict).await {
                        return end;
                    }
                }
            }
        }
    }

    async fn judge(&mut self, verdict: Verdict) -> Option<End> {
        match verdict {
            Verdict::Unchanged => {}
            Verdict::Well => self.turn(Event::Answered, None).await,
            Verdict::Ill => {
                tracing::warn!(server = %self.spec.name, "it has not answered two health checks");
                self.turn(Event::MissedTwice, Some("it has not answered two health checks")).await;
            }
            Verdict::Dead => return Some(End::Lost("it has not answered three health checks".to_owned())),
        }
        None
    }

    /// Keeps the verdict which era it speaks: the next session need not find out again.
    async fn meet(&mut self, era: Era) {
        if self.era != Some(era) {
            self.era = Some(era);
            self.happenings.send(Happening::Met { server: self.spec.name.clone(), era }).await.ok();
        }
    }

    async fn withdraw(&mut self) {
        self.withdraw_at = None;
        self.happenings.send(Happening::Withdrawn { server: self.spec.name.clone() }).await.ok();
    }

    /// Away from a session that somebody wanted ended. Between it and the next one there is a moment of DISCONNECTED, which
    /// is told but not shown: whoever waits for the next one is to see no other end.
    async fn part(&mut self) {
        if self.is_on && self.life.apply(Event::Disconnect).is_some() {
            self.tell(self.seen(None)).await;
            self.turn(Event::Connect, None).await;
        } else {
            self.turn(Event::Disconnect, None).await;
        }
    }

    /// From a session that broke to the next try. That there was an error is told, but not shown: a call that comes in
    /// between is to wait for the next session.
    async fn lose(&mut self, reason: &str) {
        if self.life.apply(Event::Lost).is_some() {
            self.tell(self.seen(Some(reason))).await;
        }
        self.turn(Event::Connect, Some(reason)).await;
    }

    /// Takes a turn of the state machine and tells everybody.
    async fn turn(&mut self, event: Event, error: Option<&str>) {
        if self.life.apply(event).is_some() {
            self.publish(error).await;
        }
    }

    async fn publish(&self, error: Option<&str>) {
        let status = self.seen(error);
        self.status.send_replace(status.clone());
        self.tell(status).await;
    }

    async fn tell(&self, status: Status) {
        self.happenings.send(Happening::Turned { server: self.spec.name.clone(), status }).await.ok();
    }

    fn seen(&self, error: Option<&str>) -> Status {
        let (state, before) = (self.life.state(), self.status.borrow());
        let connected_at = match (before.state, state) {
            (State::Connecting, State::Connected) => Some(Moment::now()),
            _ => before.connected_at,
        };
        Status { state, error: error.map(Arc::from), connected_at, is_draining: false }
    }
}
