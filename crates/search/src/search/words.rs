//! BM25 of every tool, for the whole query and for each of its clauses.

use super::Query;
use crate::index::{Index, Posted};
use crate::words::terms;
use std::collections::{BTreeSet, HashMap};

/// What a word counts that stands in for a mistyped one, for each slip.
const PER_SLIP: f32 = 0.6;

/// The terms that a word of the query stands for, each with what it counts.
type Stands<'i> = Vec<(&'i Posted, f32)>;

/// For each view, the whole query first, the sum of each tool by its number.
pub(super) fn bm25(index: &Index, query: &Query<'_>) -> Vec<Vec<f32>> {
    let mut known: HashMap<String, Stands<'_>> = HashMap::new();
    let views = std::iter::once(query.text).chain(query.clauses.iter().map(String::as_str));
    views
        .map(|text| {
            let mut sums = vec![0.0; index.len()];
            // In the order of the terms, so that the same words make the same sum however they are put.
            for term in terms(text).into_iter().collect::<BTreeSet<_>>() {
                let stands = known.entry(term).or_insert_with_key(|term| stands_for(index, term));
                for (posted, counts) in stands {
                    add(index, posted, *counts, &mut sums);
                }
            }
            sums
        })
        .collect()
}

fn stands_for<'i>(index: &'i Index, term: &str) -> Stands<'i> {
    if let Some(posted) = index.posted(term) {
        return vec![(posted, 1.0)];
    }
    let meant = index.meant(term).into_iter();
    let per_slip = |slips: usize| (0..slips).fold(1.0, |counts, _| counts * PER_SLIP);
    meant.filter_map(|meant| Some((index.posted(&meant.word)?, per_slip(meant.slips)))).collect()
}

fn add(index: &Index, posted: &Posted, counts: f32, sums: &mut [f32]) {
    let rarity = counts * rarity(index.len(), posted.docs);
    for run in &posted.runs {
        let Some(slot) = index.slot(run.slot) else { continue };
        for posting in &slot.shard.lexicon.postings[run.start as usize..run.end as usize] {
            sums[slot.base + posting.doc as usize] += rarity * posting.weight;
        }
    }
}

/// How much a term says, of which so many of all tools have it: near 1 for the rarest, however many tools there are.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^24 tools")]
fn rarity(all: usize, having: u32) -> f32 {
    let (all, having) = (all as f32, having as f32);
    ((all - having + 0.5) / (having + 0.5)).ln_1p() / all.ln_1p()
}
