//! Texts as tokens: words in lower case without accents, then the longest pieces that the vocabulary has.

use crate::layout::PLACES;
use crate::vocabulary::Vocabulary;
use std::ops::ControlFlow;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Longer words are names of nothing: they become one unknown token, as in the model's training.
const MAX_WORD_CHARS: usize = 100;

/// At most [`PLACES`] tokens, the first and the last of which say that a text begins and ends.
///
/// A text that spells `[SEP]` means these five characters: what a server writes about its tools cannot end the text.
pub(crate) fn tokens(vocabulary: &Vocabulary, text: &str) -> Vec<u16> {
    let mut reader = Reader { vocabulary, tokens: vec![vocabulary.begin], word: String::new() };
    // Break says that the text is full, which is no less a result than its end.
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) = reader.read(text);
    reader.tokens.truncate(PLACES - 1);
    reader.tokens.push(vocabulary.end);
    reader.tokens
}

struct Reader<'a> {
    vocabulary: &'a Vocabulary,
    tokens: Vec<u16>,
    /// What was read of the word that has not ended yet.
    word: String,
}

impl Reader<'_> {
    fn read(&mut self, text: &str) -> ControlFlow<()> {
        let kept = text.chars().filter(|&c| !is_control(c)).nfd().filter(|&c| !is_accent(c));
        for c in kept.flat_map(char::to_lowercase) {
            if c.is_whitespace() {
                self.end_word()?;
            } else if is_word_by_itself(c) {
                self.end_word()?;
                self.word.push(c);
                self.end_word()?;
            } else {
                self.word.push(c);
            }
        }
        self.end_word()
    }

    /// Cuts the word into pieces, if all of it can be.
    fn end_word(&mut self) -> ControlFlow<()> {
        let before = self.tokens.len();
        let mut rest = self.word.as_str();
        if self.word.chars().nth(MAX_WORD_CHARS).is_some() {
            self.tokens.push(self.vocabulary.unknown);
            rest = "";
        }
        while !rest.is_empty() {
            let is_start = rest.len() == self.word.len();
            let table = if is_start { &self.vocabulary.words } else { &self.vocabulary.continuations };
            let ends = rest.char_indices().rev().map(|(at, c)| at + c.len_utf8());
            let found = ends.into_iter().find_map(|end| Some((end, table.find(&rest[..end])?)));
            let Some((end, token)) = found else {
                self.tokens.truncate(before);
                self.tokens.push(self.vocabulary.unknown);
                break;
            };
            self.tokens.push(token);
            rest = &rest[end..];
        }
        self.word.clear();
        if self.tokens.len() < PLACES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// What is not to be seen, line ends and tabs apart, and what stands for a character that got lost.
fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    }
    let category = c.general_category();
    c == char::REPLACEMENT_CHARACTER
        || matches!(
            category,
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse
        )
}

/// What a decomposed letter carries above or below.
fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

/// Punctuation in the wide sense, in which `$` and `+` are it, too; and the characters of Chinese, which has no spaces.
fn is_word_by_itself(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    is_ideograph(c) || c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// The blocks that the model's own tokenizer takes for Chinese; Japanese and Korean alphabets are none of them.
fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
#[cfg(feature = "minilm")]
mod tests {
    use crate::Model;
    use crate::layout::PLACES;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static MODEL: LazyLock<Model> = LazyLock::new(|| Model::built_in().unwrap());

    const UNKNOWN: u16 = 100;
    const BEGIN: u16 = 101;
    const END: u16 = 102;

    #[track_caller]
    fn check_same(text: &str, other: &str) {
        assert_eq!(MODEL.tokens(text), MODEL.tokens(other), "{text:?} and {other:?}");
    }

    #[test]
    fn case_accents_and_what_cannot_be_seen_make_no_difference() {
        check_same("Café", "cafe");
        check_same("a\u{200b}b\u{0}c", "abc");
        check_same("one\u{a0}two\r\nthree", "one two three");
        check_same("(a)", "( a )");
        check_same("天气", "天 气");
    }

    #[test]
    fn words_are_cut_into_the_longest_pieces_or_unknown_as_a_whole() {
        assert_eq!(MODEL.tokens("embeddings"), [BEGIN, 7861, 8270, 4667, 2015, END]);
        assert_eq!(MODEL.tokens("x🚀y"), [BEGIN, UNKNOWN, END]);
        assert_eq!(MODEL.tokens(&"x".repeat(101)), [BEGIN, UNKNOWN, END]);
    }

    #[test]
    fn a_text_cannot_spell_the_tokens_that_frame_it() {
        let tokens = MODEL.tokens("before [SEP] after [CLS]");
        assert_eq!(tokens.iter().filter(|&&token| token == END || token == BEGIN).count(), 2);
    }

    #[test]
    fn a_text_of_a_megabyte_is_read_no_further_than_it_counts() {
        let text = "word ".repeat(200_000);
        assert_eq!(MODEL.tokens(&text), MODEL.tokens(&text[..PLACES * 5]));
        assert_eq!(MODEL.tokens(&text).len(), PLACES);
        assert_eq!(MODEL.tokens(&"x".repeat(1_000_000)), [BEGIN, UNKNOWN, END]);
    }

    proptest! {
        #[test]
        fn any_text_has_two_to_256_tokens_and_keeps_its_frame(text in any::<String>(), times in 1..20_usize) {
            let tokens = MODEL.tokens(&text.repeat(times));
            prop_assert!((2..=PLACES).contains(&tokens.len()));
            prop_assert_eq!((tokens[0], tokens[tokens.len() - 1]), (BEGIN, END));
        }
    }
}
