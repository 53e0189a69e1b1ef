//! Words that nobody has: the known ones that were probably meant.

use std::sync::Arc;

/// The shortest word that is taken for a mistyped one; below it everything is near everything.
const SHORTEST: usize = 4;
/// From this length on two slips are forgiven instead of one.
const LONG: usize = 8;
/// How many known words may stand in for one.
const MOST: usize = 3;

/// A known word, and how many slips it is away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Meant {
    pub(crate) slips: usize,
    pub(crate) word: Arc<str>,
}

/// The known words, by their first letter, which people seldom mistype.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    by_first: [Vec<Known>; 26],
}

#[derive(Debug)]
struct Known {
    letters: u32,
    word: Arc<str>,
}

impl Vocabulary {
    pub(crate) fn new<'w>(words: impl Iterator<Item = &'w Arc<str>>) -> Self {
        let mut by_first: [Vec<Known>; 26] = std::array::from_fn(|_| Vec::new());
        for word in words.filter(|word| is_plain(word)) {
            if let Some(same) = first(word).and_then(|at| by_first.get_mut(at)) {
                same.push(Known { letters: letters_of(word), word: Arc::clone(word) });
            }
        }
        Self { by_first }
    }

    /// The nearest of the known words, all equally few slips away.
    pub(crate) fn meant(&self, typed: &str) -> Vec<Meant> {
        if typed.len() < SHORTEST || !is_plain(typed) {
            return Vec::new();
        }
        let most = if typed.len() >= LONG { 2 } else { 1 };
        let letters = letters_of(typed);
        let near = |known: &&Known| {
            known.word.len().abs_diff(typed.len()) <= most
                // A slip changes at most two letters of the set: this spares nearly all of the comparisons.
                && (known.letters ^ letters).count_ones() as usize <= 2 * most
        };
        let same = first(typed).and_then(|at| self.by_first.get(at)).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<Meant> = same
            .iter()
            .filter(near)
            .map(|known| Meant {
                slips: slips(typed.as_bytes(), known.word.as_bytes()),
                word: Arc::clone(&known.word),
            })
            .filter(|meant| meant.slips <= most)
            .collect();
        found.sort_unstable();
        let fewest = found.first().map_or(0, |meant| meant.slips);
        found.retain(|meant| meant.slips == fewest);
        found.truncate(MOST);
        found
    }
}

fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn first(word: &str) -> Option<usize> {
    word.bytes().next().map(|byte| usize::from(byte.wrapping_sub(b'a')))
}

/// Which letters a word has, as a set of bits.
fn letters_of(word: &str) -> u32 {
    word.bytes().fold(0, |set, byte| set | 1 << (byte & 31))
}

/// Letters missing, added, exchanged or swapped with their neighbour between two words.
fn slips(one: &[u8], other: &[u8]) -> usize {
    let width = other.len() + 1;
    let mut before_last = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (i, a) in one.iter().enumerate() {
        let mut current = vec![i + 1; width];
        for (j, b) in other.iter().enumerate() {
            let exchanged = last[j] + usize::from(a != b);
            let mut fewest = exchanged.min(last[j + 1] + 1).min(current[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                fewest = fewest.min(before_last[j - 1] + 1);
            }
            current[j + 1] = fewest;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[width - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: [&str; 7] = ["calendar", "repositori", "issu", "weather", "whether", "mail", "map"];

    #[track_caller]
    fn check(typed: &str, expected: &[&str]) {
        let known = KNOWN.map(Arc::<str>::from);
        let found = Vocabulary::new(known.iter()).meant(typed);
        assert_eq!(found.iter().map(|meant| &*meant.word).collect::<Vec<_>>(), expected, "{typed}");
    }

    #[test]
    fn a_slip_or_two_still_find_the_word() {
        check("calender", &["calendar"]);
        check("clandar", &[]);
        check("calenadr", &["calendar"]);
        check("repostori", &["repositori"]);
        check("reopsitroi", &["repositori"]);
        check("isus", &["issu"]);
        check("isuu", &["issu"]);
        check("weathr", &["weather"]);
    }

    #[test]
    fn short_words_and_codes_are_not_guessed_at() {
        check("mpa", &[]);
        check("mai1", &[]);
        check("xeather", &[]);
    }

    proptest! {
        #[test]
        fn slips_are_the_same_both_ways_and_none_for_the_same(a in "[a-e]{0,9}", b in "[a-e]{0,9}") {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            prop_assert_eq!(slips(a, b), slips(b, a));
            prop_assert_eq!(slips(a, b) == 0, a == b);
            prop_assert!(slips(a, b) <= a.len().max(b.len()));
        }
    }
}
