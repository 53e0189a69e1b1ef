//! The best tools together: a word that enough tools before have had counts less for the next.
//!
//! Ten tools that all have the one rare word of a query say no more than three of them, and leave no place for what
//! fits the rest of it. Meaning is not spread: near texts are near for many reasons, but a word is one reason.

use super::Candidate;
use super::words::Said;
use crate::fusion::{self, Pair};
use crate::index::Index;

/// From so many of the best at least the places are filled.
pub(super) const POOL: usize = 40;
/// So many places are filled one after the other; the rest stand by what is left of their words then.
const PLACES: usize = 20;

/// What is known of a candidate on the way.
struct Standing {
    /// What each term weighs in it.
    weights: Vec<f32>,
    /// After how many places its score was last made.
    after: usize,
}

/// Puts the best candidates, which stand by their fused scores, into the order in which they are told. Scores only
/// fall on the way, so that each is at most the one before.
pub(super) fn spread(index: &Index, said: &Said<'_>, best: &mut [Candidate<'_>], limit: usize) {
    if said.terms.is_empty() {
        return;
    }
    let weights = said.weights(index, best).into_iter();
    let mut standings: Vec<Standing> = weights.map(|weights| Standing { weights, after: 0 }).collect();
    let mut told = vec![0.0; said.terms.len()];
    let mut says: Vec<f32> = said.terms.iter().map(|term| term.says).collect();
    let places = limit.min(PLACES).min(best.len());
    for place in 0..places {
        let mut next = place + first_of_highest(&best[place..]);
        // As scores only fall, the highest is the highest of all once it is up to date.
        while standings[next].after < place {
            lower(said, &mut best[next], &standings[next].weights, &says);
            standings[next].after = place;
            next = place + first_of_highest(&best[place..]);
        }
        best[place..=next].rotate_right(1);
        standings[place..=next].rotate_right(1);
        tell(said, &best[place], &standings[place].weights, &mut told);
        for ((says, term), told) in says.iter_mut().zip(&said.terms).zip(&told) {
            *says = term.says * fusion::left(*told);
        }
    }
    for (candidate, standing) in best.iter_mut().zip(&standings).skip(places) {
        lower(said, candidate, &standing.weights, &says);
    }
    best[places..].sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// Takes from a candidate's score what its words no longer count.
fn lower(said: &Said<'_>, candidate: &mut Candidate<'_>, weights: &[f32], says: &[f32]) {
    let lost = candidate.words - fusion::words_of(bm25(said, weights, says));
    candidate.score = candidate.score.min(candidate.fused - lost);
}

fn first_of_highest(candidates: &[Candidate<'_>]) -> usize {
    let scores = candidates.iter().map(|candidate| candidate.score).enumerate();
    scores.reduce(|best, next| if next.1 > best.1 { next } else { best }).map_or(0, |(at, _)| at)
}

/// Adds what a tool has of each term. Its server's name does not count: all tools of the server have that, and they
/// still do different things.
fn tell(said: &Said<'_>, tool: &Candidate<'_>, weights: &[f32], told: &mut [f32]) {
    let of_server = &tool.slot.shard.lexicon.server_terms;
    for ((term, weight), told) in said.terms.iter().zip(weights).zip(told) {
        if *weight > 0.0 && !of_server.contains(&term.word) {
            *told += weight;
        }
    }
}

/// BM25 of a tool by what each term still says.
fn bm25(said: &Said<'_>, weights: &[f32], says: &[f32]) -> Pair {
    let sum = |view: &Vec<usize>| view.iter().map(|at| says[*at] * weights[*at]).sum();
    let mut sums = said.views.iter().map(sum);
    let whole = sums.next().unwrap_or_default();
    Pair { whole, clause: sums.reduce(f32::max).unwrap_or(whole) }
}
