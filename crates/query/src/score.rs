//! How much an item says to a query, from 0 to 1: by words, by meaning, by its place, by its date.

use crate::forms::Question;
use crate::item::Item;
use portolan_model::Moment;
use portolan_search::terms;

/// What the parts count. They add up to 1.
const EVIDENCE: f64 = 0.72;
const PLACE: f64 = 0.12;
const FRESHNESS: f64 = 0.08;
const FIT: f64 = 0.08;

/// What words count beside meaning, where meaning is known.
const WORDS: f64 = 0.5;

/// How soon more of the same word says no more (BM25's k1), and how much a long text has to share (its b).
const SATURATION: f64 = 0.4;
const LENGTH: f64 = 0.5;
/// The usual length of an item, in words. It is fixed, so that no server's long texts make another's look short.
const USUAL_LENGTH: f64 = 100.0;

/// How many bytes of a word are looked at first.
const GLANCE: usize = 2;

/// After so many days something is half as fresh.
const HALF_FRESH_DAYS: f64 = 180.0;
/// What has no date is taken to be neither.
const UNDATED: f64 = 0.5;
/// The place in a server's own order at which being early is worth half.
const HALF_PLACE: f64 = 5.0;

const MILLIS_A_DAY: f64 = 86_400_000.0;

/// Reads items for the terms of one query.
pub(crate) struct Reader<'q> {
    question: &'q Question,
    /// How the query's terms begin. A stem begins as its word does, so most words are told apart by a glance.
    beginnings: Vec<&'q [u8]>,
}

impl<'q> Reader<'q> {
    pub(crate) fn new(question: &'q Question) -> Self {
        let beginnings =
            question.terms().iter().map(|term| &term.as_bytes()[..term.len().min(GLANCE)]).collect();
        Self { question, beginnings }
    }

    /// What stands in the title counts twice: it says what an item is about.
    pub(crate) fn counts(&self, item: &Item) -> Counts {
        let mut counts = Counts { of: vec![0.0; self.question.terms().len()], length: 0.0 };
        let title = item.title.as_deref().unwrap_or_default();
        for word in item.text.split_ascii_whitespace().chain(title.split_ascii_whitespace()) {
            counts.length += 1.0;
            if self.may_be_wanted(word) {
                for at in self.wanted(word) {
                    counts.of[at] += 1.0;
                }
            }
        }
        counts
    }

    /// Which of the query's terms a word has.
    fn wanted(&self, word: &str) -> Vec<usize> {
        let place = |term: &String| self.question.terms().iter().position(|wanted| wanted == term);
        terms(word).iter().filter_map(place).collect()
    }

    /// Whether a word has to be looked at: one of small letters alone, with nothing but marks around it, does only when
    /// some term begins as it does.
    fn may_be_wanted(&self, word: &str) -> bool {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation()).as_bytes();
        let is_plain = bare.len() >= GLANCE && bare.iter().skip(1).all(u8::is_ascii_lowercase);
        if !is_plain || !bare[0].is_ascii_alphabetic() {
            return true;
        }
        let begin = [bare[0].to_ascii_lowercase(), bare[1]];
        self.beginnings.iter().any(|known| *known == begin)
    }
}

/// How often each of the query's terms is in an item, and how long the item is.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    of: Vec<f64>,
    length: f64,
}

impl Counts {
    /// BM25 as a share of what it could be: 1 is reached by an item that says every term again and again.
    fn words(&self, weights: &[f64]) -> f64 {
        let all: f64 = weights.iter().sum();
        if all <= 0.0 {
            return 0.0;
        }
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * self.length / USUAL_LENGTH);
        let said = self
            .of
            .iter()
            .zip(weights)
            .map(|(count, weight)| weight * count / (count + norm).max(f64::MIN_POSITIVE));
        said.sum::<f64>() / all
    }
}

/// How much each of the query's terms tells: the less, the more items have it. Each server has one vote, however many
/// items it sends, so that a flood of them counts no more than one.
pub(crate) fn weights(servers: &[Vec<Counts>], terms: usize) -> Vec<f64> {
    let voting: Vec<&Vec<Counts>> = servers.iter().filter(|items| !items.is_empty()).collect();
    let count = number(voting.len());
    (0..terms)
        .map(|term| {
            let having: f64 = voting
                .iter()
                .map(|items| {
                    number(items.iter().filter(|item| item.of[term] > 0.0).count()) / number(items.len())
                })
                .sum();
            (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
        })
        .collect()
}

/// Everything that an item's score is made of beside its words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// In its server's own order, from 0.
    pub(crate) position: usize,
    pub(crate) date: Option<Moment>,
    /// How much the tool that it came from is about the query.
    pub(crate) fit: f64,
    /// How close it is in meaning, from 0 to 1, where that is known.
    pub(crate) meaning: Option<f64>,
    /// What its server counts.
    pub(crate) weight: f64,
}

/// The score, to four places: what differs by less is the same, and its order is told by names.
pub(crate) fn score(counts: &Counts, weights: &[f64], standing: Standing, now: Moment) -> f64 {
    let words = counts.words(weights);
    let evidence = standing.meaning.map_or(words, |meaning| WORDS * words + (1.0 - WORDS) * meaning);
    let place = HALF_PLACE / (HALF_PLACE + number(standing.position));
    let fresh = standing.date.map_or(UNDATED, |date| freshness(date, now));
    let plain = EVIDENCE * evidence + PLACE * place + FRESHNESS * fresh + FIT * standing.fit;
    // A weight bends the scale and leaves its ends where they are.
    let weighed = 1.0 - (1.0 - plain.clamp(0.0, 1.0)).powf(standing.weight);
    (weighed * 10_000.0).round() / 10_000.0
}

/// 1 for now and whatever claims to come later, then less and less.
fn freshness(date: Moment, now: Moment) -> f64 {
    let millis = now.as_millis().saturating_sub(date.as_millis()).max(0);
    let days = u32::try_from(millis / 1000).map_or(f64::from(u32::MAX), f64::from) * 1000.0 / MILLIS_A_DAY;
    HALF_FRESH_DAYS / (HALF_FRESH_DAYS + days)
}

/// How close two vectors are, from 0 to 1; nothing where they are not of the same kind.
pub(crate) fn closeness(one: &[f32], other: &[f32]) -> Option<f64> {
    if one.len() != other.len() || one.is_empty() {
        return None;
    }
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let length = (dot(one, one) * dot(other, other)).sqrt();
    (length > 0.0 && length.is_finite()).then(|| (dot(one, other) / length).clamp(0.0, 1.0))
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Moment = Moment::from_millis(1_800_000_000_000);

    fn plain() -> Standing {
        Standing { position: 0, date: None, fit: 0.0, meaning: None, weight: 1.0 }
    }

    fn of(text: &str, standing: Standing) -> f64 {
        let question = Question::read("green tea from Japan");
        let item = Item { text: text.to_owned(), ..Item::default() };
        let counts = vec![vec![Reader::new(&question).counts(&item)]];
        score(&counts[0][0], &weights(&counts, question.terms().len()), standing, NOW)
    }

    #[test]
    fn more_of_anything_is_a_higher_score_and_none_leaves_its_bounds() {
        let some = of("green tea", plain());
        assert!(of("green tea from Japan", plain()) > some && some > of("coffee", plain()));
        assert!(of("green tea", Standing { position: 9, ..plain() }) < some);
        assert!(of("green tea", Standing { fit: 1.0, ..plain() }) > some);
        assert!(of("green tea", Standing { weight: 2.0, ..plain() }) > some);
        assert!(of("green tea", Standing { weight: 0.5, ..plain() }) < some);
        assert!(of("coffee", Standing { meaning: Some(0.9), ..plain() }) > of("coffee", plain()));
        let dated = |millis| of("green tea", Standing { date: Some(Moment::from_millis(millis)), ..plain() });
        assert!(dated(NOW.as_millis()) > some && some > dated(0));
        assert!((dated(i64::MAX) - dated(NOW.as_millis())).abs() < 1e-9, "the future is no fresher than now");
        let best = Standing { date: Some(NOW), fit: 1.0, meaning: Some(1.0), weight: 10.0, ..plain() };
        let all = of(&"green tea japan ".repeat(500), best);
        assert!(all <= 1.0 && of("", Standing { weight: 0.0, ..plain() }) >= 0.0, "{all}");
    }

    #[test]
    fn a_server_has_one_vote_however_many_items_it_sends() {
        let question = Question::read("green tea");
        let counts =
            |text: &str| Reader::new(&question).counts(&Item { text: text.to_owned(), ..Item::default() });
        let rest = [vec![counts("green")], vec![counts("tea")]];
        let with = |flood: usize| weights(&[&rest[..], &[vec![counts("tea"); flood]]].concat(), 2);
        assert_eq!(with(1), with(1000));
    }

    proptest! {
        #[test]
        fn a_glance_misses_nothing(
            query in "[a-zA-Zé ]{1,40}",
            word in "[(\"]?[A-Z]?[a-zé]{0,9}(ies|ing|s|ed|y)?[.,)]?",
        ) {
            let question = Question::read(&format!("{query} {word}"));
            let reader = Reader::new(&question);
            prop_assert!(reader.wanted(&word).is_empty() || reader.may_be_wanted(&word), "{word}");
        }
    }

    #[test]
    fn vectors_of_another_kind_say_nothing() {
        assert_eq!(closeness(&[1.0], &[1.0, 0.0]), None);
        assert_eq!(closeness(&[0.0], &[0.0]), None);
        assert_eq!(closeness(&[f32::NAN], &[1.0]), None);
        assert!(closeness(&[1.0, 0.0], &[2.0, 0.0]).is_some_and(|close| (close - 1.0).abs() < 1e-9));
    }
}
