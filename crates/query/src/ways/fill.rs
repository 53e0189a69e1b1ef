//! The arguments of a call: what the query fills, what it needs to be told first, and what the schema itself says.

use super::roles::{Role, role};
use super::schema::{Accepts, Argument, Definition};
use crate::forms::{Manner, Question};
use serde_json::{Map, Value};

/// Results that are asked for where there is a choice.
const RESULTS: f64 = 20.0;
/// And of something that cannot be asked for anything in particular, so that most of it falls away.
const LISTED: f64 = 50.0;

/// An argument that takes a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) argument: String,
    /// Whether it takes a list, which then has one.
    pub(crate) is_list: bool,
    pub(crate) most_characters: Option<usize>,
}

impl Slot {
    pub(super) fn of(argument: &Argument) -> Self {
        Self {
            argument: argument.name.clone(),
            is_list: argument.accepts == Accepts::Texts,
            most_characters: argument.most_characters,
        }
    }

    pub(crate) fn put(&self, text: &str, arguments: &mut Map<String, Value>) {
        let text: String = match self.most_characters {
            Some(most) => text.chars().take(most).collect(),
            None => text.to_owned(),
        };
        let value = if self.is_list { Value::Array(vec![text.into()]) } else { text.into() };
        arguments.insert(self.argument.clone(), value);
    }
}

/// What a tool has to be told, beside what is fixed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Needs {
    pub(super) fixed: Map<String, Value>,
    /// What takes the query, and in which manner.
    pub(super) text: Option<(Slot, Manner)>,
    /// A folder or file.
    pub(super) path: Option<Slot>,
    pub(super) sql: Option<Slot>,
    /// The first required argument that nothing can fill.
    pub(super) missing: Option<String>,
}

/// Reads what a tool needs. `known` are arguments that people have fixed.
pub(super) fn needs(definition: &Definition, question: &Question, known: &Map<String, Value>) -> Needs {
    let mut needs = Needs { fixed: known.clone(), ..Needs::default() };
    let open = || definition.arguments.iter().filter(|argument| !known.contains_key(&argument.name));
    for argument in open().filter(|argument| argument.is_required) {
        require(definition, argument, question, &mut needs);
    }
    if needs.text.is_none() && needs.sql.is_none() {
        let optional = open().filter(|argument| !argument.is_required);
        let asks = optional.filter_map(|argument| match role(definition, argument) {
            Role::Text(manner @ (Manner::Asked | Manner::Keywords)) => Some((Slot::of(argument), manner)),
            Role::Text(_)
            | Role::Sql
            | Role::Path
            | Role::Url
            | Role::Zone
            | Role::Limit
            | Role::Format
            | Role::Other => None,
        });
        needs.text = asks.min_by_key(|(slot, manner)| (*manner != Manner::Asked, slot.argument != "query"));
    }
    let most = if needs.text.is_some() { RESULTS } else { LISTED };
    for argument in open().filter(|argument| !argument.is_required) {
        let value = match role(definition, argument) {
            Role::Limit => limit(argument, most),
            Role::Format => json_format(argument),
            Role::Text(_) | Role::Sql | Role::Path | Role::Url | Role::Zone | Role::Other => None,
        };
        if let Some(value) = value {
            needs.fixed.insert(argument.name.clone(), value);
        }
    }
    needs
}

fn require(definition: &Definition, argument: &Argument, question: &Question, needs: &mut Needs) {
    if let Some(value) = said_by_schema(argument) {
        needs.fixed.insert(argument.name.clone(), value);
        return;
    }
    let slot = Slot::of(argument);
    let is_filled = match role(definition, argument) {
        Role::Text(manner) => take_text(needs, slot, manner),
        Role::Sql if needs.sql.is_none() => {
            needs.sql = Some(slot);
            true
        }
        Role::Path if needs.path.is_none() => {
            needs.path = Some(slot);
            true
        }
        Role::Url => put(needs, &slot, question.url()),
        Role::Zone => put(needs, &slot, question.zone()),
        Role::Limit => limit(argument, RESULTS).is_some_and(|value| {
            needs.fixed.insert(argument.name.clone(), value);
            true
        }),
        Role::Format => json_format(argument).is_some_and(|value| {
            needs.fixed.insert(argument.name.clone(), value);
            true
        }),
        Role::Sql | Role::Path | Role::Other => false,
    };
    if !is_filled && needs.missing.is_none() {
        needs.missing = Some(argument.name.clone());
    }
}

/// One text fills one argument. A second one would have to be something else than the query.
fn take_text(needs: &mut Needs, slot: Slot, manner: Manner) -> bool {
    if needs.text.is_some() {
        return false;
    }
    needs.text = Some((slot, manner));
    true
}

fn put(needs: &mut Needs, slot: &Slot, text: Option<&str>) -> bool {
    if let Some(text) = text {
        slot.put(text, &mut needs.fixed);
    }
    text.is_some()
}

/// What has to be given, and of which the schema itself says what.
fn said_by_schema(argument: &Argument) -> Option<Value> {
    let only = match argument.choices.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let default = argument.default.as_ref().filter(|default| !default.is_null());
    argument.constant.as_ref().or(only).or(default).cloned()
}

/// A number of results within what the schema allows. A default that is enough stays the server's own.
fn limit(argument: &Argument, wanted: f64) -> Option<Value> {
    let default = argument.default.as_ref().and_then(Value::as_f64);
    if default.is_some_and(|default| default >= wanted) {
        return argument.is_required.then(|| argument.default.clone()).flatten();
    }
    let (least, most) = (argument.least.unwrap_or(1.0), argument.most.unwrap_or(f64::MAX));
    if least > most || !argument.choices.is_empty() || argument.constant.is_some() {
        return None;
    }
    let number = wanted.clamp(least, most).floor();
    // What is in the schema may be any number; only a small whole one is a number of results.
    (1..=1000).find(|whole| (f64::from(*whole) - number).abs() < 0.5).map(Value::from)
}

fn json_format(argument: &Argument) -> Option<Value> {
    argument
        .choices
        .iter()
        .find(|choice| choice.as_str().is_some_and(|choice| choice.eq_ignore_ascii_case("json")))
        .cloned()
}
