//! What a query says in the terms of the index: BM25 of every tool by them, and which tools have which.

use super::{Candidate, Query};
use crate::index::{Index, Posted, Run};
use crate::words::terms;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// What a word counts that stands in for a mistyped one, for each slip.
const PER_SLIP: f32 = 0.6;

/// A term of the index that a word of the query stands for.
pub(super) struct Term<'i> {
    pub(super) word: String,
    /// How much it says: its rarity, and less for each slip.
    pub(super) says: f32,
    posted: &'i Posted,
}

/// A query in the terms of the index.
#[derive(Default)]
pub(super) struct Said<'i> {
    pub(super) terms: Vec<Term<'i>>,
    /// For each view, the whole query first, which of the terms it has, in the order in which they are added up.
    pub(super) views: Vec<Vec<usize>>,
}

impl<'i> Said<'i> {
    pub(super) fn of(index: &'i Index, query: &Query<'_>) -> Self {
        let mut said = Self::default();
        let mut known: HashMap<String, Range<usize>> = HashMap::new();
        for text in std::iter::once(query.text).chain(query.clauses.iter().map(String::as_str)) {
            // In the order of the terms, so that the same words make the same sum however they are put.
            let view = terms(text).into_iter().collect::<BTreeSet<_>>().into_iter().flat_map(|term| {
                known.entry(term).or_insert_with_key(|term| said.learn(index, term)).clone()
            });
            let view = view.collect();
            said.views.push(view);
        }
        said
    }

    /// Adds what a word stands for, and tells where that is among the terms.
    fn learn(&mut self, index: &'i Index, word: &str) -> Range<usize> {
        let start = self.terms.len();
        if let Some(posted) = index.posted(word) {
            self.terms.push(Term::new(index, word, posted, 0));
        } else {
            let meant = index.meant(word);
            let terms = meant.iter().filter_map(|meant| {
                Some(Term::new(index, &meant.word, index.posted(&meant.word)?, meant.slips))
            });
            self.terms.extend(terms);
        }
        start..self.terms.len()
    }

    /// For each view the sum of each tool by its number.
    pub(super) fn bm25(&self, index: &Index) -> Vec<Vec<f32>> {
        let sums = |view: &Vec<usize>| {
            let mut sums = vec![0.0; index.len()];
            for term in view.iter().filter_map(|at| self.terms.get(*at)) {
                term.add(index, &mut sums);
            }
            sums
        };
        self.views.iter().map(sums).collect()
    }

    /// For each of these tools what each term weighs in it, 0 where it is not.
    pub(super) fn weights(&self, index: &Index, tools: &[Candidate<'_>]) -> Vec<Vec<f32>> {
        let mut by_slot: Vec<Vec<usize>> = Vec::new();
        for (which, tool) in tools.iter().enumerate() {
            let Some(slot) = index.slot_of(tool.slot.shard.server()) else { continue };
            by_slot.resize(by_slot.len().max(slot + 1), Vec::new());
            by_slot[slot].push(which);
        }
        let mut weights = vec![vec![0.0; self.terms.len()]; tools.len()];
        for (at, term) in self.terms.iter().enumerate() {
            for run in &term.posted.runs {
                for &which in by_slot.get(run.slot as usize).map_or(&[][..], Vec::as_slice) {
                    weights[which][at] = weight(&tools[which], run);
                }
            }
        }
        weights
    }
}

impl<'i> Term<'i> {
    fn new(index: &Index, word: &str, posted: &'i Posted, slips: usize) -> Self {
        let counts = (0..slips).fold(1.0, |counts, _| counts * PER_SLIP);
        Self { word: word.to_owned(), says: counts * rarity(index.len(), posted.docs), posted }
    }

    fn add(&self, index: &Index, sums: &mut [f32]) {
        for run in &self.posted.runs {
            let Some(slot) = index.slot(run.slot) else { continue };
            for posting in &slot.shard.lexicon.postings[run.start as usize..run.end as usize] {
                sums[slot.base + posting.doc as usize] += self.says * posting.weight;
            }
        }
    }
}

/// What the term of this run weighs in a tool of its shard.
fn weight(tool: &Candidate<'_>, run: &Run) -> f32 {
    let postings = &tool.slot.shard.lexicon.postings[run.start as usize..run.end as usize];
    let doc = tool.number() - tool.slot.base;
    let found = postings.binary_search_by(|posting| (posting.doc as usize).cmp(&doc));
    found.ok().and_then(|at| postings.get(at)).map_or(0.0, |posting| posting.weight)
}

/// How much a term says, of which so many of all tools have it: near 1 for the rarest, however many tools there are.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^24 tools")]
fn rarity(all: usize, having: u32) -> f32 {
    let (all, having) = (all as f32, having as f32);
    ((all - having + 0.5) / (having + 0.5)).ln_1p() / all.ln_1p()
}
