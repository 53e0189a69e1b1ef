//! The words that the model knows, found by binary search where they lie.

use crate::ModelError;
use crate::layout::TOKENS;

/// Words in the order of their bytes, in one text.
pub(crate) struct Table {
    ends: Vec<u32>,
    ids: Vec<u16>,
    text: Box<[u8]>,
}

impl Table {
    /// Refuses ends that are not inside of the text or not in order, and ids that no token has.
    pub(crate) fn new(ends: Vec<u32>, ids: Vec<u16>, text: Box<[u8]>) -> Result<Self, ModelError> {
        let last = ends.last().map_or(0, |&end| usize::try_from(end).unwrap_or(usize::MAX));
        let is_whole = ends.is_sorted() && last == text.len();
        if is_whole && ends.len() == ids.len() && ids.iter().all(|&id| usize::from(id) < TOKENS) {
            Ok(Self { ends, ids, text })
        } else {
            Err(ModelError::Vocabulary)
        }
    }

    pub(crate) fn find(&self, word: &str) -> Option<u16> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.word(middle).cmp(word.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return self.ids.get(middle).copied(),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn word(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }
}

pub(crate) struct Vocabulary {
    /// What begins a word.
    pub(crate) words: Table,
    /// What goes on with one, without its `##`.
    pub(crate) continuations: Table,
    pub(crate) unknown: u16,
    pub(crate) begin: u16,
    pub(crate) end: u16,
}

impl Vocabulary {
    pub(crate) fn new(words: Table, continuations: Table) -> Result<Self, ModelError> {
        let special = |word| words.find(word).ok_or(ModelError::Vocabulary);
        let (unknown, begin, end) = (special("[UNK]")?, special("[CLS]")?, special("[SEP]")?);
        Ok(Self { words, continuations, unknown, begin, end })
    }
}
