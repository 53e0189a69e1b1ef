//! From text to terms: identifiers split into words, words without their endings, filler left out.

use crate::stem::stem;
use std::collections::HashSet;
use std::sync::LazyLock;

/// A word of at least so many letters parts with the digits at its end: `server2`, but not `mp4` or `sha256`.
const LETTERS_BEFORE_DIGITS: usize = 4;

/// Words that say nothing about what a tool does, or that people wrap around every wish.
static FILLER: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "a an the of to in on at for from by with and or but is are was were be been being am do does did have has had i me \
     my mine we our us you your yours it its he she they them his her their this that these those there here what which \
     who whom whose when where why how can could would should will shall may might must as if then than so not no into \
     about over out up please also just need want like im ive id ll s t re ve d m don dont cant some any all more most \
     other others such very too only own same each both few many much let lets"
        .split_ascii_whitespace()
        .collect()
});

/// The terms of a text in their order. What is written as one identifier is found by its words and as a whole, so
/// that `GitHub` meets `github`, and `create_issue` in a query meets the tool of that name first of all.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for identifier in identifiers(text) {
        let parts = parts(&identifier);
        let whole = (parts.len() > 1).then(|| parts.concat().to_lowercase());
        for part in &parts {
            match after_letters(part) {
                Some(at) => {
                    push(&mut terms, part[..at].to_lowercase());
                    push(&mut terms, part[at..].to_owned());
                }
                None => push_word(&mut terms, part),
            }
        }
        terms.extend(whole);
    }
    terms
}

/// The words of a name with spaces between them, in their own case: what an embedding model reads.
pub fn spaced(name: &str) -> String {
    let identifiers = identifiers(name);
    let words: Vec<&str> = identifiers.iter().flat_map(|identifier| parts(identifier)).collect();
    words.join(" ")
}

/// Letters and digits alone, in lower case: what is left of a name when it is written in any other style.
pub(crate) fn squeezed(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn push(terms: &mut Vec<String>, mut word: String) {
    if !FILLER.contains(word.as_str()) {
        stem(&mut word);
        terms.push(word);
    }
}

/// A word of a script without spaces is found by each two characters that follow each other.
fn push_word(terms: &mut Vec<String>, word: &str) {
    if !word.chars().any(is_unspaced) {
        return push(terms, word.to_lowercase());
    }
    let characters: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    match characters.as_slice() {
        [one] => terms.push(one.to_string()),
        all => terms.extend(all.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

/// Kana and Han.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Runs of letters and digits, with single `_` and `-` between them; apostrophes vanish.
fn identifiers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut characters = text.chars().filter(|c| !matches!(c, '\'' | '’')).peekable();
    while let Some(c) = characters.next() {
        let goes_on = c.is_alphanumeric()
            || (matches!(c, '_' | '-')
                && !current.is_empty()
                && characters.peek().is_some_and(|next| next.is_alphanumeric()));
        if goes_on {
            current.push(c);
        } else if !current.is_empty() {
            found.push(std::mem::take(&mut current));
        }
    }
    if !current.is_empty() {
        found.push(current);
    }
    found
}

/// `createIssue`, `create_issue` and `create-issue` have two parts, `HTTPServer2` has `HTTP` and `Server2`.
fn parts(identifier: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = identifier.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, &(byte, c)) in characters.iter().enumerate() {
        if matches!(c, '_' | '-') {
            parts.push(&identifier[start..byte]);
            start = byte + c.len_utf8();
            continue;
        }
        let before = at.checked_sub(1).map(|before| characters[before].1);
        let after = characters.get(at + 1).map(|&(_, after)| after);
        if byte > start && c.is_uppercase() && begins_a_word(before, after) {
            parts.push(&identifier[start..byte]);
            start = byte;
        }
    }
    parts.push(&identifier[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a capital between these two begins a word: after a small letter, or as the last of several capitals.
fn begins_a_word(before: Option<char>, after: Option<char>) -> bool {
    match before {
        Some(before) if before.is_uppercase() => after.is_some_and(char::is_lowercase),
        Some(before) => before.is_alphanumeric(),
        None => false,
    }
}

/// Where the digits begin in a word that has enough letters before them and nothing after.
fn after_letters(word: &str) -> Option<usize> {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let splits = letters.len() < word.len()
        && letters.chars().count() >= LETTERS_BEFORE_DIGITS
        && letters.chars().all(char::is_alphabetic);
    splits.then_some(letters.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms(text), expected, "{text}");
    }

    #[test]
    fn identifiers_are_found_by_their_words_and_as_a_whole() {
        check("createIssue", &["creat", "issu", "createissue"]);
        check("create_issue", &["creat", "issu", "createissue"]);
        check("create-issue", &["creat", "issu", "createissue"]);
        check("HTTPServer2", &["http", "server", "2", "httpserver2"]);
        check("GitHub", &["git", "hub", "github"]);
        check("/v1/users", &["v1", "user"]);
        check("mp4 s3 sha256 base64", &["mp4", "s3", "sha256", "base", "64"]);
        check("__init__ - x", &["init", "x"]);
    }

    #[test]
    fn filler_is_left_out_and_apostrophes_vanish() {
        check("Can you tell me what's the user's e-mail?", &["tell", "what", "user", "e", "mail", "email"]);
        check("", &[]);
        check("to the", &[]);
    }

    #[test]
    fn scripts_without_spaces_are_found_by_pairs() {
        check("天気予報", &["天気", "気予", "予報"]);
        check("雨", &["雨"]);
        check("Größe", &["größe"]);
    }

    #[test]
    fn a_name_is_spaced_in_its_own_case() {
        assert_eq!(spaced("getHTTPStatus_v2"), "get HTTP Status v2");
        assert_eq!(spaced("Quotes by Keywords"), "Quotes by Keywords");
        assert_eq!(spaced(""), "");
        assert_eq!(squeezed("github.Create_Issue"), "githubcreateissue");
    }

    proptest! {
        #[test]
        fn any_text_has_terms_without_spaces_or_capitals(text in "\\PC{0,60}") {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && !term.contains(char::is_whitespace), "{term:?}");
                prop_assert!(!term.contains(|c: char| c.is_ascii_uppercase()));
            }
        }
    }
}
