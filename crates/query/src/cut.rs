//! From an answer to items: elements of lists, entries, sections, passages.

mod dates;
mod fields;
mod json;
mod python;
mod text;

use crate::item::{Bounds, Haul, Item, Over};
use crate::reply::Reply;
use serde_json::Value;

pub(crate) use fields::{shown, squeezed};
pub(crate) use json::read as read_data;
pub(crate) use text::says_nothing;

/// An answer is cut into no more than this, whatever is kept of it: an array of a million numbers is a flood.
const MOST_CUT: usize = 2000;

/// The items of an answer, in its own order. The same answer gives the same items.
pub fn cut(reply: &Reply, bounds: Bounds) -> Haul {
    cut_all(reply).bounded(bounds)
}

/// Everything that is in an answer, however much it is; for those that choose before they keep.
pub(crate) fn cut_all(reply: &Reply) -> Haul {
    if let Some(haul) = reply.structured.as_ref().and_then(json::list) {
        return haul;
    }
    let mut haul = Haul::default();
    for block in &reply.blocks {
        haul.add(of_block(block));
    }
    if let (Some(structured), true) = (&reply.structured, haul.items.is_empty()) {
        haul.add(json::items(structured));
    }
    let beyond = haul.items.split_off(haul.items.len().min(MOST_CUT));
    haul.over.add(lost(&beyond));
    haul
}

fn lost(items: &[Item]) -> Over {
    Over { items: items.len(), bytes: items.iter().map(Item::bytes).sum(), untold: 0 }
}

/// A content block of a tool, or one of the contents of a resource, which has no `type`.
fn of_block(block: &Value) -> Haul {
    let text = |value: &Value| value.get("text").and_then(Value::as_str).map(str::to_owned);
    match block.get("type").and_then(Value::as_str) {
        Some("text") => text(block).map(|text| of_text(&text)).unwrap_or_default(),
        Some("resource_link") => json::items(&without_type(block)),
        Some("resource") => block.get("resource").map(of_block).unwrap_or_default(),
        Some(_) => untold(),
        None => match text(block) {
            Some(text) => placed(of_text(&text), block),
            None => untold(),
        },
    }
}

fn untold() -> Haul {
    Haul { items: Vec::new(), over: Over { untold: 1, ..Over::default() } }
}

fn without_type(block: &Value) -> Value {
    let mut block = block.clone();
    if let Value::Object(members) = &mut block {
        members.remove("type");
    }
    block
}

/// Items of a resource have its address, where they have none of their own.
fn placed(mut haul: Haul, resource: &Value) -> Haul {
    let uri = resource.get("uri").and_then(Value::as_str);
    for item in &mut haul.items {
        if item.url.is_none() {
            item.url = uri.map(str::to_owned);
        }
    }
    haul
}

/// A text that is JSON, or what Python prints of the same, is cut as that.
fn of_text(text: &str) -> Haul {
    match json::read(text) {
        Some(value) => json::items(&value),
        None => text::items(text),
    }
}

/// The items of a list, no more than an answer may have.
fn collected(count: usize, items: impl Iterator<Item = Haul>) -> Haul {
    let mut haul = Haul::default();
    for (at, inner) in items.enumerate() {
        if haul.items.len() >= MOST_CUT {
            haul.over.items += count - at;
            break;
        }
        haul.add(inner);
    }
    haul
}

#[cfg(test)]
mod tests;
