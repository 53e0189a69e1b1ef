//! What each token takes from the others of its text, head by head.
#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a function for one kind of machine is not compiled for it"
)]

use crate::layout::{HEADS, HIDDEN, PLACES};
use crate::math::{self, LANES};

/// The length of a head's part of a vector.
const HEAD: usize = HIDDEN / HEADS;

/// How many tokens ask at once, so that what is loaded for one serves all.
const ASKING: usize = 4;

/// A token's query, key and value beside each other.
pub(crate) const TRIPLE: usize = 3 * HIDDEN;

/// Tokens beside each other are worked on at once.
const GROUPS: usize = PLACES / LANES;

/// Room for one head of one text.
pub(crate) struct Desk {
    /// The keys, transposed: in each group of tokens, for each number of a head, that of every token.
    keys: Vec<[[f32; LANES]; HEAD]>,
    /// What each asking token takes from every token.
    shares: Box<[[[f32; LANES]; GROUPS]; ASKING]>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { keys: vec![[[0.0; LANES]; HEAD]; GROUPS], shares: Box::new([[[0.0; LANES]; GROUPS]; ASKING]) }
    }
}

/// Works through one text: `triples` has a row of [`TRIPLE`] for each of its tokens, `out` one of [`HIDDEN`].
#[inline(always)]
pub(crate) fn attend(desk: &mut Desk, triples: &[f32], out: &mut [f32]) {
    let (triples, _) = triples.as_chunks::<TRIPLE>();
    let (out, _) = out.as_chunks_mut::<HIDDEN>();
    for head in 0..HEADS {
        let start = head * HEAD;
        for (token, triple) in triples.iter().enumerate() {
            let key = &triple[HIDDEN + start..][..HEAD];
            for (keys, &value) in desk.keys[token / LANES].iter_mut().zip(key) {
                keys[token % LANES] = value;
            }
        }
        for first in (0..triples.len()).step_by(ASKING) {
            // The last ones of a text ask for a token twice rather than fewer at once.
            let queries = std::array::from_fn(|i| {
                let asking = &triples[(first + i).min(triples.len() - 1)];
                &asking.as_chunks::<HEAD>().0[head]
            });
            weigh(desk, queries, triples.len());
            let taken = gather(desk, triples, 2 * HIDDEN + start);
            for (out, taken) in out[first..].iter_mut().zip(&taken) {
                out[start..start + HEAD].copy_from_slice(taken);
            }
        }
    }
}

/// The shares of the asking tokens in every token: the softmax of how well query and key agree.
#[inline(always)]
fn weigh(desk: &mut Desk, queries: [&[f32; HEAD]; ASKING], count: usize) {
    for (group, keys) in desk.keys.iter().take(count.div_ceil(LANES)).enumerate() {
        for (shares, query) in desk.shares.iter_mut().zip(queries) {
            shares[group] = agreement(query, keys);
        }
    }
    for shares in desk.shares.iter_mut() {
        let shares = &mut shares.as_flattened_mut()[..count];
        let largest = math::largest(shares, f32::MIN, |share| share);
        for share in shares.iter_mut() {
            *share = math::exp(*share - largest);
        }
        let scale = 1.0 / math::sum_of(shares, |share| share);
        for share in shares.iter_mut() {
            *share *= scale;
        }
    }
}

/// How well a query agrees with each key of a group.
#[inline(always)]
fn agreement(query: &[f32; HEAD], keys: &[[f32; LANES]; HEAD]) -> [f32; LANES] {
    /// One over the root of a head's length, which keeps sums of more terms from growing.
    const SCALE: f32 = 0.176_776_7;
    let mut sums = [0.0; LANES];
    for (query, keys) in query.iter().zip(keys) {
        for (sum, key) in sums.iter_mut().zip(keys) {
            *sum += query * key;
        }
    }
    sums.map(|sum| sum * SCALE)
}

/// The values of all tokens, mixed by the shares.
#[inline(always)]
fn gather(desk: &Desk, triples: &[[f32; TRIPLE]], start: usize) -> [[f32; HEAD]; ASKING] {
    let mut taken = [[0.0; HEAD]; ASKING];
    for half in 0..HEAD / LANES {
        let mut sums = [[0.0; LANES]; ASKING];
        for (token, triple) in triples.iter().enumerate() {
            let values = &triple[start..].as_chunks::<LANES>().0[half];
            for (sums, shares) in sums.iter_mut().zip(desk.shares.iter()) {
                let share = shares.as_flattened()[token];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += share * value;
                }
            }
        }
        for (taken, sums) in taken.iter_mut().zip(sums) {
            taken.as_chunks_mut::<LANES>().0[half] = sums;
        }
    }
    taken
}
