//! Sessions for clients that can be asked something, beside the one that all others share.
//!
//! A server of the handshake era learns once, in its handshake, what can be asked of its client. So clients that declare
//! the same share a session, those that declare something else have another. Where the transport does not say which call a
//! question belongs to, one client at a time has the session; a second one gets a second session, and waits when there are
//! enough. Nobody waits for people: while all sessions do, others make do with the shared one, on which nothing is asked.

use crate::error::ConnectError;
use crate::fleet::Outside;
use crate::profiles::Profiles;
use crate::question::Party;
use crate::session::{Ground, Session};
use portolan_model::{Era, ServerSpec, Sharing};
use portolan_wire::Abilities;
use portolan_wire::level::Level;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How many sessions one server may have beside the shared one: for a program that is as many processes.
const MOST: usize = 8;
/// A session that nobody has used for this long is closed.
const IDLE: Duration = Duration::from_mins(5);
const LOOK: Duration = Duration::from_secs(30);
/// A server that would not have a second session is not asked for one again before this.
const GIVEN_UP_FOR: Duration = Duration::from_mins(1);
/// A server that says again and again that its lists have changed is believed no more often than this.
const BETWEEN: Duration = Duration::from_secs(1);
/// Whoever takes longer than this over an answer is a person, who may take minutes.
const PROGRAMS_ANSWER: Duration = Duration::from_secs(2);
/// How often one that waits for a place looks what it waits for.
const GLANCE: Duration = Duration::from_millis(250);

pub(crate) struct Pool {
    spec: ServerSpec,
    outside: Arc<Outside>,
    profiles: Arc<Profiles>,
    tasks: TaskTracker,
    seats: Mutex<Seats>,
    changed: Notify,
}

#[derive(Default)]
struct Seats {
    all: Vec<Seat>,
    next: u64,
    given_up: Option<Instant>,
    /// Ends the sessions of today; tomorrow's have another.
    stop: CancellationToken,
}

struct Seat {
    number: u64,
    who: Who,
    /// `None` while it is being opened.
    session: Option<Session>,
    /// The client that has it, where only one at a time may.
    taken_by: Option<u64>,
    in_use: usize,
    used_at: Instant,
    /// No client has had it so far, and none may ever want it.
    is_spare: bool,
    /// Fires when it is taken away.
    over: CancellationToken,
}

impl Seat {
    fn waits_for_a_person(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.inbox().has_asked_for(PROGRAMS_ANSWER))
    }
}

/// For whom a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Who {
    abilities: Abilities,
    /// Roots say what a server may touch, so they are never shared.
    client: Option<u64>,
}

impl Who {
    fn of(party: &Party, sharing: Sharing) -> Self {
        let is_alone = sharing == Sharing::PerClient || party.abilities.has_roots();
        let client = (is_alone && party.desk.is_some()).then_some(party.client);
        Self { abilities: party.abilities.clone(), client }
    }
}

/// Who comes for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guest {
    Client(u64),
    /// Somebody who only looks, and causes no questions: whoever has the session may have it meanwhile.
    Scout,
}

impl Guest {
    fn client(self) -> Option<u64> {
        match self {
            Self::Client(client) => Some(client),
            Self::Scout => None,
        }
    }
}

/// A session in use; dropping it gives the place free.
pub struct Lease {
    pub session: Session,
    seat: Option<(Arc<Pool>, u64)>,
}

impl Lease {
    pub(crate) fn shared(session: Session) -> Self {
        Self { session, seat: None }
    }

    /// The session is going to be wanted: it stays for as long as one that a client had.
    pub(crate) fn keep(&self) {
        if let Some((pool, number)) = &self.seat
            && let Some(seat) = pool.seats().all.iter_mut().find(|seat| seat.number == *number)
        {
            seat.is_spare = false;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((pool, number)) = &self.seat {
            pool.leave(*number);
        }
    }
}

/// What there is for a client.
enum Found {
    Seat(Session, u64),
    /// It may open one under this number.
    Room(u64, CancellationToken),
    /// Somebody else has it, or is opening it.
    Wait,
    /// There is none, and will not be soon.
    NotNow,
}

impl Pool {
    pub(crate) fn new(
        spec: ServerSpec,
        outside: Arc<Outside>,
        profiles: Arc<Profiles>,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        let (seats, changed) = (Mutex::default(), Notify::new());
        Arc::new(Self { spec, outside, profiles, tasks, seats, changed })
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        // Critical sections here push and remove; a panic in one leaves nothing half-done.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that declares what this client declares; `None` if there is none to be had, and the shared one has to do.
    pub(crate) async fn lease(self: &Arc<Self>, party: &Party, until: Instant) -> Option<Lease> {
        match self.take(party, Guest::Client(party.client), until).await {
            Ok(lease) => lease,
            Err(why) => {
                tracing::warn!(server = %self.spec.name, %why, "no session for clients that can be asked; they share the other one");
                self.seats().given_up = Some(Instant::now());
                None
            }
        }
    }

    /// A session that declares this, for a look at what such clients are shown. That there is none says nothing against
    /// sessions for clients, who may declare something else.
    pub(crate) async fn look(
        self: &Arc<Self>,
        abilities: &Abilities,
        until: Instant,
    ) -> Result<Lease, ConnectError> {
        let party = Party { abilities: abilities.clone(), ..Party::nobody() };
        let lease = self.take(&party, Guest::Scout, until).await?;
        lease.ok_or_else(|| ConnectError::Failed("there is no session to be had now".to_owned()))
    }

    async fn take(
        self: &Arc<Self>,
        party: &Party,
        guest: Guest,
        until: Instant,
    ) -> Result<Option<Lease>, ConnectError> {
        loop {
            let changed = self.changed.notified();
            match self.find(party, guest) {
                Found::Seat(session, number) => {
                    return Ok(Some(Lease { session, seat: Some((self.clone(), number)) }));
                }
                Found::Room(number, over) => return self.open(party, number, over).await.map(Some),
                Found::NotNow => return Ok(None),
                Found::Wait if Instant::now() >= until => return Ok(None),
                Found::Wait => {
                    let glance = (Instant::now() + GLANCE).min(until);
                    tokio::time::timeout_at(glance, changed).await.unwrap_or_default();
                }
            }
        }
    }

    fn find(&self, party: &Party, guest: Guest) -> Found {
        let (who, mut seats) = (Who::of(party, self.spec.sharing), self.seats());
        if seats.given_up.is_some_and(|at| at.elapsed() < GIVEN_UP_FOR) {
            return Found::NotNow;
        }
        let mut is_coming = false;
        for seat in seats.all.iter_mut().filter(|seat| seat.who == who) {
            let is_free =
                guest == Guest::Scout || seat.taken_by.is_none_or(|client| guest == Guest::Client(client));
            match &seat.session {
                Some(session) if session.is_closed() => {}
                Some(session) if is_free || session.tells_calls_apart() => {
                    seat.in_use += 1;
                    if let Guest::Client(client) = guest {
                        seat.taken_by = Some(client);
                        seat.is_spare = false;
                    }
                    return Found::Seat(session.clone(), seat.number);
                }
                None if is_free => is_coming = true,
                Some(_) | None => {}
            }
        }
        if is_coming {
            return Found::Wait;
        }
        if seats.all.len() >= MOST {
            // One that no client has had makes room, or the one that has rested longest.
            let resting = seats.all.iter().filter(|seat| seat.in_use == 0 && seat.session.is_some());
            let first = resting.min_by_key(|seat| (!seat.is_spare, seat.used_at));
            let Some(number) = first.map(|seat| seat.number) else {
                let wait_for_people = seats.all.iter().all(Seat::waits_for_a_person);
                return if wait_for_people { Found::NotNow } else { Found::Wait };
            };
            self.dismiss(&mut seats, number);
        }
        seats.next += 1;
        let (number, over) = (seats.next, seats.stop.child_token());
        seats.all.push(Seat {
            number,
            who,
            session: None,
            taken_by: guest.client(),
            in_use: 1,
            used_at: Instant::now(),
            is_spare: guest == Guest::Scout,
            over: over.clone(),
        });
        Found::Room(number, over)
    }

    async fn open(
        self: &Arc<Self>,
        party: &Party,
        number: u64,
        over: CancellationToken,
    ) -> Result<Lease, ConnectError> {
        let ground = Ground::new(self.outside.clone());
        let mut opening = Opening { pool: self, number, ground: Some(ground.clone()) };
        let limit = self.outside.limits.connect_timeout;
        let session = tokio::select! {
            opened = tokio::time::timeout(limit, self.session(party, &ground)) => {
                opened.map_err(|_| ConnectError::Failed("no answer".to_owned()))??
            }
            () = over.cancelled() => {
                return Err(ConnectError::Failed("the server is being disconnected".to_owned()));
            }
        };
        let who = self.seats().all.iter_mut().find(|seat| seat.number == number).map(|seat| {
            seat.session = Some(session.clone());
            seat.who.clone()
        });
        opening.ground = None;
        self.changed.notify_waiters();
        // One client's own session says nothing of what others are shown.
        if let Some(Who { abilities, client: None }) = who {
            self.hear(&session, abilities);
        }
        self.tasks.spawn(self.clone().look_after(session.clone(), number, over));
        Ok(Lease { session, seat: Some((self.clone(), number)) })
    }

    /// Has what such clients are shown looked at again when the server says that it has changed, for as long as the session
    /// lives.
    fn hear(&self, session: &Session, abilities: Abilities) {
        let (held, server, profiles) = (session.clone(), self.spec.name.clone(), self.profiles.clone());
        session.owns(async move {
            loop {
                held.lists_changed().await;
                profiles.again(&server, &abilities);
                tokio::time::sleep(BETWEEN).await;
            }
        });
    }

    async fn session(&self, party: &Party, ground: &Ground) -> Result<Session, ConnectError> {
        let reached = (self.outside.resolve)(&self.spec).map_err(ConnectError::Failed)?;
        let session =
            Session::open(&self.spec.name, &reached.endpoint, Some(Era::Legacy), party, ground).await?;
        let level = Level::from_number(self.outside.level.load(Ordering::Relaxed));
        if level < Level::Emergency {
            session.set_level(level).await;
        }
        Ok(session)
    }

    fn leave(&self, number: u64) {
        let mut seats = self.seats();
        if let Some(seat) = seats.all.iter_mut().find(|seat| seat.number == number) {
            seat.in_use = seat.in_use.saturating_sub(1);
            seat.used_at = Instant::now();
            if seat.in_use == 0 {
                seat.taken_by = None;
            }
        }
        drop(seats);
        self.changed.notify_waiters();
    }

    /// Takes a seat away; whoever looks after it closes its session.
    fn dismiss(&self, seats: &mut Seats, number: u64) {
        for seat in seats.all.extract_if(.., |seat| seat.number == number) {
            seat.over.cancel();
        }
        self.changed.notify_waiters();
    }

    /// Owns one session until it is lost, dismissed, idle, or the server is to be disconnected.
    async fn look_after(self: Arc<Self>, session: Session, number: u64, over: CancellationToken) {
        loop {
            let is_over = tokio::select! {
                () = session.closed() => true,
                () = over.cancelled() => true,
                () = tokio::time::sleep(LOOK) => {
                    let seats = self.seats();
                    let seat = seats.all.iter().find(|seat| seat.number == number);
                    seat.is_none_or(|seat| {
                        seat.in_use == 0 && (seat.is_spare || seat.used_at.elapsed() >= IDLE)
                    })
                }
            };
            if is_over {
                break;
            }
        }
        self.dismiss(&mut self.seats(), number);
        session.close(self.outside.limits.drain).await;
    }

    /// Ends every session; calls in flight may end.
    pub(crate) fn close(&self) {
        let stop = {
            let mut seats = self.seats();
            seats.given_up = None;
            seats.all.clear();
            std::mem::take(&mut seats.stop)
        };
        stop.cancel();
        self.changed.notify_waiters();
    }

    /// The live sessions of one client alone.
    pub(crate) fn of_client(&self, client: u64) -> Vec<Session> {
        let seats = self.seats();
        let own = seats.all.iter().filter(|seat| seat.who.client == Some(client));
        own.filter_map(|seat| seat.session.clone()).collect()
    }

    /// All live sessions.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        self.seats().all.iter().filter_map(|seat| seat.session.clone()).collect()
    }

    /// A client has gone, and with it the sessions that were its own.
    pub(crate) fn forget(&self, client: u64) {
        let mut seats = self.seats();
        for seat in seats.all.iter().filter(|seat| seat.who.client == Some(client)) {
            if let Some(session) = seat.session.clone() {
                self.tasks.spawn(async move { session.close(Duration::ZERO).await });
            }
        }
        seats.all.retain(|seat| seat.who.client != Some(client));
    }
}

/// A seat whose session is being opened; it is free again if that comes to nothing.
struct Opening<'p> {
    pool: &'p Pool,
    number: u64,
    ground: Option<Ground>,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(ground) = self.ground.take() {
            self.pool.dismiss(&mut self.pool.seats(), self.number);
            self.pool.tasks.spawn(async move { ground.end().await });
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({})", self.spec.name)
    }
}
