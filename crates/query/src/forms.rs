//! A query as people write it, and what can be asked with it: the whole, its phrases, its words, and what it names.

use portolan_search::{spaced, terms};
use std::collections::HashSet;
use std::sync::LazyLock;

/// A server is asked in at most so many forms of one query.
pub(crate) const MOST_FORMS: usize = 3;
/// What is longer than so many words is looked at no further for words of its own.
const MOST_WORDS: usize = 400;
/// Words that are held against items; more make no question any clearer.
const MOST_TERMS: usize = 48;
/// A root shorter than this is in everything.
const SHORTEST_ROOT: usize = 3;

/// What people say around what they ask for: it is in no answer.
static ASKING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "find show list tell give search get look looking know known say says said describe explain display see seen view \
     anything something everything information info details detail latest recent recently lately current currently \
     question questions answer answers thing things help exist exists exactly whats hows wheres whos through using \
     between during since until while yet still now today ever else"
        .split_ascii_whitespace()
        .collect()
});

static ASKING_TERMS: LazyLock<HashSet<String>> =
    LazyLock::new(|| ASKING.iter().flat_map(|word| terms(word)).collect());

/// How a text for a server is made of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As it is asked; where that finds nothing, its phrase and its words.
    Asked,
    /// Its words alone, first all of them.
    Keywords,
    /// What it names: quoted, written with a capital, else its best words.
    Names,
    /// One file pattern a word.
    Glob,
    /// One regular expression for all words.
    Regex,
    /// One word, without the ending that another form of it may not have.
    Substring,
}

/// One content word of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    /// How much it looks like the name of something.
    specific: usize,
    /// Its number among all words of the query, filler included; marks between words count as one.
    at: usize,
}

/// A query, read once.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    text: String,
    words: Vec<Word>,
    quoted: Vec<String>,
    terms: Vec<String>,
}

impl Question {
    pub(crate) fn read(text: &str) -> Self {
        let text = text.trim().to_owned();
        let words = content_words(&text);
        let terms = content_terms(&text);
        Self { quoted: quoted(&text), words, terms, text }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What items are held against: stems, without the words that only ask, each once.
    pub(crate) fn terms(&self) -> &[String] {
        &self.terms
    }

    /// What a server is asked with, the most promising first. The first is asked alone; the others only when it found
    /// nothing, or together where there is no whole.
    pub(crate) fn forms(&self, manner: Manner) -> Vec<String> {
        let best = self.best_words();
        let mut forms: Vec<String> = match manner {
            Manner::Asked => {
                let whole = std::iter::once(self.text.clone());
                whole.chain(self.quoted.clone()).chain(self.phrase()).chain(best.map(singular)).collect()
            }
            Manner::Keywords => {
                let all: Vec<&str> = self.words.iter().take(6).map(|word| word.text.as_str()).collect();
                std::iter::once(all.join(" ")).chain(best.map(singular)).collect()
            }
            Manner::Names => {
                self.quoted.iter().cloned().chain(self.phrase()).chain(best.map(str::to_owned)).collect()
            }
            Manner::Glob => best.map(|word| format!("**/*{}*", either_case(&root(word)))).collect(),
            Manner::Regex => {
                let roots: Vec<String> = best.take(5).map(|word| either_case(&root(word))).collect();
                vec![roots.join("|")]
            }
            Manner::Substring => best.map(root).collect(),
        };
        let mut seen = HashSet::new();
        forms.retain(|form| !form.is_empty() && seen.insert(form.to_lowercase()));
        forms.truncate(MOST_FORMS);
        forms
    }

    /// An address that the query names.
    pub(crate) fn url(&self) -> Option<&str> {
        let is_address = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
        self.tokens().find(is_address)
    }

    /// Absolute paths that the query names.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.tokens().filter(|word| is_absolute(word)).map(str::to_owned).collect()
    }

    /// A time zone that the query names, as in `Europe/London`.
    pub(crate) fn zone(&self) -> Option<&str> {
        const AREAS: [&str; 11] = [
            "Africa",
            "America",
            "Antarctica",
            "Arctic",
            "Asia",
            "Atlantic",
            "Australia",
            "Europe",
            "Indian",
            "Pacific",
            "Etc",
        ];
        self.tokens().find(|word| {
            *word == "UTC"
                || word.split_once('/').is_some_and(|(area, city)| AREAS.contains(&area) && !city.is_empty())
        })
    }

    /// Whether the query says `name`, by all of its words; the number of an inventory does not have to be that of the
    /// question (`customers`, `customer`).
    pub(crate) fn says(&self, name: &str) -> bool {
        let parts = terms(&spaced(name));
        let whole = terms(name).pop();
        let has = |term: &String| self.terms.contains(term);
        (!parts.is_empty() && parts.iter().all(has)) || whole.as_ref().is_some_and(has)
    }

    /// How many of the query's terms are among these.
    pub(crate) fn shared<'t>(&self, others: impl IntoIterator<Item = &'t String>) -> usize {
        let others: HashSet<&String> = others.into_iter().collect();
        self.terms.iter().filter(|term| others.contains(term)).count()
    }

    fn tokens(&self) -> impl Iterator<Item = &str> {
        self.text.split_whitespace().take(MOST_WORDS).map(|word| {
            word.trim_matches(['"', '\'', '`', '<', '>', '(', ')', ',', ';', '“', '”'])
                .trim_end_matches(['.', '?', '!', ':'])
        })
    }

    /// The words, the most specific first, then the longest, then in their order.
    fn best_words(&self) -> impl Iterator<Item = &str> {
        let mut words: Vec<&Word> = self.words.iter().collect();
        words.sort_by_key(|word| {
            (std::cmp::Reverse(word.specific), std::cmp::Reverse(word.text.chars().count()), word.at)
        });
        words.into_iter().map(|word| word.text.as_str())
    }

    /// Two or three content words that stand side by side; of several such runs the one that names most.
    fn phrase(&self) -> Option<String> {
        let runs = self.words.chunk_by(|one, next| one.at + 1 == next.at);
        let fitting = runs.filter(|run| (2..=3).contains(&run.len()));
        let best = fitting.rev().max_by_key(|run| run.iter().map(|word| word.specific).sum::<usize>())?;
        Some(best.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    }
}

/// Absolute on either kind of system. A lone slash is a place too large to mean anything.
pub(crate) fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_drive = bytes.len() > 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    (text.len() > 1 && text.starts_with('/') && !text.starts_with("//")) || has_drive
}

fn content_terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut all: Vec<String> = terms(text);
    all.retain(|term| seen.insert(term.clone()));
    let content: Vec<String> = all.iter().filter(|term| !ASKING_TERMS.contains(*term)).cloned().collect();
    let mut kept = if content.is_empty() { all } else { content };
    kept.truncate(MOST_TERMS);
    kept
}

fn content_words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut begins_sentence = true;
    let (mut at, mut ended) = (0, false);
    for token in text.split_whitespace().take(MOST_WORDS) {
        let is_marked = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric());
        at += 1 + usize::from(ended || is_marked(token.chars().next()));
        ended = is_marked(token.chars().last());
        let bare = token.trim_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        let is_content = !terms(bare).is_empty() && !ASKING.contains(bare.to_lowercase().as_str());
        if is_content && !bare.contains("://") && !words.iter().any(|word| word.text == bare) {
            words.push(Word { specific: specific(bare, begins_sentence), text: bare.to_owned(), at });
        }
        begins_sentence = token.ends_with(['.', '?', '!', ':']);
    }
    words
}

/// A capital says less at the beginning of a sentence, and a digit or a sign inside of a word says much.
fn specific(word: &str, begins_sentence: bool) -> usize {
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let has_sign = word.chars().any(|c| c.is_ascii_digit() || matches!(c, '_' | '-' | '.' | '/'));
    usize::from(has_sign) + usize::from(capitals > usize::from(begins_sentence)) * 2
}

/// What stands between quotes.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('`', '`')] {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, behind)) = after.split_once(close) else { break };
            let inside = inside.trim();
            if !inside.is_empty() && inside.len() <= 100 && found.len() < MOST_FORMS {
                found.push(inside.to_owned());
            }
            rest = behind;
        }
    }
    found
}

/// Without the `s` of a plural, where the stem says that it is one.
fn singular(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(base) if !base.is_empty() && terms(base) == terms(word) => base.to_owned(),
        Some(_) | None => word.to_owned(),
    }
}

/// What all forms of a word have in common, letter by letter: for those that look for parts of words.
fn root(word: &str) -> String {
    let lower = word.to_lowercase();
    let stems = terms(word);
    let [stem] = stems.as_slice() else { return plain(&lower) };
    let common = lower.chars().zip(stem.chars()).take_while(|(one, other)| one == other).count();
    // The stem of `query` and `queries` ends with a letter that only one of them has.
    let common = if stem.ends_with('i') && common == stem.chars().count() { common - 1 } else { common };
    if common < SHORTEST_ROOT {
        plain(&lower)
    } else {
        plain(&lower.chars().take(common).collect::<String>())
    }
}

/// Only what means itself in patterns of every kind.
fn plain(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect()
}

/// `[bB]udget`: patterns tell capitals from small letters, and people do not.
fn either_case(word: &str) -> String {
    let mut characters = word.chars();
    match characters.next() {
        Some(first) if first.is_ascii_alphabetic() => {
            format!("[{}{}]{}", first.to_ascii_lowercase(), first.to_ascii_uppercase(), characters.as_str())
        }
        Some(_) | None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(query: &str, manner: Manner, expected: &[&str]) {
        assert_eq!(Question::read(query).forms(manner), expected, "{query}");
    }

    #[test]
    fn a_sentence_is_asked_whole_and_then_by_what_it_names() {
        let drink = "What does Ada like to drink?";
        check(drink, Manner::Asked, &[drink, "Ada", "drink"]);
        let atlas = "What do we know about Project Atlas?";
        check(atlas, Manner::Asked, &[atlas, "Project Atlas", "Project"]);
        check("tea", Manner::Asked, &["tea"]);
        check("who wrote \"War and Peace\"?", Manner::Names, &["War and Peace", "Peace", "War"]);
        check("find the invoices of March", Manner::Keywords, &["invoices March", "March", "invoice"]);
    }

    #[test]
    fn patterns_are_made_of_single_words_and_know_both_cases() {
        let query = "What does the budget say about travels?";
        check(query, Manner::Glob, &["**/*[tT]ravel*", "**/*[bB]udget*"]);
        check(query, Manner::Regex, &["[tT]ravel|[bB]udget"]);
        check("the queries", Manner::Substring, &["quer"]);
        check("a*b[c", Manner::Glob, &["**/*[aA]bc*"]);
        check("what is it?", Manner::Glob, &[]);
    }

    #[test]
    fn what_a_query_names_is_found_in_it() {
        let question = Question::read("Read https://example.com/a?b=1, then (/srv/docs) and Europe/London.");
        assert_eq!(question.url(), Some("https://example.com/a?b=1"));
        assert_eq!(question.paths(), ["/srv/docs"]);
        assert_eq!(question.zone(), Some("Europe/London"));
        let none = Question::read("and/or // a / b 1:2");
        assert_eq!((none.url(), none.paths().len(), none.zone()), (None, 0, None));
    }

    #[test]
    fn a_name_is_said_in_either_number_and_in_parts() {
        let question = Question::read("Which order items did customers send back?");
        assert!(question.says("customer") && question.says("order_items") && question.says("Customers"));
        assert!(!question.says("order_totals") && !question.says(""));
    }

    proptest! {
        #[test]
        fn any_query_has_few_forms_and_none_is_empty(text in "\\PC{0,80}") {
            let question = Question::read(&text);
            for manner in
                [Manner::Asked, Manner::Keywords, Manner::Names, Manner::Glob, Manner::Regex, Manner::Substring]
            {
                let forms = question.forms(manner);
                prop_assert!(forms.len() <= MOST_FORMS && forms.iter().all(|form| !form.is_empty()));
            }
        }
    }
}
