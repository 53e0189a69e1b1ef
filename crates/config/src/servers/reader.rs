//! Reading the members of one object: each wrong one is reported with its place, and reading goes on.

use crate::json::{Json, JsonPath, Object};
use crate::nearest::nearest;
use crate::problem::Problem;
use portolan_model::Secret;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<String>,
}

impl Report {
    pub(super) fn problem(&mut self, at: &JsonPath, message: impl Into<String>) {
        self.problems.push(Problem::schema(at.as_str(), message));
    }

    pub(super) fn warn(&mut self, at: &JsonPath, message: impl std::fmt::Display) {
        self.warnings.push(format!("{at}: {message}"));
    }

    pub(super) fn unknown_key(&mut self, at: &JsonPath, key: &str, known: &[&'static str]) {
        match nearest(key, known.iter().copied()) {
            Some(meant) => self.warn(at, format!("unknown key, ignored; did you mean `{meant}`?")),
            None => self.warn(at, "unknown key, ignored"),
        }
    }
}

pub(super) struct Reader<'a> {
    pub(super) at: JsonPath,
    pub(super) fields: &'a Object,
    pub(super) report: &'a mut Report,
}

impl<'a> Reader<'a> {
    pub(super) fn new(at: JsonPath, fields: &'a Object, report: &'a mut Report) -> Self {
        Self { at, fields, report }
    }

    /// `null` is how some programs write that they have nothing to say.
    pub(super) fn get(&self, key: &str) -> Option<&'a Json> {
        self.fields.get(key).filter(|value| **value != Json::Null)
    }

    pub(super) fn problem(&mut self, key: &str, message: impl Into<String>) {
        self.report.problem(&self.at.key(key), message);
    }

    pub(super) fn warn(&mut self, key: &str, message: &str) {
        self.report.warn(&self.at.key(key), message);
    }

    pub(super) fn text(&mut self, key: &str) -> Option<&'a str> {
        let value = self.get(key)?;
        let Json::Text(text) = value else { return self.is_no(key, "a text", value) };
        Some(text)
    }

    pub(super) fn claim(&mut self, key: &str) -> Option<bool> {
        let value = self.get(key)?;
        let Json::Bool(claim) = value else { return self.is_no(key, "true or false", value) };
        Some(*claim)
    }

    pub(super) fn object(&mut self, key: &str) -> Option<&'a Object> {
        let value = self.fields.get(key)?;
        let Json::Object(object) = value else { return self.is_no(key, "an object", value) };
        Some(object)
    }

    fn is_no<T>(&mut self, key: &str, wanted: &str, found: &Json) -> Option<T> {
        self.problem(key, format!("{key} must be {wanted}, not {}", found.what()));
        None
    }

    pub(super) fn list(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.fields.get(key) else { return Vec::new() };
        let Json::List(items) = value else {
            return self.is_no(key, "an array of texts", value).unwrap_or_default();
        };
        let at = self.at.key(key);
        items.iter().enumerate().filter_map(|(n, item)| self.value(&at.index(n), item)).collect()
    }

    pub(super) fn map(&mut self, key: &str) -> BTreeMap<String, Secret> {
        let Some(object) = self.object(key) else { return BTreeMap::new() };
        let at = self.at.key(key);
        let members = object.iter();
        members
            .filter_map(|(name, value)| {
                Some((name.to_owned(), Secret::new(self.value(&at.key(name), value)?)))
            })
            .collect()
    }

    /// A text; a number or a truth value is taken as what was written, and warned of.
    fn value(&mut self, at: &JsonPath, value: &Json) -> Option<String> {
        let text = match value {
            Json::Text(text) => return Some(text.clone()),
            Json::Number(digits) => digits.clone(),
            Json::Bool(value) => value.to_string(),
            Json::Null | Json::List(_) | Json::Object(_) => {
                self.report.problem(at, format!("The value must be a text, not {}", value.what()));
                return None;
            }
        };
        self.report.warn(at, format!("{} is taken as text; put it in quotes", value.what()));
        Some(text)
    }
}
