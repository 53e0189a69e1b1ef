//! All servers' tools together: an immutable index that shares with the next one whatever has not changed.

use crate::shard::{Shard, Vectors, count};
use crate::typos::{Meant, Vocabulary};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// Which tools have a term: stretches of the shards that have it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posted {
    pub(crate) docs: u32,
    pub(crate) runs: Vec<Run>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) slot: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A shard, and the number of its first tool among all.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) shard: Shard,
    pub(crate) base: usize,
}

/// The tools of all servers. Another one with a server more or less takes time for that server's terms, and one copy
/// of the list of terms; the tools of the others are shared.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// A server keeps its slot while it is there; free slots are taken again.
    slots: Vec<Option<Slot>>,
    by_server: BTreeMap<Arc<str>, usize>,
    terms: HashMap<Arc<str>, Arc<Posted>>,
    docs: usize,
    /// Made when a query first has a word that no tool has.
    vocabulary: OnceLock<Arc<Vocabulary>>,
}

impl Index {
    /// Of two shards of one server the later one counts.
    pub fn build(shards: impl IntoIterator<Item = Shard>) -> Self {
        let mut index = Self::default();
        for shard in shards {
            index.put(shard);
        }
        index.number();
        index
    }

    /// The same with this server, which takes the place of the one of its name.
    #[must_use]
    pub fn with_server(mut self, shard: Shard) -> Self {
        self.put(shard);
        self.number();
        self
    }

    #[must_use]
    pub fn without_server(mut self, server: &str) -> Self {
        self.take(server);
        self.number();
        self
    }

    /// The same with these vectors for a server's tools; a server that is not here changes nothing.
    #[must_use]
    pub fn with_vectors(mut self, server: &str, vectors: &Vectors<'_>) -> Self {
        let slot = self.by_server.get(server).and_then(|at| self.slots.get_mut(*at));
        if let Some(Some(slot)) = slot {
            slot.shard = slot.shard.with_vectors(vectors);
        }
        self
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.docs
    }

    pub fn is_empty(&self) -> bool {
        self.docs == 0
    }

    pub fn shard(&self, server: &str) -> Option<&Shard> {
        let slot = self.slots.get(*self.by_server.get(server)?)?.as_ref()?;
        Some(&slot.shard)
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let shards: usize = self.slots().map(|(_, slot)| slot.shard.bytes()).sum();
        let term = |(term, posted): (&Arc<str>, &Arc<Posted>)| {
            term.len()
                + posted.runs.capacity() * size_of::<Run>()
                + size_of::<(Arc<str>, Arc<Posted>, Posted)>()
        };
        shards + self.terms.iter().map(term).sum::<usize>()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.as_ref()?)))
    }

    pub(crate) fn slot(&self, at: u32) -> Option<&Slot> {
        self.slots.get(at as usize)?.as_ref()
    }

    /// Where a server is among the slots.
    pub(crate) fn slot_of(&self, server: &str) -> Option<usize> {
        self.by_server.get(server).copied()
    }

    pub(crate) fn posted(&self, term: &str) -> Option<&Posted> {
        self.terms.get(term).map(|posted| &**posted)
    }

    /// What was probably meant by a word that no tool has.
    pub(crate) fn meant(&self, term: &str) -> Vec<Meant> {
        self.vocabulary.get_or_init(|| Arc::new(Vocabulary::new(self.terms.keys()))).meant(term)
    }

    fn put(&mut self, shard: Shard) {
        self.take(&Arc::clone(&shard.server));
        let at = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        for (term, stretch) in &shard.lexicon.stretches {
            let posted = Arc::make_mut(self.terms.entry(Arc::clone(term)).or_default());
            posted.docs += stretch.end - stretch.start;
            posted.runs.push(Run { slot: count(at), start: stretch.start, end: stretch.end });
        }
        self.by_server.insert(Arc::clone(&shard.server), at);
        let slot = Some(Slot { shard, base: 0 });
        match self.slots.get_mut(at) {
            Some(free) => *free = slot,
            None => self.slots.push(slot),
        }
        self.vocabulary = OnceLock::new();
    }

    fn take(&mut self, server: &str) {
        let Some(at) = self.by_server.remove(server) else { return };
        let Some(slot) = self.slots.get_mut(at).and_then(Option::take) else { return };
        for (term, stretch) in &slot.shard.lexicon.stretches {
            let Some(posted) = self.terms.get_mut(term) else { continue };
            let posted = Arc::make_mut(posted);
            posted.docs -= stretch.end - stretch.start;
            posted.runs.retain(|run| run.slot != count(at));
            if posted.runs.is_empty() {
                self.terms.remove(term);
            }
        }
        self.vocabulary = OnceLock::new();
    }

    /// Numbers the tools of all slots one after the other.
    fn number(&mut self) {
        self.docs = 0;
        for slot in self.slots.iter_mut().flatten() {
            slot.base = self.docs;
            self.docs += slot.shard.len();
        }
    }
}
