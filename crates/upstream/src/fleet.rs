//! Makes the running sessions match the servers that are wanted.

use crate::backoff::Backoff;
use crate::health::Report;
use crate::inbox::Notice;
use crate::lifeline::Lifeline;
use crate::member::{Member, Status};
use crate::orders;
use crate::session::Session;
use crate::watchdog::Watchdog;
use arc_swap::{ArcSwap, ArcSwapOption};
use portolan_model::{Lifecycle, Offer, Reached, ServerName, ServerSpec, State};
use portolan_outbound::Outbound;
use portolan_wire::level::Level;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
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
        /// Dropped once it is on file: whoever is shown as connected can be listed and called.
        filed: oneshot::Sender<()>,
    },
    /// Its tools leave the lists.
    Withdrawn {
        server: ServerName,
    },
    Removed {
        server: ServerName,
    },
}

impl Happening {
    /// Tells of an offer, with what is left out of it said aloud, and waits until it is on file.
    pub(crate) async fn offer(told: &mpsc::Sender<Self>, spec: &ServerSpec, offer: Offer) {
        for left_out in &offer.left_out {
            let (tool, reason) = (&left_out.tool, &left_out.reason);
            tracing::warn!(server = %spec.name, tool, reason, "a tool is left out");
        }
        let (filed, on_file) = oneshot::channel();
        told.send(Self::Offered { server: spec.name.clone(), offer, filed }).await.ok();
        // Where nobody files any more there is nothing to wait for.
        on_file.await.unwrap_or_default();
    }
}

/// How long a client's wish for a log level waits for servers to take it.
const SOON: Duration = Duration::from_secs(1);

type Members = BTreeMap<ServerName, Arc<Member>>;

pub struct Fleet {
    members: Arc<ArcSwap<Members>>,
    outside: Arc<Outside>,
    happenings: mpsc::Sender<Happening>,
    tasks: TaskTracker,
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

    pub fn call_timeout(&self) -> Duration {
        self.outside.limits.call_timeout
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
        let Wanted { spec, is_on } = wanted;
        let first = if is_on { State::Connecting } else { State::Disconnected };
        let (status, seen) = watch::channel(Status::at_first(first));
        let (health, reported) = watch::channel(Report::default());
        let (orders, ordered) = mpsc::channel(orders::WAITING);
        let slot: Arc<ArcSwapOption<Session>> = Arc::default();
        let (stop, gone) = (CancellationToken::new(), CancellationToken::new());
        let member = Arc::new(Member {
            spec: spec.clone(),
            slot: slot.clone(),
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
                if let Some(session) = member.slot.load_full() {
                    session.set_level(level).await;
                }
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
