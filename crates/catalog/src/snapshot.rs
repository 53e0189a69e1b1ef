//! One moment of the catalog: names to tools and prompts, and the lists of that moment.

use crate::entry::{Entry, Shelf};
use crate::render::{self, Peer};
use crate::uris::Uris;
use crate::view::View;
use crate::{Generation, PerKind};
use bytes::Bytes;
use portolan_model::name::{self, NameStyle};
use portolan_model::{Kind, Kinds, Piece, Profile, ServerName, Tool, ToolName};
use portolan_wire::{Abilities, Revision};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// For whose eyes a list is.
#[derive(Debug, Clone, Copy)]
pub struct Eyes<'e> {
    pub view: &'e View,
    pub style: NameStyle,
    pub revision: Revision,
    /// What the client can be asked: some servers show more to those who can be.
    pub abilities: &'e Abilities,
}

/// The lists of one kind in each style and revision, made when first asked for.
type Lists = [[OnceLock<Bytes>; Revision::ALL.len()]; 3];

type OfProfiles = Vec<(Arc<Profile>, Lists)>;

/// What has been made of the things of one kind.
#[derive(Default, Clone)]
struct Made {
    safe: OnceLock<Arc<SafeNames>>,
    /// Of what only some clients are shown.
    beside: OnceLock<Arc<Beside>>,
    lists: Lists,
    /// The same of each profile; there are as many as the settings name. They are told apart by all that they are: two of
    /// one name may show different things.
    of_profiles: Arc<Mutex<OfProfiles>>,
}

/// What clients see that declare something, where any server shows them something else than everybody.
#[derive(Default, Clone)]
struct Sight {
    /// For each kind, the count of the change that was the last.
    changed: PerKind,
    /// The kinds whose lists are others than everybody's.
    differing: Kinds,
    lists: [Lists; Kind::ALL.len()],
}

#[derive(Default)]
pub struct Snapshot {
    servers: BTreeMap<ServerName, Entry>,
    /// How often the lists of each kind have changed up to now.
    listed: PerKind,
    made: [Made; Kind::ALL.len()],
    sights: BTreeMap<Abilities, Sight>,
    uris: OnceLock<Arc<Uris>>,
}

/// The `safe` names of this moment, both ways.
pub(crate) struct SafeNames {
    in_order: Vec<String>,
    owners: HashMap<String, ToolName>,
}

/// The `safe` names of what only some clients are shown, both ways.
#[derive(Default)]
struct Beside {
    names: HashMap<ToolName, String>,
    owners: HashMap<String, ToolName>,
}

/// One server's part of a list.
#[derive(Clone, Copy)]
pub(crate) struct Part<'s> {
    pub(crate) server: &'s ServerName,
    pub(crate) shelf: &'s Arc<Shelf>,
    /// What everybody is shown, mostly the same.
    pub(crate) shared: &'s Arc<Shelf>,
    /// How much of the kind the servers before show to everybody.
    before: usize,
}

impl Snapshot {
    /// The next moment. What was made of a kind that has not changed stays.
    pub(crate) fn followed_by(
        &self,
        servers: BTreeMap<ServerName, Entry>,
        generation: &Generation,
        stirred: &BTreeMap<Abilities, Kinds>,
    ) -> Self {
        let listed = generation.listed;
        let mut next = Self { servers, listed, sights: self.sights.clone(), ..Self::default() };
        let is_same = |kind: Kind| self.listed[kind.index()] == listed[kind.index()];
        if is_same(Kind::Resources) && stirred.is_empty() {
            next.uris = self.uris.clone();
        }
        let mut kept = Kinds::NONE;
        for kind in Kind::ALL {
            // Each list says which servers it is incomplete for.
            if is_same(kind) && self.shortfall(kind).eq(next.shortfall(kind)) {
                next.made[kind.index()] = self.made[kind.index()].clone();
                kept = kept.with(kind);
            }
            if !stirred.is_empty() {
                next.made[kind.index()].beside = OnceLock::new();
            }
        }
        for abilities in stirred.keys() {
            next.sights.entry(abilities.clone()).or_default();
        }
        let mut sights = std::mem::take(&mut next.sights);
        for (abilities, sight) in &mut sights {
            let own = stirred.get(abilities).copied().unwrap_or_default();
            let aspects = next.servers.values().filter_map(|entry| entry.aspects.get(abilities));
            sight.differing = aspects.fold(Kinds::NONE, |all, aspect| all.and(aspect.differing));
            for kind in Kind::ALL {
                if own.has(kind) {
                    sight.changed[kind.index()] = generation.seen;
                }
                if own.has(kind) || !kept.has(kind) {
                    sight.lists[kind.index()] = Lists::default();
                }
            }
        }
        next.sights = sights;
        next
    }

    /// Clients that declare this see from now on what everybody sees.
    pub(crate) fn forget(&mut self, abilities: &Abilities) {
        self.sights.remove(abilities);
    }

    pub fn servers(&self) -> &BTreeMap<ServerName, Entry> {
        &self.servers
    }

    pub fn is_settling(&self) -> bool {
        self.servers.values().any(Entry::is_settling)
    }

    /// The servers of which something may be missing from a list.
    fn shortfall(&self, kind: Kind) -> impl Iterator<Item = (&ServerName, bool, bool)> {
        let marks = move |(name, entry): (_, &Entry)| (name, entry.is_settling(), entry.is_partial(kind));
        self.servers.iter().map(marks).filter(|(_, is_settling, is_partial)| *is_settling || *is_partial)
    }

    /// Every tool with its server: servers by name, tools in their server's order.
    pub fn tools(&self) -> impl Iterator<Item = (&ServerName, &Arc<Tool>)> + Clone {
        self.servers
            .iter()
            .filter_map(|(name, entry)| Some((name, entry.offer()?)))
            .flat_map(|(name, offer)| offer.tools.iter().map(move |tool| (name, tool)))
    }

    /// Everything of a kind with its server, in the same order.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (&ServerName, Piece<'_>)> + Clone {
        self.servers
            .iter()
            .filter_map(|(name, entry)| Some((name, entry.offer()?)))
            .flat_map(move |(name, offer)| offer.of(kind).map(move |piece| (name, piece)))
    }

    /// The Portolans that can be reached from here through servers.
    pub fn instances(&self) -> Vec<&str> {
        let offers = self.servers.values().filter_map(Entry::offer);
        let mut all: Vec<&str> = offers.flat_map(|o| o.instances.iter().map(String::as_str)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn safe_names(&self, kind: Kind) -> &SafeNames {
        self.made[kind.index()].safe.get_or_init(|| {
            let in_order = name::safe_names(self.of(kind).map(|(server, piece)| (server, piece.key)));
            let owner = |((server, piece), safe): ((&ServerName, Piece<'_>), &String)| {
                (safe.clone(), ToolName { server: server.clone(), tool: piece.key.to_owned() })
            };
            let owners = self.of(kind).zip(&in_order).map(owner).collect();
            Arc::new(SafeNames { in_order, owners })
        })
    }

    pub(crate) fn uris(&self) -> &Uris {
        self.uris.get_or_init(|| Arc::new(Uris::new(&self.servers)))
    }

    fn beside(&self, kind: Kind) -> &Beside {
        self.made[kind.index()].beside.get_or_init(|| {
            let mut beside = Beside::default();
            let taken = &self.safe_names(kind).owners;
            for (server, entry) in &self.servers {
                let shelves = entry.aspects.values().map(|aspect| &aspect.shelf);
                let pieces = shelves.flat_map(|shelf| shelf.offer.of(kind));
                for piece in pieces.filter(|piece| !entry.has_for_all(kind, piece.key)) {
                    let own = ToolName { server: server.clone(), tool: piece.key.to_owned() };
                    let safe = name::safe_name_beside(server, piece.key, |name| taken.contains_key(name));
                    beside.owners.entry(safe.clone()).or_insert_with(|| own.clone());
                    beside.names.insert(own, safe);
                }
            }
            Arc::new(beside)
        })
    }

    /// The tool or prompt behind a `safe` name; what is asked for by its uri has none. What only some clients are shown takes
    /// no name from what everybody is.
    pub fn by_safe_name(&self, kind: Kind, safe: &str) -> Option<&ToolName> {
        if !kind.is_named() {
            return None;
        }
        let beside = || if self.sights.is_empty() { None } else { self.beside(kind).owners.get(safe) };
        self.safe_names(kind).owners.get(safe).or_else(beside)
    }

    /// The servers of a view that offer anything, by name.
    pub(crate) fn parts<'s>(&'s self, kind: Kind, eyes: &'s Eyes<'_>) -> impl Iterator<Item = Part<'s>> {
        let mut before = 0;
        let offering =
            self.servers.iter().filter_map(|(server, entry)| Some((server, entry, entry.shelf()?)));
        let parts = offering.map(move |(server, entry, shared)| {
            let shelf = entry.shelf_for(kind, eyes.abilities).unwrap_or(shared);
            let part = Part { server, shelf, shared, before };
            before += shared.offer.len(kind);
            part
        });
        parts.filter(move |part| eyes.view.has_server(part.server))
    }

    /// What something is called among everything of its kind; `at` is its place in its server's part.
    pub(crate) fn shown<'p>(
        &'p self,
        kind: Kind,
        style: NameStyle,
        part: &Part<'p>,
        at: usize,
    ) -> Cow<'p, str> {
        let (server, key) = (part.server, part.shelf.key(kind, at));
        if !kind.is_named() {
            return self.uris().shown(kind, server, key);
        }
        match style {
            NameStyle::Safe => self.safe_name(kind, part, at),
            NameStyle::Colon => Cow::Owned(name::join(server, key, ':')),
            NameStyle::Dot | NameStyle::Bare => Cow::Owned(name::join(server, key, '.')),
        }
    }

    fn safe_name<'p>(&'p self, kind: Kind, part: &Part<'p>, at: usize) -> Cow<'p, str> {
        let key = part.shelf.key(kind, at);
        let is_shared = Arc::ptr_eq(part.shelf, part.shared);
        let place = if is_shared { Some(at) } else { part.shared.place(kind, key) };
        let safe = match place {
            Some(place) => self.safe_names(kind).in_order.get(part.before + place),
            None => {
                let own = ToolName { server: part.server.clone(), tool: key.to_owned() };
                self.beside(kind).names.get(&own)
            }
        };
        Cow::Borrowed(safe.map_or("", String::as_str))
    }

    /// A number that changes whenever a list may have that this view shows to clients who declare this.
    pub fn stamp(&self, view: &View, kind: Kind, abilities: &Abilities) -> u64 {
        let (of_all, own) = match view {
            View::Server(name) => {
                let entry = self.servers.get(name);
                let aspect = entry.and_then(|entry| entry.aspects.get(abilities));
                (entry.map_or(0, |entry| entry.changed(kind)), aspect.map(|aspect| aspect.changed(kind)))
            }
            View::All | View::Profile(_) => {
                let sight = self.sights.get(abilities);
                (self.listed[kind.index()], sight.map(|sight| sight.changed[kind.index()]))
            }
        };
        // Neither counts as far as the other begins.
        of_all | own.unwrap_or(0) << 32
    }

    /// The whole result of a kind's list method, rendered once for each style and revision.
    pub fn list(&self, kind: Kind, eyes: &Eyes<'_>) -> Bytes {
        // Only tools look different in each revision, and only names in each style.
        let revision = eyes.revision;
        let column = if kind == Kind::Tools || !revision.has_handshake() { revision.index() } else { 0 };
        let row = match eyes.style {
            NameStyle::Colon if kind.is_named() => 1,
            NameStyle::Safe if kind.is_named() => 2,
            NameStyle::Dot | NameStyle::Bare | NameStyle::Colon | NameStyle::Safe => 0,
        };
        let own = self.sights.get(eyes.abilities).filter(|sight| sight.differing.has(kind));
        let made = &self.made[kind.index()];
        let render = || render::all(self, kind, eyes, None);
        match eyes.view {
            View::All => {
                let lists = own.map_or(&made.lists, |sight| &sight.lists[kind.index()]);
                lists[row][column].get_or_init(render).clone()
            }
            // What some clients see of a profile beside all others is asked for too seldom to be kept.
            View::Profile(_) if own.is_some() => render(),
            View::Profile(profile) => {
                let kept = || made.of_profiles.lock().unwrap_or_else(PoisonError::into_inner);
                let of = |all: &OfProfiles| all.iter().position(|(known, _)| known == profile);
                let known = {
                    let all = kept();
                    of(&all).and_then(|at| all[at].1[row][column].get().cloned())
                };
                known.unwrap_or_else(|| {
                    let list = render();
                    let mut all = kept();
                    let at = of(&all).unwrap_or_else(|| {
                        all.push((profile.clone(), Lists::default()));
                        all.len() - 1
                    });
                    // Whoever was faster has made the same.
                    all[at].1[row][column].set(list.clone()).unwrap_or_default();
                    list
                })
            }
            View::Server(name) => {
                let entry = self.servers.get(name);
                let shelves = entry.and_then(|e| Some((e.shelf_for(kind, eyes.abilities)?, e.shelf()?)));
                if let Some((shelf, shared)) = shelves {
                    let part = Part { server: name, shelf, shared, before: 0 };
                    let list = &part.shelf.bare[kind.index()][column];
                    return list.get_or_init(|| render::one(&part, kind, revision)).clone();
                }
                let pending = entry.filter(|entry| entry.is_settling());
                render::none(kind, revision, pending.map(|_| name))
            }
        }
    }

    /// The same for a client that is itself a Portolan: without what leads back to it, and saying who can be reached.
    pub fn list_for_peer(&self, kind: Kind, peer: &Peer<'_>, eyes: &Eyes<'_>) -> Bytes {
        render::all(self, kind, eyes, Some(peer))
    }
}
