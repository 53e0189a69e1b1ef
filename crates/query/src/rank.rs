//! One ranking of what all servers said: scored, folded, and the same for the same answers however they came.

use crate::fold::fold;
use crate::forms::Question;
use crate::item::Item;
use crate::score::{Counts, Reader, Standing, closeness, score, weights};
use portolan_model::Moment;
use std::collections::{BTreeMap, BTreeSet};

/// No server has more than this part of the results while others have something to say.
const LARGEST_PART: usize = 2;

/// What one server said.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub server: String,
    /// In its own order.
    pub items: Vec<Item>,
    /// How much the tool that was asked is about the query, from 0 to 1.
    pub fit: f64,
    /// What the server counts; 1 is usual.
    pub weight: f64,
    /// When it answered.
    pub at: Moment,
}

/// How close items are to the query in meaning, by (answer, position).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vectors(BTreeMap<(usize, usize), f64>);

impl Vectors {
    /// From the vector of the query and those of the best of `ranked`, in their order.
    pub fn of(query: &[f32], ranked: &Ranked, vectors: &[Vec<f32>]) -> Self {
        let close = |vector: &Vec<f32>| closeness(query, vector);
        let known = ranked
            .results
            .iter()
            .zip(vectors)
            .filter_map(|(result, vector)| Some((result.key, close(vector)?)));
        Self(known.collect())
    }

    /// What was not embedded had less in common with the query by words than all that was.
    fn meaning(&self, key: (usize, usize)) -> Option<f64> {
        let least = self.0.values().copied().min_by(f64::total_cmp)?;
        Some(self.0.get(&key).copied().unwrap_or(least))
    }
}

/// An item with its place in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedItem<'a> {
    pub item: &'a Item,
    pub server: &'a str,
    pub at: Moment,
    pub score: f64,
    /// The other servers that said the same, in the order of their names.
    pub also_from: Vec<&'a str>,
    key: (usize, usize),
}

/// Everything that was said, the best first, each thing once.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked<'a> {
    pub results: Vec<RankedItem<'a>>,
    /// How many items there were before those that are alike were folded.
    pub raw: usize,
}

impl<'a> Ranked<'a> {
    /// The best `most` results. One server has no more than half of them, so that a flood from one leaves room for the
    /// others; places that the others do not need are its own again.
    pub fn best(&self, most: usize) -> Vec<&RankedItem<'a>> {
        let quota = (most / LARGEST_PART).max(1);
        let mut had: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut within, mut beyond): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        for (at, result) in self.results.iter().enumerate() {
            let had = had.entry(result.server).or_default();
            *had += 1;
            if *had <= quota { within.push(at) } else { beyond.push(at) }
        }
        let mut chosen: Vec<usize> = within.into_iter().chain(beyond).take(most).collect();
        chosen.sort_unstable();
        chosen.into_iter().map(|at| &self.results[at]).collect()
    }
}

/// Ranks what all servers said to a query: by score, then by the server's name, then in the server's own order.
pub fn rank<'a>(query: &str, answers: &'a [Answer], now: Moment, vectors: Option<&Vectors>) -> Ranked<'a> {
    let question = Question::read(query);
    let reader = Reader::new(&question);
    let counts: Vec<Vec<Counts>> =
        answers.iter().map(|answer| answer.items.iter().map(|item| reader.counts(item)).collect()).collect();
    let weights = weights(&counts, question.terms().len());
    let mut all: Vec<RankedItem<'a>> = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        for (position, item) in answer.items.iter().enumerate() {
            let key = (at, position);
            let standing = Standing {
                position,
                date: item.date,
                fit: answer.fit,
                meaning: vectors.and_then(|vectors| vectors.meaning(key)),
                weight: answer.weight,
            };
            let score = score(&counts[at][position], &weights, standing, now);
            let (server, at) = (answer.server.as_str(), answer.at);
            all.push(RankedItem { item, server, at, score, also_from: Vec::new(), key });
        }
    }
    all.sort_by(|one, other| {
        let names = || one.server.cmp(other.server);
        other.score.total_cmp(&one.score).then_with(names).then(one.key.1.cmp(&other.key.1))
    });
    folded(all)
}

fn folded(all: Vec<RankedItem<'_>>) -> Ranked<'_> {
    let raw = all.len();
    let texts: Vec<&str> = all.iter().map(|one| one.item.text.as_str()).collect();
    let kept = fold(&texts);
    let mut others: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for (at, to) in kept.iter().enumerate() {
        if all[at].server != all[*to].server {
            others.entry(*to).or_default().insert(all[at].server);
        }
    }
    let mut results = Vec::new();
    for (at, mut one) in all.into_iter().enumerate() {
        if kept[at] == at {
            one.also_from = others.remove(&at).into_iter().flatten().collect();
            results.push(one);
        }
    }
    Ranked { results, raw }
}

#[cfg(test)]
mod tests;
