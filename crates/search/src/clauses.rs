//! A wish that asks for several things, taken apart: one clause for each thing to do.

use crate::words::terms;
use std::collections::HashSet;
use std::sync::LazyLock;

/// More things than this are not asked for in one breath; what comes after them still counts in the whole.
const MOST: usize = 8;
/// What has fewer words of its own is no thing to do, but a remark or the end of a list.
const FEWEST_WORDS: usize = 2;

/// A point after these ends no sentence.
const ABBREVIATIONS: [&str; 9] = ["vs.", "e.g.", "i.e.", "etc.", "dr.", "mr.", "mrs.", "st.", "no."];

/// What may part two things to do.
const JOINS: [&str; 9] = ["and", "then", "but", "while", "plus", "before", "after", "so", "or"];
const LONG_JOINS: [&[&str]; 2] = [&["as", "well", "as"], &["along", "with"]];

/// What may stand before the verb of the next thing to do.
static LEADS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "then also finally next lastly afterwards additionally furthermore moreover first firstly second secondly third \
     thirdly to please maybe perhaps possibly kindly"
        .split_ascii_whitespace()
        .collect()
});

/// A wish or an order begins with one of these. A comma or an `and` before anything else only goes on with a list.
static BEGINNINGS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "add analyze analyse apply archive ask assign book build buy calculate call cancel change check classify clear click \
     close collect compare compile compute configure convert copy count create crop decode delete deploy describe detect \
     determine display download draft edit encode estimate evaluate examine execute explain export extract fetch fill \
     filter find forecast format gather generate get give help identify import include insert install inspect invite \
     list load locate log look make manage measure merge message monitor move navigate notify obtain open optimize order \
     organize parse pay perform pick pin plan play post predict prepare print process provide publish pull push put \
     query rank read receive recommend record register remind remove rename render replace reply report request research \
     reset resize resolve restart retrieve return review run save scan schedule search see select send set share show \
     simulate sort start stop store submit subscribe suggest summarize summarise sync tell test track train transfer \
     translate trigger turn understand update upload use validate verify view visualize watch write \
     i i'd i'm i've we we'd we're you can could would will please what how where when who is are let"
        .split_ascii_whitespace()
        .collect()
});

/// The things that `text` asks for, each in its own words, or none when it asks for one thing only. They are embedded
/// beside the whole text, so that the tools for each step are found.
pub fn clauses(text: &str) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    for sentence in sentences(text) {
        for clause in split(sentence) {
            let clause = clause.trim_matches([' ', ',', '.', ';', '\n', '\t']);
            if has_words(clause) && !clauses.iter().any(|known| known == clause) {
                clauses.push(clause.to_owned());
            }
        }
    }
    if clauses.len() < 2 {
        return Vec::new();
    }
    clauses.truncate(MOST);
    clauses
}

fn has_words(text: &str) -> bool {
    terms(text).len() >= FEWEST_WORDS
}

/// Cut after `.`, `?`, `!` and `;` before a space, and at the ends of lines.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for word in words(line) {
            let bare = word.text.trim_end_matches(['"', '\'', ')', ']']);
            let is_short = ABBREVIATIONS.contains(&bare.to_ascii_lowercase().as_str());
            if bare.ends_with(['.', '?', '!', ';']) && !is_short {
                found.push(&line[start..word.end]);
                start = word.end;
            }
        }
        found.push(&line[start..]);
    }
    found
}

/// A word with where it stands.
struct Word<'t> {
    text: &'t str,
    start: usize,
    end: usize,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let origin = text.as_ptr().addr();
    let place = |word: &str| word.as_ptr().addr() - origin;
    text.split_whitespace()
        .map(|text| Word { text, start: place(text), end: place(text) + text.len() })
        .collect()
}

/// Cut before each word where the next thing to do begins.
fn split(sentence: &str) -> Vec<&str> {
    let words = words(sentence);
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..words.len() {
        let before = &words[at - 1];
        if before.end <= start {
            continue;
        }
        let joined = joins(&words[at..]);
        if joined == 0 && !before.text.ends_with([',', ';']) {
            continue;
        }
        let Some(next) = words.get(at + joined) else { break };
        let (left, right) = (&sentence[start..before.end], &sentence[next.start..]);
        if begins(&words[at + joined..]) && has_words(left) && has_words(right) {
            parts.push(left);
            start = next.start;
        }
    }
    parts.push(&sentence[start..]);
    parts
}

/// How many words at the front only join.
fn joins(words: &[Word<'_>]) -> usize {
    let is = |at: usize, join: &str| words.get(at).is_some_and(|word| bare(word) == join);
    let long = LONG_JOINS.iter().find(|join| join.iter().enumerate().all(|(at, part)| is(at, part)));
    match long {
        Some(join) => join.len(),
        None => usize::from(JOINS.iter().any(|join| is(0, join))),
    }
}

/// Whether a wish begins here, after words that only lead to it.
fn begins(words: &[Word<'_>]) -> bool {
    let first = words.iter().map(bare).find(|word| !LEADS.contains(word.as_str()));
    first.is_some_and(|word| BEGINNINGS.contains(word.as_str()))
}

fn bare(word: &Word<'_>) -> String {
    let text = word.text.trim_matches(|c: char| !c.is_alphanumeric());
    text.to_lowercase().replace('’', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(clauses(text), expected, "{text}");
    }

    #[test]
    fn each_thing_to_do_is_a_clause() {
        check(
            "find the repo, then open an issue and tell the team",
            &["find the repo", "open an issue", "tell the team"],
        );
        check(
            "Find the Portolan repo, then open an issue about the crash and tell the release team",
            &["Find the Portolan repo", "open an issue about the crash", "tell the release team"],
        );
        check(
            "What is the weather in Paris? Also, book a hotel near the Louvre.",
            &["What is the weather in Paris?", "Also, book a hotel near the Louvre"],
        );
        check(
            "Resize the image as well as convert the colour profile",
            &["Resize the image", "convert the colour profile"],
        );
    }

    #[test]
    fn one_thing_is_left_whole() {
        check("create an issue", &[]);
        check("prayer times for Langkawi, Penang and Perak", &[]);
        check("odds for Fury vs. Joshua tonight", &[]);
        check("", &[]);
        check("and, then; or", &[]);
    }

    #[test]
    fn what_is_said_twice_counts_once_and_there_is_an_end() {
        check("Send the mail. Send the mail.", &[]);
        let long: Vec<String> = (0..20).map(|n| format!("Delete file{n} now.")).collect();
        assert_eq!(clauses(&long.join(" ")).len(), MOST);
    }

    proptest! {
        #[test]
        fn clauses_are_parts_of_the_text(text in "\\PC{0,80}") {
            for clause in clauses(&text) {
                prop_assert!(text.contains(&clause));
            }
        }
    }
}
