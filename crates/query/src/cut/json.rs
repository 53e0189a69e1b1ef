//! JSON cut into items: the elements of its list, or itself.

use super::fields::{Fields, shown, squeezed};
use super::{collected, python, text};
use crate::item::{Haul, Item};
use crate::reply::is_dense;
use serde_json::{Map, Value};

/// Members that hold what was asked for.
const LISTS: &str = "results items data entities relations nodes documents docs hits matches records rows \
     entries list pages issues messages files articles posts commits memories notes chunks passages snippets \
     sources repositories users events tasks tables organic values projects content";
/// Members that only wrap the rest.
const WRAPS: &str = "data result response output value payload web body";

/// How deep a list may be wrapped.
const DEPTH: usize = 4;

/// A text longer than this is cut into passages, each with what else the object says of itself.
const LONG: usize = 1500;

/// Reads a text that is JSON, or what Python prints of it. Numbers and lone words stay text.
pub(crate) fn read(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || is_dense(text) {
        return None;
    }
    serde_json::from_str(text).ok().or_else(|| python::read(text))
}

/// The items of a value that is a list or holds one, if it does.
pub(super) fn list(value: &Value) -> Option<Haul> {
    if let Some(inner) = wrapped_text(value) {
        return read(inner).map_or_else(|| Some(text::items(inner)), |value| Some(items(&value)));
    }
    let lists = lists_in(value, DEPTH)?;
    let count = lists.iter().map(|list| list.len()).sum();
    Some(collected(count, lists.into_iter().flatten().map(element)))
}

/// The items of any value.
pub(super) fn items(value: &Value) -> Haul {
    list(value).unwrap_or_else(|| element(value))
}

/// `{"result": "…"}`: a text that was made an object because results have to be one.
fn wrapped_text(value: &Value) -> Option<&str> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.values().next()?.as_str()
}

fn lists_in(value: &Value, depth: usize) -> Option<Vec<&Vec<Value>>> {
    if depth == 0 {
        return None;
    }
    let members = match value {
        Value::Array(elements) => return Some(vec![elements]),
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let named = |names: &str, key: &str| {
        let key = squeezed(key);
        names.split_ascii_whitespace().any(|name| name == key)
    };
    let arrays = || members.iter().filter_map(|(key, value)| Some((key, value.as_array()?)));
    let known: Vec<&Vec<Value>> =
        arrays().filter(|(key, _)| named(LISTS, key)).map(|(_, list)| list).collect();
    if !known.is_empty() {
        return Some(known);
    }
    let wraps = members.iter().filter(|(key, value)| {
        value.is_object() && (members.len() == 1 || named(WRAPS, key) || named(LISTS, key))
    });
    let inside: Vec<&Vec<Value>> =
        wraps.filter_map(|(_, value)| lists_in(value, depth - 1)).flatten().collect();
    if !inside.is_empty() {
        return Some(inside);
    }
    let others: Vec<&Vec<Value>> = arrays().map(|(_, list)| list).collect();
    (!others.is_empty() && !Fields::of(members).is_thing()).then_some(others)
}

fn element(value: &Value) -> Haul {
    match value {
        Value::Object(members) => of_object(members, value),
        // The elements of a list of texts are entries, unless one of them is a whole document.
        Value::String(text) if text.len() > LONG => text::items(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let text = shown(value);
            let items = if text.is_empty() { Vec::new() } else { vec![Item { text, ..Item::default() }] };
            Haul { items, ..Haul::default() }
        }
    }
}

fn of_object(members: &Map<String, Value>, value: &Value) -> Haul {
    let fields = Fields::of(members);
    let text = fields.text.map(|(_, text)| text).unwrap_or_default();
    if text.len() > LONG {
        let mut haul = text::items(text);
        for item in &mut haul.items {
            item.title = item.title.take().or_else(|| fields.title.map(|(_, title)| title.to_owned()));
            item.url = item.url.take().or_else(|| fields.url.map(str::to_owned));
            item.date = item.date.take().or(fields.date);
        }
        return haul;
    }
    let mut item = fields.item(text);
    if item.text.is_empty() {
        return Haul::default();
    }
    item.raw = Some(value.to_string().into());
    Haul { items: vec![item], ..Haul::default() }
}
