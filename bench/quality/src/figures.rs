//! The figures of a ranking: how many of the needed tools are found, and how early.

use crate::sets::Question;
use portolan_search::DocKey;

/// So many places are looked at for R@10, nDCG@10 and COMP@10.
const PLACES: usize = 10;

/// The sums over the queries of one run; [`Figures::shown`] are their means.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Figures {
    queries: f64,
    found_1: f64,
    found_5: f64,
    found_10: f64,
    gain: f64,
    complete: f64,
    reciprocal: f64,
}

impl Figures {
    pub(crate) const HEADINGS: [&str; 6] = ["R@1", "R@5", "R@10", "nDCG@10", "COMP@10", "MRR"];

    /// Adds one query by what was found for it, the best first. MRR is of the places that were asked for.
    #[expect(clippy::cast_precision_loss, reason = "a query needs a handful of tools")]
    pub(crate) fn add(&mut self, question: &Question, found: &[DocKey]) {
        let place = |any: &Vec<DocKey>| found.iter().position(|key| any.contains(key));
        let places: Vec<Option<usize>> = question.needs.iter().map(place).collect();
        let needed = places.len().max(1) as f64;
        let within = |end: usize| places.iter().flatten().filter(|place| **place < end).count() as f64;
        self.queries += 1.0;
        self.found_1 += within(1) / needed;
        self.found_5 += within(5) / needed;
        self.found_10 += within(PLACES) / needed;
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let ideal: f64 = (0..places.len().clamp(1, PLACES)).map(gain).sum();
        let gained: f64 =
            places.iter().flatten().filter(|place| **place < PLACES).map(|place| gain(*place)).sum();
        self.gain += gained / ideal;
        if places.iter().all(|place| place.is_some_and(|place| place < PLACES)) {
            self.complete += 1.0;
        }
        self.reciprocal += places.iter().flatten().min().map_or(0.0, |first| 1.0 / (*first as f64 + 1.0));
    }

    pub(crate) fn shown(&self) -> [f64; 6] {
        let sums = [self.found_1, self.found_5, self.found_10, self.gain, self.complete, self.reciprocal];
        sums.map(|sum| sum / self.queries.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(needs: &[&[u64]], found: &[u64], expected: [f64; 6]) {
        let keys = |numbers: &[u64]| numbers.iter().copied().map(DocKey).collect::<Vec<_>>();
        let question = Question { text: String::new(), needs: needs.iter().map(|any| keys(any)).collect() };
        let mut figures = Figures::default();
        figures.add(&question, &keys(found));
        for (figure, expected) in figures.shown().into_iter().zip(expected) {
            assert!((figure - expected).abs() < 0.001, "{:?}", figures.shown());
        }
    }

    #[test]
    fn a_figure_is_the_share_of_what_is_needed() {
        check(&[&[1]], &[1], [1.0; 6]);
        check(&[&[1]], &[], [0.0; 6]);
        check(&[&[1, 2]], &[2, 1], [1.0; 6]);
        check(&[&[1], &[2]], &[1, 2], [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]);
        check(&[&[1], &[2]], &[9, 1], [0.0, 0.5, 0.5, 0.387, 0.0, 0.5]);
        check(&[&[1]], &[9, 9, 9, 9, 9, 1], [0.0, 0.0, 1.0, 0.356, 1.0, 0.167]);
    }
}
