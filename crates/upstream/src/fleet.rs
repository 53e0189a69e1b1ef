//! Makes the running sessions match the servers that are wanted.

use crate::backoff::Backoff;
use crate::health::Report;
use crate::inbox::Notice;
use crate::lifeline::Lifeline;
use crate::member::{Member, Status};
use crate::orders;
use crate::pool::Pool;
use crate::profiles::Profiles;
use crate::scout::Scout;
use crate::session::Session;
use crate::watchdog::Watchdog;
use crate::wishes::Wishes;
use arc_swap::{ArcSwap, ArcSwapOption};
use portolan_model::{Era, Kinds, Lifecycle, Offer, Reached, ServerName, ServerSpec, Sharing, State};
use portolan_outbound::Outbound;
use portolan_wire::Abilities;
use portolan_wire::level::Level;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, broadcast, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Expands a server's values, or says which are missing.
pub type Resolve = Box<dyn Fn(&ServerSpec) -> Result<Reached, String> + Send + Sync>;

/// Everything that sessions need of the world around them.
pub struct Outside {
    pub outbound: Outbound,
    /// Expands a server's values at the moment a session starts.
    pub resolve: Resolve,
    pub limits: Limits,
    pub notices: broadcast::Sender<Notice>,
    pub watchdog: Arc<Watchdog>,
    pub identity: Identity,
    /// The most talkative log level that any client has asked for.
    pub level: AtomicU8,
    /// Once this fires, closing sessions no longer wait for what is in flight.
    pub hurry: CancellationToken,
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub upstream_message_bytes: usize,
    pub json_depth: usize,
    pub call_timeout: Duration,
    pub connect_timeout: Duration,
    pub health_interval: Duration,
    pub in_flight_per_server: usize,
    pub tools_per_server: usize,
    pub drain: Duration,
}

/// Who we are towards servers.
#[derive(Debug, Clone)]
pub struct Identity {
    pub version: String,
    /// Random, made at the start: by it a Portolan recognises itself.
    pub instance: String,
}

/// A server as it is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub spec: ServerSpec,
    /// Whether it is to be connected at once; one that is already there goes by orders and not by this.
    pub is_on: bool,
    /// The era that it was last met in.
    pub era: Option<Era>,
}

/// What the fleet tells: it emits, others file.
#[derive(Debug)]
pub enum Happening {
    Turned {
        server: ServerName,
        status: Status,
    },
    Offered {
        server: ServerName,
        offer: Offer,
        /// What the server itself has said to have changed: clients are told, whether or not anything did.
        announced: Kinds,
        /// Dropped once it is on file: whoever is shown as connected can be listed and called.
        filed: oneshot::Sender<()>,
    },
    /// Which era it speaks has been found out.
    Met {
        server: ServerName,
        era: Era,
    },
    /// It says that lists of these kinds have changed, and takes its time over the new ones.
    Stale {
        server: ServerName,
        kinds: Kinds,
    },
    /// What it shows to clients that declare this has been found out.
    Seen {
        server: ServerName,
        abilities: Abilities,
        offer: Offer,
        /// The kinds whose lists could not be had.
        missing: Kinds,
        /// Whether that is anything else than everybody is shown, once it is on file.
        differs: oneshot::Sender<bool>,
    },
    /// What any server shows to clients that declare this is not remembered any more.
    Unseen {
        abilities: Abilities,
    },
    /// What it offers leaves the lists.
    Withdrawn {
        server: ServerName,
    },
    Removed {
        server: ServerName,
    },
}

impl Happening {
    /// Tells of an offer, with what is left out of it said aloud, and waits until it is on file.
    pub(crate) async fn offer(told: &mpsc::Sender<Self>, spec: &ServerSpec, offer: Offer, announced: Kinds) {
        for left_out in &offer.left_out {
            let (tool, reason) = (&left_out.tool, &left_out.reason);
            tracing::warn!(server = %spec.name, tool, reason, "a tool is left out");
        }
        let (filed, on_file) = oneshot::channel();
        told.send(Self::Offered { server: spec.name.clone(), offer, announced, filed }).await.ok();
        // Where nobody files any more there is nothing to wait for.
        on_file.await.unwrap_or_default();
    }
}

/// How long a client's wish for a log level waits for servers to take it.
const SOON: Duration = Duration::from_secs(1);

/// How long the first client of its kind waits for what servers show to such clients.
const FIRST_LOOK: Duration = Duration::from_secs(1);

pub(crate) type Members = BTreeMap<ServerName, Arc<Member>>;

pub struct Fleet {
    members: Arc<ArcSwap<Members>>,
    outside: Arc<Outside>,
    happenings: mpsc::Sender<Happening>,
    tasks: TaskTracker,
    profiles: Arc<Profiles>,
    /// Whether somebody finds out what servers show to clients that declare something.
    is_scouted: AtomicBool,
    /// One change at a time; who has been removed and may still be draining.
    changing: Mutex<BTreeMap<ServerName, CancellationToken>>,
}

impl Fleet {
    pub fn new(outside: Outside, happenings: mpsc::Sender<Happening>) -> Arc<Self> {
        Arc::new(Self {
            members: Arc::default(),
            outside: Arc::new(outside),
            happenings,
            tasks: TaskTracker::new(),
            profiles: Arc::default(),
            is_scouted: AtomicBool::new(false),
            changing: Mutex::default(),
        })
    }

    pub fn member(&self, name: &str) -> Option<Arc<Member>> {
        self.members.load().get(name).cloned()
    }

    pub fn members(&self) -> Vec<Arc<Member>> {
        self.members.load().values().cloned().collect()
    }

    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.outside.notices.subscribe()
    }

    /// A client has gone, and with it the sessions that were its own.
    pub fn forget_client(&self, client: u64) {
        for member in self.members.load().values() {
            member.pool.forget(client);
        }
    }

    /// Passes a notification of a client on to the sessions that are its own.
    pub fn tell_for(&self, client: u64, method: &str, params: Option<&str>) {
        for member in self.members.load().values() {
            for session in member.pool.of_client(client) {
                session.tell(method, params);
            }
        }
    }

    /// A client that declares this asks what one server has, or all. What servers show to such clients is found out once, in
    /// the background, and told like everything else that they offer.
    pub fn look(&self, abilities: &Abilities, server: Option<&ServerName>) {
        let is_over = self.outside.hurry.is_cancelled();
        if abilities.is_none() || is_over || (server.is_none() && self.profiles.is_complete(abilities)) {
            return;
        }
        loop {
            // Whoever comes while they are looked through has them looked through again.
            let turns = self.profiles.turns();
            let members = self.members.load();
            let those = members.values().filter(|member| server.is_none_or(|one| *one == member.spec.name));
            let open = those.filter(|member| member.spec.sharing != Sharing::Shared);
            let near: Vec<_> = open.filter_map(|m| Some((&m.spec.name, m.presence()?))).collect();
            if self.profiles.want(abilities, &near, turns) {
                if server.is_none() {
                    self.profiles.complete(abilities, turns);
                }
                break;
            }
        }
        if !self.is_scouted.swap(true, Ordering::Relaxed) {
            let scout = Scout {
                profiles: self.profiles.clone(),
                members: self.members.clone(),
                outside: self.outside.clone(),
                happenings: self.happenings.clone(),
            };
            self.tasks.spawn(scout.run());
        }
    }

    /// Waits until what is being found out for such clients is told: for whoever asks in the background itself.
    pub async fn looked(&self, abilities: &Abilities, server: Option<&ServerName>, limit: Duration) {
        let looked = self.profiles.settled(abilities, server);
        tokio::time::timeout(limit, looked).await.unwrap_or_default();
    }

    /// The same for a client, which waits a moment where it is the first of its kind: many list once and never again.
    pub async fn looked_at_first(&self, abilities: &Abilities, server: Option<&ServerName>) {
        if let Some(since) = self.profiles.since(abilities) {
            let looked = self.profiles.settled(abilities, server);
            tokio::time::timeout_at(since + FIRST_LOOK, looked).await.unwrap_or_default();
        }
    }

    /// New servers connect, missing ones drain and go, changed ones are replaced, the others notice nothing.
    pub async fn apply(&self, wanted: Vec<Wanted>) {
        let mut leaving = self.changing.lock().await;
        leaving.retain(|_, gone| !gone.is_cancelled());
        let old = self.members.load_full();
        let mut new = Members::new();
        for one in wanted {
            let name = one.spec.name.clone();
            let member = match old.get(&name) {
                Some(member) if member.spec == one.spec => member.clone(),
                Some(member) => {
                    member.stop.cancel();
                    self.start(one, Some(member.gone.clone()))
                }
                None => self.start(one, leaving.remove(&name)),
            };
            new.insert(name, member);
        }
        let removed: Vec<Arc<Member>> = old
            .iter()
            .filter(|(name, _)| !new.contains_key(*name))
            .map(|(_, member)| member.clone())
            .collect();
        self.members.store(Arc::new(new));
        for member in removed {
            member.stop.cancel();
            leaving.insert(member.spec.name.clone(), member.gone.clone());
            self.happenings.send(Happening::Removed { server: member.spec.name.clone() }).await.ok();
        }
    }

    fn start(&self, wanted: Wanted, predecessor: Option<CancellationToken>) -> Arc<Member> {
        let Wanted { spec, is_on, era } = wanted;
        let first = if is_on { State::Connecting } else { State::Disconnected };
        let (status, seen) = watch::channel(Status::at_first(first));
        let (health, reported) = watch::channel(Report::default());
        let (orders, ordered) = mpsc::channel(orders::WAITING);
        let slot: Arc<ArcSwapOption<Session>> = Arc::default();
        let profiles = self.profiles.clone();
        let pool = Pool::new(spec.clone(), self.outside.clone(), profiles.clone(), self.tasks.clone());
        let wishes: Arc<Wishes> = Arc::default();
        let (stop, gone) = (CancellationToken::new(), CancellationToken::new());
        let member = Arc::new(Member {
            spec: spec.clone(),
            slot: slot.clone(),
            pool: pool.clone(),
            wishes: wishes.clone(),
            call_timeout: spec.timeout.unwrap_or(self.outside.limits.call_timeout),
            status: seen,
            health: reported,
            orders,
            stop: stop.clone(),
            gone: gone.clone(),
        });
        let lifeline = Lifeline {
            spec,
            outside: self.outside.clone(),
            slot,
            pool,
            wishes,
            profiles,
            era,
            status,
            health,
            orders: ordered,
            happenings: self.happenings.clone(),
            tasks: self.tasks.clone(),
            stop,
            life: Lifecycle::default(),
            is_on,
            withdraw_at: None,
            backoff: Backoff::default(),
            is_shaky: false,
        };
        let (server, happenings) = (member.spec.name.clone(), self.happenings.clone());
        let members = self.members.clone();
        self.tasks.spawn(async move {
            let _tell = gone.drop_guard();
            if let Some(predecessor) = predecessor {
                predecessor.cancelled().await;
            }
            lifeline.live().await;
            // Its last words have put it on file again; whoever takes its place waits until this is told.
            if !members.load().contains_key(&server) {
                happenings.send(Happening::Removed { server }).await.ok();
            }
        });
        member
    }

    /// Asks every server for log messages of this level, unless a client has already asked for more. Those that answer
    /// soon have taken it when this returns; a slow one delays nobody for longer than that.
    pub async fn set_level(&self, level: Level) {
        let before = self.outside.level.fetch_min(level as u8, Ordering::Relaxed);
        if before <= level as u8 {
            return;
        }
        let asked = self.members().into_iter().map(|member| {
            self.tasks.spawn(async move {
                let pooled = member.pool.sessions();
                let all = member.slot.load_full().map(|session| (*session).clone()).into_iter().chain(pooled);
                let asked = all.map(async |session| session.set_level(level).await);
                futures_util::future::join_all(asked).await;
            })
        });
        let all = futures_util::future::join_all(asked);
        tokio::time::timeout(SOON, all).await.map(drop).unwrap_or_default();
    }

    /// Ends every session, also those that are draining. Nothing of any server is left after this.
    pub async fn shutdown(&self) {
        let _one = self.changing.lock().await;
        self.outside.hurry.cancel();
        for member in self.members() {
            member.stop.cancel();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }
}
