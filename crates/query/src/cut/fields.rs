//! What the members of an object are: its title, its text, its address, its date.

use super::dates;
use crate::item::Item;
use portolan_model::Moment;
use serde_json::{Map, Value};

/// In the order of preference, as letters and digits in lower case: `html_url` and `htmlUrl` are the same.
const TITLES: &str = "title name headline subject heading label displayname path filename file key";
const TEXTS: &str = "text content body snippet excerpt passage markdown description summary abstract answer \
     message highlight highlights";
const ADDRESSES: &str = "url htmlurl weburl link href permalink uri sourceurl pageurl";
/// What was changed last says how fresh something is.
const DATES: &str = "updatedat updated lastmodified modified modifiedat lastupdated publishedat published \
     publisheddate pubdate date createdat created timestamp datetime time committeddate";

/// Nested JSON says little in a text; more than this of it says nothing.
const NESTED_BYTES: usize = 300;

/// Letters and digits in lower case.
pub(crate) fn squeezed(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The members of an object by what they are.
pub(super) struct Fields<'a> {
    pub(super) title: Option<(&'a str, &'a str)>,
    pub(super) text: Option<(&'a str, &'a str)>,
    pub(super) url: Option<&'a str>,
    pub(super) date: Option<Moment>,
    members: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(members: &'a Map<String, Value>) -> Self {
        let known: Vec<(String, &'a str, &'a Value)> =
            members.iter().map(|(key, value)| (squeezed(key), key.as_str(), value)).collect();
        let text = |names: &str| {
            names.split_ascii_whitespace().find_map(|name| {
                let mut fitting = known.iter().filter(|(squeezed, ..)| squeezed == name);
                fitting.find_map(|(_, key, value)| {
                    value.as_str().filter(|text| !text.trim().is_empty()).map(|text| (*key, text.trim()))
                })
            })
        };
        let dated = |name: &str| {
            known
                .iter()
                .filter(|(squeezed, ..)| squeezed == name)
                .find_map(|(.., value)| dates::of_value(value))
        };
        Self {
            title: text(TITLES),
            text: text(TEXTS),
            url: text(ADDRESSES).map(|(_, url)| url).filter(|url| url.contains(':')),
            date: DATES.split_ascii_whitespace().find_map(dated),
            members,
        }
    }

    /// Whether the object is a thing by itself, and not only what holds others.
    pub(super) fn is_thing(&self) -> bool {
        self.title.is_some() || self.text.is_some() || self.url.is_some()
    }

    /// Everything that the object says: its title, its text, and then its other members, one a line.
    pub(super) fn item(&self, text: &str) -> Item {
        let mut lines: Vec<String> = Vec::new();
        let title = self.title.map(|(_, title)| title.to_owned());
        lines.extend(title.clone());
        if !text.is_empty() && title.as_deref() != Some(text) {
            lines.push(text.to_owned());
        }
        let told = [self.title, self.text].map(|told| told.map(|(key, _)| key));
        for (key, value) in self.members {
            if told.contains(&Some(key.as_str())) {
                continue;
            }
            let shown = shown(value);
            if !shown.is_empty() {
                lines.push(format!("{key}: {shown}"));
            }
        }
        Item { title, text: lines.join("\n"), url: self.url.map(str::to_owned), date: self.date, raw: None }
    }
}

/// A value in words: lists of plain values are told one after the other, anything deeper as JSON while it is short.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(elements)
            if elements.iter().all(|element| !element.is_array() && !element.is_object()) =>
        {
            let plain: Vec<String> = elements.iter().map(shown).filter(|text| !text.is_empty()).collect();
            plain.join("; ")
        }
        Value::Array(elements) if elements.is_empty() => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        Value::Array(_) | Value::Object(_) => {
            let json = value.to_string();
            if json.len() <= NESTED_BYTES {
                return json;
            }
            format!("{}…", &json[..json.floor_char_boundary(NESTED_BYTES)])
        }
    }
}
