//! What an argument is for, by its name, its description and what else the schema says of it.

use super::safety::searches;
use super::schema::{Accepts, Argument, Definition, among, says};
use crate::forms::Manner;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Takes the query, in this manner.
    Text(Manner),
    Sql,
    /// A folder or a file.
    Path,
    Url,
    Zone,
    /// How many results there may be.
    Limit,
    /// In which form the answer comes.
    Format,
    /// What only the caller knows: an id, a date, a command, one of several choices.
    Other,
}

const ASKED: &str = "query q search question prompt text topic phrase queries questions searchquery \
     searchtext input topics";
const KEYWORDS: &str = "keyword keywords term terms word words";
const NAMES: &str = "name names title titles subject entity entities symbol";
const PATHS: &str = "path paths dir directory folder root cwd filepath filename";
const ADDRESSES: &str = "url urls uri href website link";
/// Languages in which a sentence is a mistake.
const LANGUAGES: &str =
    "graphql cypher jql cql promql kql logql xpath jsonpath jmespath sparql soql flux mongodb javascript";
/// What is told apart by more than words: whoever guesses it asks for something else.
const EXACT: &str = "id ids uuid guid sha hash ref revision cursor token email date time timestamp language \
     lang locale country owner command cmd code script expression selector filter type mode sort version";
const LIMITS: &str = "limit maxresults topk perpage pagesize numresults maxcount count n k top first take \
     maxitems resultlimit maxhits rows nresults maxresultcount resultcount size numberofresults";
const FORMATS: &str = "format outputformat responseformat resultformat returnformat";

pub(super) fn role(definition: &Definition, argument: &Argument) -> Role {
    let squeezed = argument.words.concat();
    if among(FORMATS, &squeezed) {
        return Role::Format;
    }
    match argument.accepts {
        Accepts::Number if among(LIMITS, &squeezed) => Role::Limit,
        Accepts::Number | Accepts::Other => Role::Other,
        Accepts::Text | Accepts::Texts => of_text(definition, argument, &squeezed),
    }
}

fn of_text(definition: &Definition, argument: &Argument, squeezed: &str) -> Role {
    let has = |words: &str| argument.words.iter().any(|word| among(words, word));
    let about = |words: &str| says(&argument.description, words) || says(&definition.description, words);
    if has(ADDRESSES) || argument.format.as_deref() == Some("uri") {
        return Role::Url;
    }
    let is_free = argument.choices.is_empty()
        && argument.constant.is_none()
        && argument.format.is_none()
        && !argument.is_patterned;
    if !is_free {
        return Role::Other;
    }
    if squeezed == "timezone" || squeezed == "tz" {
        return Role::Zone;
    }
    let may_ask = has(ASKED) || has(KEYWORDS);
    if has("sql") || ((may_ask || has("statement")) && (about("sql") || definition.has_word("sql"))) {
        return Role::Sql;
    }
    if has(LANGUAGES) || says(&argument.description, LANGUAGES) || has_language(definition) {
        return Role::Other;
    }
    if has("pattern patterns glob regex regexp") {
        return Role::Text(pattern(definition, argument));
    }
    let last = argument.words.last().map(String::as_str).unwrap_or_default();
    if among(PATHS, last) {
        return Role::Path;
    }
    if among(EXACT, last) {
        return Role::Other;
    }
    if has(KEYWORDS) {
        return Role::Text(Manner::Keywords);
    }
    if has(ASKED) || among(ASKED, squeezed) {
        return Role::Text(Manner::Asked);
    }
    if has(NAMES) {
        return Role::Text(Manner::Names);
    }
    // `search_symbols {needle}`: the only thing that a search has to be told is what it looks for.
    let is_only = definition.arguments.iter().filter(|argument| argument.is_required).count() == 1;
    if argument.is_required && is_only && searches(definition) {
        return Role::Text(Manner::Asked);
    }
    Role::Other
}

fn has_language(definition: &Definition) -> bool {
    definition.words.iter().any(|word| among(LANGUAGES, word))
}

fn pattern(definition: &Definition, argument: &Argument) -> Manner {
    let about = |words: &str| {
        argument.words.iter().any(|word| among(words, word))
            || says(&argument.description, words)
            || says(&definition.description, words)
    };
    if about("glob globs wildcard wildcards") {
        Manner::Glob
    } else if about("regex regexp regular grep ripgrep") {
        Manner::Regex
    } else {
        Manner::Substring
    }
}
