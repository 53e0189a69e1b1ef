//! The way a server is asked: the one that is set, else the best safe ones for this query.

pub(crate) mod fill;
mod roles;
mod safety;
mod schema;
#[cfg(test)]
mod tests;

use crate::error::Reason;
use crate::forms::{Manner, Question};
use crate::plan::{Ask, Given, Plan, Texts};
use crate::ports::Ranking;
use crate::target::{Target, WaySetting};
use fill::{Needs, needs};
use portolan_model::Tool;
use portolan_search::terms;
use schema::Definition;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Ways that are tried one after the other until one of them finds something.
const MOST_WAYS: usize = 3;
/// Definitions that are looked at; of more, those that the ranking puts first.
const MOST_TOOLS: usize = 300;
/// And bytes of definitions, all together.
const MOST_BYTES: usize = 2 << 20;
/// The part of the best list's score that makes another worth asking, and the score below which none is.
const NEARLY: f32 = 0.5;
const LEAST_SCORE: f32 = 0.15;
/// A tool with this score is what search would have shown for the query.
const FOUND: f32 = 0.3;
/// Bytes of a description that say what its tool is about.
const ABOUT: usize = 160;
/// What it counts that a tool says it searches.
const SEARCHES: f32 = 0.15;
/// And that it is on its way out.
const DEPRECATED: f32 = -0.3;
/// And that it tells everything below a place, and not only what is in it.
const TREE: f32 = 0.1;
/// And that something has to be learnt first.
const LEARNS: f32 = -0.02;

/// One way to ask a server.
#[derive(Debug, Clone)]
pub enum Way {
    Tool {
        plan: Box<Plan>,
        /// How many of the query's words the tool itself is about, from 0 to 1.
        fit: f64,
    },
    /// Its resources, by their text.
    Resources,
}

/// The ways to ask a server, the best first, or why there is none.
pub type Ways = Result<Vec<Way>, Reason>;

/// What tells places says one of these.
const TOLD: &str =
    "directories directory roots root folders folder allowed workspaces repositories repos vaults projects";

/// How directly a tool answers a question: the smaller the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Asks,
    ReadsTables,
    LooksUp,
    Lists,
}

struct Candidate {
    tier: Tier,
    score: f32,
    way: Way,
}

/// Finds the ways to ask `target` this query.
pub fn ways(target: &Target, query: &str, ranking: &Ranking) -> Ways {
    find(target, &Arc::new(Question::read(query)), ranking)
}

pub(crate) fn find(target: &Target, question: &Arc<Question>, ranking: &Ranking) -> Ways {
    let readings = readings(target, question, ranking);
    let offer = Offer::of(target, question, &readings);
    if let Some(setting) = &target.setting {
        return offer.configured(setting).map(|way| vec![way]);
    }
    let mut refusals: Vec<String> = Vec::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for reading in &readings {
        let name = &reading.definition.name;
        match offer.candidate(reading) {
            Ok(mut candidate) => {
                let score = ranking.score(&target.name, name);
                candidate.score += score;
                if score >= FOUND {
                    candidate.way = found_by_search(candidate.way);
                }
                candidates.push(candidate);
            }
            Err(reason) => refusals.push(format!("{name}: {reason}")),
        }
    }
    let mut ways = best(candidates);
    if !target.resources.is_empty() {
        ways.push(Way::Resources);
    }
    if !ways.is_empty() {
        return Ok(ways);
    }
    Err(match refusals.as_slice() {
        [] => Reason::new("no safe way to ask it: it offers neither tools that can be read nor resources"),
        [only] => Reason::new(format!("no safe way to ask it: {only}")),
        [first, ..] => {
            Reason::new(format!("no safe way to ask it by any of its {} tools: {first}", refusals.len()))
        }
    })
}

fn found_by_search(way: Way) -> Way {
    match way {
        Way::Tool { plan, fit } => Way::Tool { plan: Box::new(plan.found_by_search()), fit },
        Way::Resources => Way::Resources,
    }
}

/// The best few, the best first.
fn best(mut candidates: Vec<Candidate>) -> Vec<Way> {
    candidates.sort_by(|one, other| one.tier.cmp(&other.tier).then(other.score.total_cmp(&one.score)));
    // Of lists that are the same for every query the best is enough, and what fits the query nearly as well.
    let list = candidates.iter().find(|candidate| candidate.tier == Tier::Lists).map(|first| first.score);
    let worth = list.map_or(0.0, |first| (first * NEARLY).max(LEAST_SCORE));
    let mut lists = 0;
    candidates.retain(|candidate| {
        lists += usize::from(candidate.tier == Tier::Lists);
        lists <= 1 || candidate.score >= worth
    });
    candidates.into_iter().map(|candidate| candidate.way).take(MOST_WAYS).collect()
}

/// A tool that was looked at once: what it is, why it is not called unasked, and what it has to be told.
struct Reading {
    definition: Definition,
    refusal: Option<&'static str>,
    needs: Needs,
}

impl Reading {
    /// Whether it may be called, and has to be told nothing.
    fn is_bare(&self) -> bool {
        let needs = &self.needs;
        self.refusal.is_none()
            && needs.missing.is_none()
            && needs.path.is_none()
            && needs.sql.is_none()
            && needs.text.is_none()
    }

    /// Whether it may be called, and reads one file as text.
    fn reads_files(&self) -> bool {
        let (definition, needs) = (&self.definition, &self.needs);
        definition.has_word("read get open view")
            && definition.has_word("file files document note contents")
            && !definition.has_word("media image info metadata stat")
            && self.refusal.is_none()
            && needs.missing.is_none()
            && needs.sql.is_none()
            && needs.text.is_none()
            && needs.path.is_some()
    }
}

/// The tools that can be understood, in the server's order; of too many, those that rank highest.
fn readings(target: &Target, question: &Question, ranking: &Ranking) -> Vec<Reading> {
    let mut tools: Vec<_> = target.tools.iter().collect();
    let size = |tool: &Tool| tool.definition.get().len();
    let bytes: usize = tools.iter().map(|tool| size(tool)).sum();
    if tools.len() > MOST_TOOLS || bytes > MOST_BYTES {
        let score = |tool: &Tool| match &target.setting {
            Some(setting) if *setting.tool == *tool.name => f32::MAX,
            Some(_) | None => ranking.score(&target.name, &tool.name),
        };
        tools.retain(|tool| size(tool) <= schema::MOST_BYTES);
        tools.sort_by(|one, other| score(other).total_cmp(&score(one)));
        tools.truncate(MOST_TOOLS);
        let mut left = MOST_BYTES;
        tools.retain(|tool| {
            let fits = size(tool) <= left;
            left -= if fits { size(tool) } else { 0 };
            fits
        });
    }
    let definitions = tools.into_iter().filter_map(|tool| Definition::read(tool));
    definitions
        .map(|definition| Reading {
            refusal: safety::refusal(&definition),
            needs: needs(&definition, question, &Map::new()),
            definition,
        })
        .collect()
}

/// What a server offers to one question.
struct Offer<'o> {
    target: &'o Target,
    question: &'o Arc<Question>,
    readings: &'o [Reading],
    /// Safe tools that have to be told nothing.
    bare: Vec<&'o Reading>,
    /// Safe tools that read files, the best first.
    readers: Vec<&'o Reading>,
}

impl<'o> Offer<'o> {
    fn of(target: &'o Target, question: &'o Arc<Question>, readings: &'o [Reading]) -> Self {
        let bare = readings.iter().filter(|reading| reading.is_bare()).collect();
        let mut readers: Vec<&Reading> = readings.iter().filter(|reading| reading.reads_files()).collect();
        readers.sort_by_key(|reading| {
            let takes_list = reading.needs.path.as_ref().is_some_and(|slot| slot.is_list);
            (schema::says(&reading.definition.description, "deprecated"), takes_list)
        });
        Self { target, question, readings, bare, readers }
    }

    /// The way that people have set. It has to exist, and must not say of itself that it changes something.
    fn configured(&self, setting: &WaySetting) -> Result<Way, Reason> {
        let name = &setting.tool;
        let refused = |why: &str| Reason::new(format!("its portolan.query names {name}, but {why}"));
        let mut definitions = self.readings.iter().map(|reading| &reading.definition);
        let definition = definitions.find(|definition| definition.name == *name);
        let definition = definition.ok_or_else(|| refused("it offers no such tool"))?;
        if let Some(why) = safety::marked(definition) {
            return Err(refused(why));
        }
        if definition.read_only != Some(true) && safety::plainly_changes(definition) {
            return Err(refused("its name says that it changes something"));
        }
        let mut known = setting.arguments.clone();
        let set = setting.argument.as_deref();
        if let Some(argument) = set {
            let whole = definition.argument(argument).ok_or_else(|| refused("it has no such argument"))?;
            known.insert(argument.to_owned(), Value::from(self.question.text()));
            let mut needs = needs(definition, self.question, &known);
            needs.fixed.remove(argument);
            needs.text = Some((fill::Slot::of(whole), Manner::Asked));
            return self.built(definition, needs).map(|candidate| candidate.way).map_err(|why| refused(&why));
        }
        let needs = needs(definition, self.question, &known);
        self.built(definition, needs).map(|candidate| candidate.way).map_err(|why| refused(&why))
    }

    fn candidate(&self, reading: &Reading) -> Result<Candidate, String> {
        if let Some(refusal) = reading.refusal {
            return Err(refusal.to_owned());
        }
        let definition = &reading.definition;
        let mut candidate = self.built(definition, reading.needs.clone())?;
        if safety::searches(definition) {
            candidate.score += SEARCHES;
        }
        if schema::says(&definition.description, "deprecated") {
            candidate.score += DEPRECATED;
        }
        if definition.has_word("tree recursive all") {
            candidate.score += TREE;
        }
        Ok(candidate)
    }

    /// A way through one tool, or what is missing for it.
    fn built(&self, definition: &Definition, needs: Needs) -> Result<Candidate, String> {
        if let Some(missing) = &needs.missing {
            return Err(format!("it needs `{missing}`, which no question can fill"));
        }
        let Needs { fixed, text, path, sql, .. } = needs;
        if text.is_none() && definition.has_word("image picture screenshot audio video media") {
            return Err("it gives no text".to_owned());
        }
        let texts = text.as_ref().map(|(slot, manner)| Texts {
            slot: slot.clone(),
            forms: self.question.forms(*manner),
            whole_first: matches!(manner, Manner::Asked | Manner::Keywords),
        });
        if texts.as_ref().is_some_and(|texts| texts.forms.is_empty()) {
            return Err("the query has no words to look for".to_owned());
        }
        let ask = Ask { tool: definition.name.clone(), fixed, text: texts, given: Given::Nothing };
        match (text, path, sql) {
            (None, None, Some(slot)) => self.by_tables(definition, Ask { given: Given::Tables(slot), ..ask }),
            (_, _, Some(_)) => Err("it needs more beside SQL than a question can fill".to_owned()),
            (text, Some(slot), None) => {
                let tier = if text.is_some() { Tier::Asks } else { Tier::Lists };
                self.by_places(definition, Ask { given: Given::Places(slot), ..ask }, tier)
            }
            (Some((slot, Manner::Names)), None, None) => Ok(self.by_name(definition, ask, slot)),
            (Some(_), None, None) => Ok(self.through(definition, Tier::Asks, self.plan(definition, ask))),
            (None, None, None) => Ok(self.through(definition, Tier::Lists, self.plan(definition, ask))),
        }
    }

    fn plan(&self, definition: &Definition, ask: Ask) -> Plan {
        Plan::new(Arc::clone(self.question), ask, &about(definition))
    }

    fn through(&self, definition: &Definition, tier: Tier, plan: Plan) -> Candidate {
        let count = self.question.terms().len().max(1);
        let shared = self.question.shared(&terms(&about(definition)));
        let score = if plan.tools().len() > 1 { LEARNS } else { 0.0 };
        let fit = f64::from(u32::try_from(shared).unwrap_or_default())
            / f64::from(u32::try_from(count).unwrap_or(1));
        Candidate { tier, score, way: Way::Tool { plan: Box::new(plan), fit } }
    }

    /// What it is asked about are tables, and another tool tells which there are.
    fn by_tables(&self, definition: &Definition, ask: Ask) -> Result<Candidate, String> {
        let lister = self.lister("table tables").ok_or("it needs SQL, and no tool tells its tables")?;
        let plan = self.plan(definition, ask).learning(lister.0, lister.1);
        Ok(self.through(definition, Tier::ReadsTables, plan))
    }

    /// A name that the query says, out of those that another tool tells; without such a tool, what the query names.
    fn by_name(&self, definition: &Definition, ask: Ask, slot: fill::Slot) -> Candidate {
        let words = schema::words(&slot.argument);
        let nouns = words.iter().filter(|word| !matches!(word.as_str(), "name" | "names" | "title"));
        let forms: Vec<String> = nouns.flat_map(|noun| [noun.clone(), format!("{noun}s")]).collect();
        match self.lister(&forms.join(" ")) {
            Some((tool, fixed)) if tool != definition.name => {
                let ask = Ask { text: None, given: Given::Names(slot), ..ask };
                let plan = self.plan(definition, ask).learning(tool, fixed);
                self.through(definition, Tier::LooksUp, plan)
            }
            Some(_) | None => self.through(definition, Tier::LooksUp, self.plan(definition, ask)),
        }
    }

    /// In the places that the query names, that the server's entry names, or that another of its tools tells.
    fn by_places(&self, definition: &Definition, ask: Ask, tier: Tier) -> Result<Candidate, String> {
        let reads_file =
            definition.has_word("file files document note") && !definition.has_word("search find list");
        let named = self.question.paths();
        let (tool, mut plan) = (&ask.tool.clone(), self.plan(definition, ask));
        if !named.is_empty() {
            let tier = if reads_file { Tier::Asks } else { tier };
            return Ok(self.through(definition, tier, plan.knowing(named)));
        }
        if reads_file {
            return Err("it needs a file, and the query names none".to_owned());
        }
        plan = if self.target.places.is_empty() {
            let lister = self.lister(TOLD).ok_or("it needs a path, and nothing tells which there are")?;
            plan.learning(lister.0, lister.1)
        } else {
            plan.knowing(self.target.places.clone())
        };
        let reader = self.readers.iter().find(|reading| reading.definition.name != *tool);
        if let Some(Reading { definition, needs, .. }) = reader
            && let Some(slot) = needs.path.clone()
        {
            plan = plan.reading(definition.name.clone(), needs.fixed.clone(), slot);
        }
        Ok(self.through(definition, tier, plan))
    }

    /// A safe tool that needs to be told nothing and tells what there is of `nouns`.
    fn lister(&self, nouns: &str) -> Option<(String, Map<String, Value>)> {
        let lister = self.bare.iter().find(|reading| reading.definition.has_word(nouns))?;
        Some((lister.definition.name.clone(), lister.needs.fixed.clone()))
    }
}

/// What a tool is about: its name and how its description begins. Further down, descriptions talk of anything.
fn about(definition: &Definition) -> String {
    let description = &definition.description;
    let begin = &description[..description.floor_char_boundary(ABOUT)];
    format!("{} {begin}", definition.words.join(" "))
}
