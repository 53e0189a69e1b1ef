//! One server in the catalog: its state, what it offers, and that rendered by itself.

use crate::PerKind;
use crate::aspect::Aspect;
use bytes::Bytes;
use portolan_model::{Kind, Kinds, Offer, State, Tool};
use portolan_wire::mirror::{self, Mirror};
use portolan_wire::tasks::{Declared, Support};
use portolan_wire::template::Template;
use portolan_wire::{Abilities, Revision};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone)]
pub struct Entry {
    pub state: State,
    pub error: Option<Arc<str>>,
    /// Whether the first try has come to an end, one way or the other.
    is_decided: bool,
    shelf: Option<Arc<Shelf>>,
    /// What it shows to clients that declare something, where that is something else.
    pub(crate) aspects: BTreeMap<Abilities, Aspect>,
    /// For each kind, the count of the change that was this server's last.
    changed: PerKind,
}

/// What belongs to one offer and lives exactly as long, across snapshots.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) offer: Offer,
    /// What its tools can be that do not say so themselves.
    pub(crate) tasks: Support,
    /// The templates of the offer, each at its place; what is no template by RFC 6570 matches nothing.
    pub(crate) templates: Vec<Option<Template>>,
    mirrors: HashMap<Box<str>, Vec<Mirror>>,
    keys: [OnceLock<HashSet<Box<str>>>; Kind::ALL.len()],
    /// The places of each kind's list, sorted by key.
    by_key: [OnceLock<Vec<usize>>; Kind::ALL.len()],
    /// The lists as the server itself names things, one for each revision, made when first asked for.
    pub(crate) bare: [[OnceLock<Bytes>; Revision::ALL.len()]; Kind::ALL.len()],
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            state: State::Connecting,
            error: None,
            is_decided: false,
            shelf: None,
            aspects: BTreeMap::new(),
            changed: PerKind::default(),
        }
    }
}

impl Entry {
    /// What everybody is shown.
    pub fn offer(&self) -> Option<&Offer> {
        self.shelf.as_ref().map(|shelf| &shelf.offer)
    }

    /// Whether the server lists something of this kind under this key, which is its own, to anybody at all: to whom it does
    /// not, it says no by itself.
    pub fn has(&self, kind: Kind, key: &str) -> bool {
        self.has_for_all(kind, key)
            || self.aspects.values().any(|aspect| aspect.shelf.keys(kind).contains(key))
    }

    /// The same for what everybody is shown.
    pub fn has_for_all(&self, kind: Kind, key: &str) -> bool {
        self.shelf.as_ref().is_some_and(|shelf| shelf.keys(kind).contains(key))
    }

    /// Whether clients that declare this are shown something else than everybody is.
    pub fn differs_for(&self, abilities: &Abilities) -> bool {
        self.aspects.contains_key(abilities)
    }

    /// Whether any tool wants arguments mirrored.
    pub fn has_mirrors(&self) -> bool {
        let aspects = self.aspects.values().map(|aspect| &aspect.shelf);
        self.shelf.iter().chain(aspects).any(|shelf| !shelf.mirrors.is_empty())
    }

    /// The arguments of a tool that are repeated in headers; nearly no tool has any.
    pub fn mirrors(&self, tool: &str) -> &[Mirror] {
        let aspects = self.aspects.values().map(|aspect| &aspect.shelf);
        let mut shelves = self.shelf.iter().chain(aspects);
        shelves.find_map(|shelf| shelf.mirrors.get(tool)).map_or(&[], Vec::as_slice)
    }

    /// A tool that everybody is shown, by its own name.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        let shelf = self.shelf.as_ref()?;
        shelf.offer.tools.get(shelf.place(Kind::Tools, name)?)
    }

    /// Still in its first try: lists may be incomplete because of it.
    pub fn is_settling(&self) -> bool {
        !self.is_decided && self.state == State::Connecting
    }

    pub(crate) fn shelf(&self) -> Option<&Arc<Shelf>> {
        self.shelf.as_ref()
    }

    /// Where the list of a kind is kept for clients that declare this.
    pub(crate) fn shelf_for(&self, kind: Kind, abilities: &Abilities) -> Option<&Arc<Shelf>> {
        let own = self.aspects.get(abilities).filter(|aspect| aspect.differing.has(kind));
        own.map(|aspect| &aspect.shelf).or(self.shelf.as_ref())
    }

    /// Whether only a part of what the server has of a kind is listed.
    pub(crate) fn is_partial(&self, kind: Kind) -> bool {
        self.offer().is_some_and(|offer| offer.partial.has(kind))
    }

    pub(crate) fn is_partial_for(&self, kind: Kind, abilities: &Abilities) -> bool {
        self.shelf_for(kind, abilities).is_some_and(|shelf| shelf.offer.partial.has(kind))
    }

    pub(crate) fn changed(&self, kind: Kind) -> u64 {
        self.changed[kind.index()]
    }

    /// Notes which change of the lists was this server's.
    pub(crate) fn mark(&mut self, kinds: Kinds, listed: &PerKind) {
        for kind in kinds.iter() {
            self.changed[kind.index()] = listed[kind.index()];
        }
    }

    pub(crate) fn turned(&self, state: State, error: Option<Arc<str>>) -> Self {
        let is_decided = self.is_decided || error.is_some() || state != State::Connecting;
        Self { state, error, is_decided, ..self.clone() }
    }

    pub(crate) fn offering(&self, offer: Offer) -> Self {
        let rebased = |(abilities, aspect): (&Abilities, &Aspect)| {
            Some((abilities.clone(), aspect.rebased(self.offer()?, &offer)?))
        };
        let aspects = self.aspects.iter().filter_map(rebased).collect();
        Self { is_decided: true, aspects, shelf: Some(Arc::new(Shelf::new(offer))), ..self.clone() }
    }

    /// What clients that declare this have been found to be shown.
    pub(crate) fn seen(&self, abilities: Abilities, offer: Offer) -> Self {
        let mut entry = self.clone();
        let before = entry.aspects.remove(&abilities);
        // What is shown to nobody is shown to no profile.
        let Some(aspect) = self.offer().and_then(|shared| Aspect::new(offer, shared)) else { return entry };
        let aspect = before.map_or(aspect.clone(), |before| before.followed_by(aspect));
        entry.aspects.insert(abilities, aspect);
        entry
    }

    pub(crate) fn withdrawn(&self) -> Self {
        Self { shelf: None, aspects: BTreeMap::new(), ..self.clone() }
    }
}

impl Shelf {
    pub(crate) fn new(offer: Offer) -> Self {
        let templates = offer.templates.iter().map(|template| Template::parse(&template.key)).collect();
        // What is wrong with a tool's mirrors was judged when it was listed.
        let mirrored = offer.tools.iter().filter_map(|tool| {
            let mirrors =
                mirror::mirrors(tool.definition.get()).ok().filter(|mirrors| !mirrors.is_empty())?;
            Some((tool.name.clone(), mirrors))
        });
        Self {
            tasks: tasks_of(&offer),
            templates,
            mirrors: mirrored.collect(),
            keys: Default::default(),
            by_key: Default::default(),
            bare: Default::default(),
            offer,
        }
    }

    pub(crate) fn keys(&self, kind: Kind) -> &HashSet<Box<str>> {
        self.keys[kind.index()].get_or_init(|| self.offer.of(kind).map(|piece| piece.key.into()).collect())
    }

    /// The places of the list of a kind in the order of their keys, which no change of the list turns round.
    pub(crate) fn by_key(&self, kind: Kind) -> &[usize] {
        self.by_key[kind.index()].get_or_init(|| {
            let mut places: Vec<usize> = (0..self.offer.len(kind)).collect();
            places.sort_by_key(|&at| self.key(kind, at));
            places
        })
    }

    /// The place of a key in the list of a kind.
    pub(crate) fn place(&self, kind: Kind, key: &str) -> Option<usize> {
        let places = self.by_key(kind);
        places.binary_search_by(|&at| self.key(kind, at).cmp(key)).ok().map(|found| places[found])
    }

    pub(crate) fn key(&self, kind: Kind, at: usize) -> &str {
        self.offer.piece(kind, at).map_or("", |piece| piece.key)
    }
}

/// Servers of 2026-07-28 decide for themselves which calls become tasks, and their tools do not say which may.
pub(crate) fn tasks_of(offer: &Offer) -> Support {
    let declared =
        offer.manner.capabilities.as_ref().map(|raw| Declared::read(raw.get())).unwrap_or_default();
    if declared.extension && !declared.experimental { Support::Optional } else { Support::Forbidden }
}
