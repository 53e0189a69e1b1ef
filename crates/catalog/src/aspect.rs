//! What a server shows to clients that declare something, where that is not what it shows to everybody.

use crate::PerKind;
use crate::entry::{Entry, Shelf};
use portolan_model::{Item, Kind, Kinds, Offer, ServerName, Tool};
use portolan_wire::Abilities;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What one server shows to the clients of one profile.
#[derive(Debug, Clone)]
pub(crate) struct Aspect {
    /// Holds the lists that differ, and nothing of the other kinds.
    pub(crate) shelf: Arc<Shelf>,
    /// The kinds whose lists differ from those that everybody is shown.
    pub(crate) differing: Kinds,
    /// For each kind, the count of the change that was this aspect's last.
    changed: PerKind,
}

impl Aspect {
    /// `None` where the lists are those that everybody is shown; their order alone is no difference.
    pub(crate) fn new(mut offer: Offer, shared: &Offer) -> Option<Self> {
        let is_different = |kind: &Kind| match kind {
            Kind::Tools => !is_same(&mut offer.tools, &shared.tools),
            Kind::Prompts => !is_same(&mut offer.prompts, &shared.prompts),
            Kind::Resources => !is_same(&mut offer.resources, &shared.resources),
            Kind::Templates => !is_same(&mut offer.templates, &shared.templates),
        };
        let differing = Kind::ALL.into_iter().filter(is_different).fold(Kinds::NONE, Kinds::with);
        offer.take_over(others(differing), &Offer::default());
        let shelf = (!differing.is_empty()).then(|| Arc::new(Shelf::new(offer)))?;
        Some(Self { shelf, differing, changed: PerKind::default() })
    }

    /// What it becomes when everybody is shown something else, until somebody has looked again: the same difference.
    pub(crate) fn rebased(&self, before: &Offer, now: &Offer) -> Option<Self> {
        let own = &self.shelf.offer;
        let mut offer = own.clone();
        offer.take_over(others(self.differing), now);
        for kind in self.differing.iter() {
            match kind {
                Kind::Tools => offer.tools = rebased(&own.tools, &before.tools, &now.tools),
                Kind::Prompts => offer.prompts = rebased(&own.prompts, &before.prompts, &now.prompts),
                Kind::Resources => {
                    offer.resources = rebased(&own.resources, &before.resources, &now.resources);
                }
                Kind::Templates => {
                    offer.templates = rebased(&own.templates, &before.templates, &now.templates);
                }
            }
        }
        Self::new(offer, now).map(|new| Self { changed: self.changed, ..new })
    }

    /// The same clients are shown this from now on.
    pub(crate) fn followed_by(&self, next: Self) -> Self {
        Self { changed: self.changed, ..next }
    }

    pub(crate) fn changed(&self, kind: Kind) -> u64 {
        self.changed[kind.index()]
    }
}

fn others(kinds: Kinds) -> Kinds {
    kinds.iter().fold(Kinds::ALL, Kinds::without)
}

/// Something listed under a key.
trait Keyed: PartialEq {
    fn key(&self) -> &str;
}

impl Keyed for Tool {
    fn key(&self) -> &str {
        &self.name
    }
}

impl Keyed for Item {
    fn key(&self) -> &str {
        &self.key
    }
}

fn by_key<T: Keyed>(list: &[Arc<T>]) -> HashMap<&str, &Arc<T>> {
    list.iter().map(|item| (item.key(), item)).collect()
}

/// Whether two lists hold the same. What is in both is kept once: a server may have thousands of tools and show one more.
fn is_same<T: Keyed>(own: &mut [Arc<T>], shared: &[Arc<T>]) -> bool {
    let known = by_key(shared);
    let mut is_same = own.len() == shared.len();
    for item in own {
        match known.get(item.key()) {
            Some(same) if **same == *item => *item = Arc::clone(same),
            Some(_) | None => is_same = false,
        }
    }
    is_same
}

/// A list with the difference that another one had: without what was hidden, with what was added or put in other words.
fn rebased<T: Keyed>(own: &[Arc<T>], before: &[Arc<T>], now: &[Arc<T>]) -> Vec<Arc<T>> {
    let (mine, before) = (by_key(own), by_key(before));
    let of_all = now.iter().filter_map(|item| match (mine.get(item.key()), before.get(item.key())) {
        (None, Some(_)) => None,
        (Some(worded), Some(old)) if *old == item => Some(Arc::clone(worded)),
        (Some(_), Some(_)) | (_, None) => Some(item.clone()),
    });
    let keys: HashSet<&str> = now.iter().map(|item| item.key()).collect();
    let added = own.iter().filter(|item| !before.contains_key(item.key()) && !keys.contains(item.key()));
    of_all.chain(added.cloned()).collect()
}

/// Which profiles see other lists after a change of the servers than before it. What has changed is marked with its count.
pub(crate) fn stirred(
    before: &BTreeMap<ServerName, Entry>,
    after: &mut BTreeMap<ServerName, Entry>,
    count: u64,
) -> BTreeMap<Abilities, Kinds> {
    let mut stirred: BTreeMap<Abilities, Kinds> = BTreeMap::new();
    let pairs: BTreeSet<(ServerName, Abilities)> = pairs(before).chain(pairs(after)).collect();
    for (server, abilities) in pairs {
        let (old, new) = (before.get(&server), after.get_mut(&server));
        let differs = |kind: &Kind| !is_shown_the_same(old, new.as_deref(), *kind, &abilities);
        let kinds = Kind::ALL.into_iter().filter(differs).fold(Kinds::NONE, Kinds::with);
        let kinds = with_resources(kinds);
        if kinds.is_empty() {
            continue;
        }
        if let Some(aspect) = new.and_then(|entry| entry.aspects.get_mut(&abilities)) {
            kinds.iter().for_each(|kind| aspect.changed[kind.index()] = count);
        }
        let all = stirred.entry(abilities).or_default();
        *all = all.and(kinds);
    }
    stirred
}

fn pairs(servers: &BTreeMap<ServerName, Entry>) -> impl Iterator<Item = (ServerName, Abilities)> {
    servers
        .iter()
        .flat_map(|(server, entry)| entry.aspects.keys().map(|abilities| (server.clone(), abilities.clone())))
}

/// Clients are told of templates by the same message as of resources.
pub(crate) fn with_resources(kinds: Kinds) -> Kinds {
    if kinds.has(Kind::Templates) { kinds.with(Kind::Resources) } else { kinds }
}

fn is_shown_the_same(old: Option<&Entry>, new: Option<&Entry>, kind: Kind, abilities: &Abilities) -> bool {
    let shelf = |entry: Option<&Entry>| entry.and_then(|entry| entry.shelf_for(kind, abilities).cloned());
    match (shelf(old), shelf(new)) {
        (Some(old), Some(new)) if Arc::ptr_eq(&old, &new) => true,
        (Some(old), Some(new)) => {
            let (old, new) = (&old.offer, &new.offer);
            old.of(kind).eq(new.of(kind)) && old.partial.has(kind) == new.partial.has(kind)
        }
        (Some(only), None) | (None, Some(only)) => only.offer.len(kind) == 0,
        (None, None) => true,
    }
}
