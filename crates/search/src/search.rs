//! One query: every tool is looked at, and the best are told.

mod spread;
mod words;

use crate::doc::DocKey;
use crate::fusion::{self, Evidence, Expected, Pair};
use crate::index::{Index, Slot};
use crate::meaning::Probe;
use crate::shard::count;
use crate::words::squeezed;
use std::cmp::Ordering;
use words::Said;

/// The vectors of a query: of the whole text, and of each of its clauses in their order.
#[derive(Debug, Clone, Copy)]
pub struct QueryVectors<'q> {
    pub whole: &'q [f32],
    pub clauses: &'q [Vec<f32>],
}

/// What is looked for, and among which tools.
#[derive(Clone, Copy)]
pub struct Query<'q> {
    pub text: &'q str,
    /// What [`crate::clauses`] made of the text.
    pub clauses: &'q [String],
    /// Without them, words alone decide.
    pub vectors: Option<QueryVectors<'q>>,
    pub limit: usize,
    /// Which tools may be found; all where there is nothing.
    pub only: Option<&'q dyn Fn(DocKey) -> bool>,
}

/// A tool that was found. All numbers are from 0 to 1 and mean the same in every query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub key: DocKey,
    /// What it adds to those before it: a word that enough of them have counts less.
    pub score: f32,
    pub lexical: f32,
    /// Nothing where the tool or the query has no vector.
    pub meaning: Option<f32>,
}

/// What was found about every tool, by their numbers. The first view is the whole query, the others are its clauses.
struct Findings {
    /// BM25, for each view.
    bm25: Vec<Vec<f32>>,
    /// Cosines with the tools, for each view that has a vector.
    tools: Vec<Vec<f32>>,
    /// Cosines with the servers, likewise, by their places; a server without a vector is taken to be about its tool.
    servers: Vec<Vec<f32>>,
    has_vector: Vec<bool>,
    /// The words' part of each tool's score.
    words: Vec<f32>,
    /// What each tool and each server mean to the query, all views together.
    blended_tools: Vec<f32>,
    blended_servers: Vec<f32>,
}

/// A tool that may be told. Thousands of them are gone through for each clause, so it is kept small.
struct Candidate<'i> {
    slot: &'i Slot,
    /// Its server's place among all servers.
    place: u32,
    /// Its number among all tools.
    number: u32,
    words: f32,
    meaning: f32,
    fused: f32,
    /// What is left of it beside the tools that are told before.
    score: f32,
}

impl Candidate<'_> {
    fn number(&self) -> usize {
        self.number as usize
    }

    fn entry(&self) -> &crate::shard::Entry {
        &self.slot.shard.lexicon.entries[self.number() - self.slot.base]
    }

    /// The better one first; equally good ones by their server and their name.
    fn order(&self, other: &Self) -> Ordering {
        other
            .fused
            .total_cmp(&self.fused)
            .then_with(|| self.slot.shard.server.cmp(&other.slot.shard.server))
            .then_with(|| self.entry().name.cmp(&other.entry().name))
            .then_with(|| self.entry().key.cmp(&other.entry().key))
    }
}

impl Index {
    /// The best `limit` tools, the best first. The same tools and the same query give the same hits, in whatever
    /// order the servers came.
    pub fn search(&self, query: &Query<'_>) -> Vec<Hit> {
        if query.limit == 0 || self.is_empty() {
            return Vec::new();
        }
        let said = Said::of(self, query);
        let findings = Findings::of(self, query, said.bm25(self));
        let mut candidates = self.candidates(query, &findings);
        let reserved = reserved(&candidates, &findings, query.clauses.len());
        let mut best = take_best(&mut candidates, &reserved, query.limit.max(spread::POOL));
        spread::spread(self, &said, &mut best, query.limit);
        let kept = keep_reserved(best, &reserved, query.limit);
        kept.into_iter().map(|candidate| hit(&candidate, &findings)).collect()
    }

    fn candidates(&self, query: &Query<'_>, findings: &Findings) -> Vec<Candidate<'_>> {
        let expected = findings.expected();
        let asked = squeezed(query.text);
        let mut candidates = Vec::new();
        for (place, (_, slot)) in self.slots().enumerate() {
            let own = asked.strip_prefix(&*slot.shard.lexicon.squeezed_server);
            for (at, entry) in slot.shard.lexicon.entries.iter().enumerate() {
                let number = slot.base + at;
                let words = findings.words[number];
                let has_nothing = words <= 0.0 && !findings.has_vector[number];
                if has_nothing || query.only.is_some_and(|only| !only(entry.key)) {
                    continue;
                }
                let tool = findings.tool(number, words, expected);
                let server = server(findings.blended_servers.get(place), slot, tool);
                let fused = Evidence { words, tool, server }.fused();
                let is_named = *entry.squeezed == *asked || own == Some(&*entry.squeezed);
                let fused = if is_named { fusion::exactly_named(fused) } else { fused };
                let (place, number) = (count(place), count(number));
                candidates.push(Candidate { slot, place, number, words, meaning: tool, fused, score: fused });
            }
        }
        candidates
    }
}

impl Findings {
    fn of(index: &Index, query: &Query<'_>, bm25: Vec<Vec<f32>>) -> Self {
        let words = pairs(&bm25).map(fusion::words_of).collect();
        let mut findings = Self {
            bm25,
            words,
            has_vector: vec![false; index.len()],
            tools: Vec::new(),
            servers: Vec::new(),
            blended_tools: Vec::new(),
            blended_servers: Vec::new(),
        };
        if let Some(vectors) = query.vectors {
            findings.look_at_meaning(index, &probes(query, &vectors), vectors.whole.len());
        }
        findings
    }

    fn look_at_meaning(&mut self, index: &Index, probes: &[Probe], dimension: usize) {
        self.tools = vec![vec![0.0; index.len()]; probes.len()];
        self.servers = vec![vec![f32::NAN; index.slots().count()]; probes.len()];
        for (place, (_, slot)) in index.slots().enumerate() {
            slot.shard.about.scan(probes, &mut |_, view, cosine| self.servers[view][place] = cosine);
            slot.shard.tools.scan(probes, &mut |at, view, cosine| self.tools[view][slot.base + at] = cosine);
            let of_slot = &mut self.has_vector[slot.base..slot.base + slot.shard.len()];
            for (at, has) in of_slot.iter_mut().enumerate() {
                *has = slot.shard.tools.has(at, dimension);
            }
        }
        self.blended_tools = pairs(&self.tools).map(Pair::blended).collect();
        self.blended_servers = pairs(&self.servers).map(Pair::blended).collect();
    }

    /// What a tool means to the query; what it is expected to mean where nothing is known.
    fn tool(&self, number: usize, words: f32, expected: Expected) -> f32 {
        if self.has_vector[number] { self.blended_tools[number] } else { expected.meaning(words) }
    }

    /// What meaning goes with how many words in common, by the tools of which both are known.
    fn expected(&self) -> Expected {
        if self.tools.is_empty() || self.has_vector.iter().all(|has| *has) {
            return Expected::default();
        }
        let known = (0..self.has_vector.len()).filter(|number| self.has_vector[*number]);
        let mut known: Vec<(f32, f32)> = known
            .map(|number| (self.words[number], self.blended_tools[number]))
            .filter(|(words, _)| *words > 0.0)
            .collect();
        known.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        known.truncate(Expected::SAMPLE);
        Expected::from(&known)
    }
}

/// What a tool's server means to the query, where the cosine with it is known.
fn server(cosine: Option<&f32>, slot: &Slot, tool: f32) -> f32 {
    match cosine.copied().filter(|cosine| !cosine.is_nan()) {
        None => tool,
        Some(cosine) if slot.shard.lexicon.is_silent => fusion::by_name(cosine, tool),
        Some(cosine) => cosine,
    }
}

/// A clause without a vector would count as one that nothing fits: then the whole query stands for all of them.
fn probes(query: &Query<'_>, vectors: &QueryVectors<'_>) -> Vec<Probe> {
    let fits = vectors.clauses.len() == query.clauses.len()
        && vectors.clauses.iter().all(|clause| clause.len() == vectors.whole.len());
    let clauses = if fits { vectors.clauses } else { &[] };
    std::iter::once(vectors.whole).chain(clauses.iter().map(Vec::as_slice)).map(Probe::new).collect()
}

/// For each tool what the first view found, and the best of the others.
fn pairs(views: &[Vec<f32>]) -> impl Iterator<Item = Pair> {
    let (whole, clauses) = views.split_first().map_or((&[][..], &[][..]), |(whole, rest)| (whole, rest));
    let mut best = clauses.first().map_or(whole, Vec::as_slice).to_vec();
    for clause in clauses.iter().skip(1) {
        for (best, found) in best.iter_mut().zip(clause) {
            *best = best.max(*found);
        }
    }
    whole.iter().zip(best).map(|(&whole, clause)| Pair { whole, clause })
}

/// The best tool for each clause, by its number: it keeps its place, so that no step goes without a tool.
fn reserved(candidates: &[Candidate<'_>], findings: &Findings, clauses: usize) -> Vec<u32> {
    let mut numbers = Vec::new();
    for view in 1..=clauses {
        let [bm25, tools, servers] = [&findings.bm25, &findings.tools, &findings.servers]
            .map(|views| views.get(view).map_or(&[][..], Vec::as_slice));
        let worth = |candidate: &Candidate<'_>| {
            let number = candidate.number();
            let known = tools.get(number).filter(|_| findings.has_vector[number]);
            let tool = known.copied().unwrap_or(candidate.meaning);
            let server = server(servers.get(candidate.place as usize), candidate.slot, tool);
            let words = fusion::words(bm25.get(number).copied().unwrap_or_default());
            Evidence { words, tool, server }.for_clause(candidate.fused)
        };
        let best = candidates
            .iter()
            .map(|candidate| (worth(candidate), candidate))
            .min_by(|(one, a), (other, b)| other.total_cmp(one).then_with(|| a.order(b)));
        numbers.extend(best.map(|(_, candidate)| candidate.number));
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The best `count` and those reserved, in their order.
fn take_best<'i>(candidates: &mut Vec<Candidate<'i>>, reserved: &[u32], count: usize) -> Vec<Candidate<'i>> {
    let mut late = Vec::new();
    if candidates.len() > count {
        candidates.select_nth_unstable_by(count, Candidate::order);
        let beyond = candidates.split_off(count);
        late.extend(beyond.into_iter().filter(|candidate| reserved.contains(&candidate.number)));
    }
    let mut best = std::mem::take(candidates);
    best.extend(late);
    best.sort_unstable_by(Candidate::order);
    best
}

/// The first `limit`. A reserved one that is not among them takes the place of the last that is not reserved, within
/// the second half: what is best for the whole query stays.
fn keep_reserved<'i>(mut kept: Vec<Candidate<'i>>, reserved: &[u32], limit: usize) -> Vec<Candidate<'i>> {
    let late = kept.split_off(limit.min(kept.len()));
    let half = limit.div_ceil(2);
    for candidate in late.into_iter().filter(|candidate| reserved.contains(&candidate.number)) {
        let last = kept.iter().rposition(|kept| !reserved.contains(&kept.number));
        let Some(last) = last.filter(|last| *last >= half) else { break };
        kept.remove(last);
        kept.push(candidate);
    }
    kept
}

fn hit(candidate: &Candidate<'_>, findings: &Findings) -> Hit {
    let meaning = findings.has_vector[candidate.number()].then(|| candidate.meaning.clamp(0.0, 1.0));
    Hit {
        key: candidate.entry().key,
        score: fusion::bounded(candidate.score),
        lexical: fusion::bounded(candidate.words),
        meaning,
    }
}

#[cfg(test)]
mod tests;
