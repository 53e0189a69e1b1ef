//! Near-duplicates: texts that say almost the same words in almost the same order are one.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// From this share of common shingles on two texts are one.
const ALIKE: f64 = 0.8;
/// Words in a shingle.
const SHINGLE: usize = 3;
/// The smallest hashes of a text, by which others like it are found. Two texts that are alike to this degree have none
/// of them in common once in more than a billion times.
const SKETCH: usize = 16;
/// Texts that are looked at for one hash. More have some phrase in common, and are not alike for that.
const MOST_COMPARED: usize = 64;

/// The shingles of a text, as sorted hashes. A text that is shorter than two shingles is one, so that it folds only
/// with what is the same.
#[derive(Debug, Clone)]
struct Shingles(Vec<u64>);

impl Shingles {
    fn of(text: &str) -> Self {
        let mut lower = String::new();
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<u64> = words
            .map(|word| {
                if !word.is_ascii() {
                    return hash(word.to_lowercase().as_str());
                }
                lower.clear();
                lower.push_str(word);
                lower.make_ascii_lowercase();
                hash(lower.as_str())
            })
            .collect();
        let mut hashes: Vec<u64> = if words.len() < 2 * SHINGLE {
            vec![hash(words.as_slice())]
        } else {
            words.windows(SHINGLE).map(hash).collect()
        };
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    fn is_like(&self, other: &Self) -> bool {
        let (few, many) = if self.0.len() < other.0.len() { (self, other) } else { (other, self) };
        // Texts of very different lengths cannot have enough in common.
        if share(few.0.len(), many.0.len()) < ALIKE {
            return false;
        }
        let common = common(&self.0, &other.0);
        share(common, few.0.len() + many.0.len() - common) >= ALIKE
    }
}

/// How many hashes two sorted lists have in common.
fn common(one: &[u64], other: &[u64]) -> usize {
    let (mut at, mut in_other, mut count) = (0, 0, 0);
    while let (Some(left), Some(right)) = (one.get(at), other.get(in_other)) {
        match left.cmp(right) {
            Ordering::Less => at += 1,
            Ordering::Greater => in_other += 1,
            Ordering::Equal => {
                count += 1;
                at += 1;
                in_other += 1;
            }
        }
    }
    count
}

fn share(part: usize, whole: usize) -> f64 {
    let number = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(part) / number(whole.max(1))
}

fn hash<T: Hash + ?Sized>(what: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// For each text, the number of the first one before it that it is like, or its own. Texts come best first, so the best
/// of those that are alike stands for them.
pub(crate) fn fold(texts: &[&str]) -> Vec<usize> {
    let shingles: Vec<Shingles> = texts.iter().map(|text| Shingles::of(text)).collect();
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut folded = Vec::with_capacity(texts.len());
    for (at, own) in shingles.iter().enumerate() {
        let sketch = &own.0[..own.0.len().min(SKETCH)];
        let near: BTreeSet<usize> =
            sketch.iter().filter_map(|hash| known.get(hash)).flatten().copied().collect();
        let like = near.into_iter().find(|other| shingles[*other].is_like(own));
        if like.is_none() {
            for hash in sketch {
                let same = known.entry(*hash).or_default();
                if same.len() < MOST_COMPARED {
                    same.push(at);
                }
            }
        }
        folded.push(like.unwrap_or(at));
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(texts: &[&str], expected: &[usize]) {
        assert_eq!(fold(texts), expected, "{texts:?}");
    }

    #[test]
    fn what_differs_in_case_marks_or_a_word_of_many_is_one() {
        check(&["Green tea!", "green  tea", "green tea is"], &[0, 0, 2]);
        let long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
                    seventeen eighteen nineteen twenty and so on until there is nothing more to be said of it at all";
        let other = format!("{long} indeed");
        let turned: Vec<&str> = long.split(' ').rev().collect();
        check(&[long, &other, &turned.join(" "), &long[..60]], &[0, 0, 2, 3]);
        check(&["", "", "x"], &[0, 0, 2]);
    }

    #[test]
    fn many_texts_with_a_phrase_in_common_stay_apart() {
        let texts: Vec<String> = (0..300)
            .map(|n| {
                format!("the same beginning for all of them and then {n} {} {} {}", n * 7, n * 13, n * 31)
            })
            .map(|text| format!("{text} {}", text.chars().rev().collect::<String>()))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let folded = fold(&texts);
        assert!((0..300).all(|at| folded[at] == at));
    }

    proptest! {
        #[test]
        fn a_text_stands_for_itself_and_for_its_copies(texts in prop::collection::vec("[a-c ]{0,30}", 0..20)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let folded = fold(&texts);
            for (at, to) in folded.iter().enumerate() {
                prop_assert!(*to <= at && folded[*to] == *to);
                prop_assert!(texts[..at].iter().all(|before| *before != texts[at]) || *to < at);
            }
        }
    }
}
