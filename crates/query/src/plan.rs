//! A way to ask a server, step by step: it gives calls, is fed their answers, and knows what comes next.
//!
//! A plan has at most three steps: learn (which places or names there are), ask, and read what was found. Every value
//! in a call comes from the query, from the tool's own schema, from people's settings, or from an earlier answer of the
//! same server.

mod told;

use crate::cut::{cut_all, shown};
use crate::forms::{MOST_FORMS, Question};
use crate::item::{Haul, Item};
use crate::reply::Reply;
use crate::ways::fill::Slot;
use portolan_search::terms;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Files that are read of those that were found.
const MOST_READ: usize = 6;
/// Rows that are read of a table.
const MOST_ROWS: usize = 200;
/// Tables and the like that are read though the query names none: only where there is hardly any choice.
const UNNAMED: usize = 3;
/// What is kept of a list that is about the right thing, when none of its entries is closer to the query than the rest.
const KEPT_OF_LIST: usize = 10;

/// Bytes of an item that are held against the query.
const MOST_HELD: usize = 8 << 10;

/// One call of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// What a tool is asked with.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) tool: String,
    pub(crate) fixed: Map<String, Value>,
    pub(crate) text: Option<Texts>,
    pub(crate) given: Given,
}

/// The forms of the query that a tool is asked with.
#[derive(Debug, Clone)]
pub(crate) struct Texts {
    pub(crate) slot: Slot,
    pub(crate) forms: Vec<String>,
    /// Whether the first form is asked alone, and the others only when it finds nothing.
    pub(crate) whole_first: bool,
}

/// What an argument takes that has to be known first.
#[derive(Debug, Clone, Default)]
pub(crate) enum Given {
    #[default]
    Nothing,
    Places(Slot),
    /// Names that the query says.
    Names(Slot),
    /// Tables that the query says, each read by a statement of its own.
    Tables(Slot),
}

#[derive(Debug, Clone)]
enum Step {
    /// A tool that is told nothing tells which places or names there are.
    Learn(Call),
    Ask(Ask),
    Read {
        tool: String,
        fixed: Map<String, Value>,
        slot: Slot,
    },
}

impl Step {
    fn tool(&self) -> &str {
        match self {
            Self::Learn(Call { tool, .. }) | Self::Ask(Ask { tool, .. }) | Self::Read { tool, .. } => tool,
        }
    }
}

/// A way to ask one server.
#[derive(Debug, Clone)]
pub struct Plan {
    question: Arc<Question>,
    steps: Vec<Step>,
    at: usize,
    /// Whether the current step has asked its first form and found nothing.
    is_second_round: bool,
    /// Places or names, once they are known.
    known: Vec<String>,
    /// Files that were found, to be read.
    files: Vec<String>,
    /// The files of the calls that are under way.
    reading: Vec<String>,
    found: Haul,
    read: Haul,
    about: About,
}

/// What a tool is about needs not be said again by each of the entries that it lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    /// The tool's own words.
    words: HashSet<String>,
    /// Whether search has found the tool for the query, in whatever words.
    is_found: bool,
}

impl Plan {
    pub(crate) fn new(question: Arc<Question>, ask: Ask, about: &str) -> Self {
        Self {
            question,
            steps: vec![Step::Ask(ask)],
            at: 0,
            is_second_round: false,
            known: Vec::new(),
            files: Vec::new(),
            reading: Vec::new(),
            found: Haul::default(),
            read: Haul::default(),
            about: About { words: terms(about).into_iter().collect(), is_found: false },
        }
    }

    /// Begins with a tool that tells places or names.
    /// Search has found the tool for this query: what it lists need not repeat the query's words.
    #[must_use]
    pub(crate) fn found_by_search(mut self) -> Self {
        self.about.is_found = true;
        self
    }

    #[must_use]
    pub(crate) fn learning(mut self, tool: String, fixed: Map<String, Value>) -> Self {
        self.steps.insert(0, Step::Learn(Call { tool, arguments: fixed }));
        self
    }

    /// Knows places from elsewhere.
    #[must_use]
    pub(crate) fn knowing(mut self, places: Vec<String>) -> Self {
        self.known = places;
        self.known.truncate(MOST_FORMS);
        self
    }

    /// Ends with a tool that reads the files that were found.
    #[must_use]
    pub(crate) fn reading(mut self, tool: String, fixed: Map<String, Value>, slot: Slot) -> Self {
        self.steps.push(Step::Read { tool, fixed, slot });
        self
    }

    /// The tools that it may call, in their order.
    pub fn tools(&self) -> Vec<&str> {
        self.steps.iter().map(Step::tool).collect()
    }

    /// The calls to make now, side by side; none when the plan is done.
    pub fn calls(&mut self) -> Vec<Call> {
        while let Some(step) = self.steps.get(self.at) {
            let calls = match step {
                Step::Learn(call) => vec![call.clone()],
                Step::Ask(ask) => self.asking(ask),
                Step::Read { tool, fixed, slot } => {
                    self.reading = self.best_files();
                    self.reading.iter().map(|file| filled(tool, fixed, &[(slot, file)])).collect()
                }
            };
            if !calls.is_empty() {
                return calls;
            }
            self.at += 1;
        }
        Vec::new()
    }

    /// Takes the answers to the calls of [`Plan::calls`], in their order; `None` for a call that failed.
    pub fn feed(&mut self, replies: &[Option<&Reply>]) {
        let Some(step) = self.steps.get(self.at) else { return };
        match step {
            Step::Learn(_) => self.learn(replies),
            Step::Ask(ask) => {
                let may_ask_again = ask.text.as_ref().is_some_and(|texts| texts.whole_first);
                for (at, reply) in replies.iter().enumerate() {
                    let Some(reply) = reply else { continue };
                    let place = self.known.get(at % self.known.len().max(1)).map(String::as_str);
                    self.files.extend(told::files(reply, place));
                    let haul = cut_all(reply);
                    self.found.over.add(haul.over);
                    for item in haul.items {
                        // Two forms of one query find the same things.
                        if !self.found.items.contains(&item) {
                            self.found.items.push(item);
                        }
                    }
                }
                if may_ask_again && !self.is_second_round && self.found.items.is_empty() {
                    self.is_second_round = true;
                } else {
                    self.at += 1;
                }
            }
            Step::Read { .. } => {
                for (reply, file) in replies.iter().zip(&self.reading) {
                    let Some(reply) = reply else { continue };
                    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                    let mut haul = cut_all(reply);
                    for item in &mut haul.items {
                        let title = item.title.take();
                        item.title = Some(title.map_or(name.to_owned(), |title| format!("{name}: {title}")));
                        item.url = item.url.take().or_else(|| Some(format!("file://{file}")));
                    }
                    self.read.add(haul);
                }
                self.at += 1;
            }
        }
    }

    /// What the server said to the query, its own order kept.
    pub fn finish(self) -> Haul {
        let takes_text = self.steps.iter().any(|step| matches!(step, Step::Ask(Ask { text: Some(_), .. })));
        let read = relevant(self.read, &self.question, &self.about);
        if !read.items.is_empty() {
            let mut haul = read;
            haul.over.add(self.found.over);
            return haul;
        }
        // What answered to the query is taken at its word; a list that always is the same is not.
        let mut haul =
            if takes_text { self.found } else { relevant(self.found, &self.question, &self.about) };
        haul.over.add(read.over);
        haul
    }

    fn learn(&mut self, replies: &[Option<&Reply>]) {
        let replies = replies.iter().copied().flatten();
        let given = self.steps.iter().find_map(|step| match step {
            Step::Ask(ask) => Some(ask.given.clone()),
            Step::Learn(_) | Step::Read { .. } => None,
        });
        self.known = match given.unwrap_or_default() {
            Given::Nothing => Vec::new(),
            Given::Places(_) => replies.flat_map(told::places).take(MOST_FORMS).collect(),
            Given::Names(_) => self.said(replies.flat_map(told::names).collect(), 0),
            Given::Tables(_) => self.said(replies.flat_map(told::names).collect(), UNNAMED),
        };
        let names = self.known.iter().flat_map(|name| terms(name));
        self.about.words.extend(names);
        // Nothing to go on with: what comes after would have to guess.
        self.at = if self.known.is_empty() { self.steps.len() } else { self.at + 1 };
    }

    /// Those of the names that the query says; all, where it says none and there are no more than `few`.
    fn said(&self, names: Vec<String>, few: usize) -> Vec<String> {
        let mut said: Vec<String> = names.iter().filter(|name| self.question.says(name)).cloned().collect();
        if said.is_empty() && names.len() <= few {
            said = names;
        }
        said.truncate(MOST_FORMS);
        said
    }

    fn asking(&self, ask: &Ask) -> Vec<Call> {
        let forms: Vec<Option<(&Slot, &String)>> = match &ask.text {
            None => vec![None],
            Some(texts) => {
                let all = texts.forms.iter();
                let now: Vec<&String> = match (texts.whole_first, self.is_second_round) {
                    (true, false) => all.take(1).collect(),
                    (true, true) => all.skip(1).collect(),
                    (false, _) => all.collect(),
                };
                now.into_iter().map(|form| Some((&texts.slot, form))).collect()
            }
        };
        let statements: Vec<String> = self.known.iter().filter_map(|table| statement(table)).collect();
        let given: Vec<Option<(&Slot, &String)>> = match &ask.given {
            Given::Nothing => vec![None],
            Given::Places(slot) | Given::Names(slot) => {
                self.known.iter().map(|known| Some((slot, known))).collect()
            }
            Given::Tables(slot) => statements.iter().map(|statement| Some((slot, statement))).collect(),
        };
        let mut calls = Vec::new();
        for form in &forms {
            for known in &given {
                let values: Vec<(&Slot, &String)> = [*form, *known].into_iter().flatten().collect();
                calls.push(filled(&ask.tool, &ask.fixed, &values));
            }
        }
        calls.truncate(MOST_FORMS);
        calls
    }

    /// The files to read: those whose names share most with the query, and then in the order in which they were found.
    fn best_files(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut files: Vec<&String> =
            self.files.iter().filter(|file| told::is_readable(file) && seen.insert(*file)).collect();
        files.sort_by_key(|file| std::cmp::Reverse(self.question.shared(&terms(file))));
        files.into_iter().take(MOST_READ).cloned().collect()
    }
}

fn filled(tool: &str, fixed: &Map<String, Value>, values: &[(&Slot, &String)]) -> Call {
    let mut arguments = fixed.clone();
    for (slot, value) in values {
        slot.put(value, &mut arguments);
    }
    Call { tool: tool.to_owned(), arguments }
}

/// Reads a table whose name the server told. Quotes inside of names are doubled, so that a name stays one.
fn statement(table: &str) -> Option<String> {
    let is_name = !table.is_empty() && table.len() <= 128 && !table.contains(char::is_control);
    let quoted: Vec<String> =
        table.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect();
    is_name.then(|| format!("SELECT * FROM {} LIMIT {MOST_ROWS}", quoted.join(".")))
}

/// Of a list that would have been the same for any query: what shares words with this one, beyond those that the whole
/// list is about.
pub(crate) fn relevant(mut haul: Haul, question: &Question, about: &About) -> Haul {
    let own: Vec<&String> = question.terms().iter().filter(|term| !about.words.contains(*term)).collect();
    let covered = question.terms().len() - own.len();
    let of: Vec<HashSet<String>> = haul.items.iter().map(own_terms).collect();
    let shares_own = |words: &HashSet<String>| own.iter().any(|term| words.contains(*term));
    let shares = |words: &HashSet<String>| question.terms().iter().any(|term| words.contains(term));
    let is_about_it = about.is_found || (covered > 0 && covered * 2 >= question.terms().len());
    let kept: Vec<bool> = if of.iter().any(shares_own) {
        of.iter().map(shares_own).collect()
    } else if is_about_it {
        (0..of.len()).map(|at| at < KEPT_OF_LIST).collect()
    } else {
        of.iter().map(shares).collect()
    };
    let mut kept = kept.into_iter();
    haul.items.retain(|_| kept.next().unwrap_or_default());
    haul
}

/// What an item itself says: not the names of its members, which all rows of a table have in common.
fn own_terms(item: &Item) -> HashSet<String> {
    let object = item.raw.as_deref().and_then(|raw| serde_json::from_str::<Map<String, Value>>(raw).ok());
    let said = match object {
        Some(members) => members.values().map(shown).collect::<Vec<_>>().join("\n"),
        None => item.text.clone(),
    };
    let title = item.title.as_deref().map(terms).unwrap_or_default();
    let begin = &said[..said.floor_char_boundary(MOST_HELD)];
    terms(begin).into_iter().chain(title).collect()
}

#[cfg(test)]
mod tests;
