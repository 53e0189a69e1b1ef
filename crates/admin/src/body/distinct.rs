//! Whether a document is JSON and names no key twice in any object: two readers of it could see two different things.

use crate::problem::{Code, FieldError, Refusal};
use portolan_wire::json::is_within_depth;
use serde::de::{Deserialize as _, IgnoredAny};
use std::collections::HashSet;

/// Deeper than any request that a person or a program means.
const DEPTH: usize = 128;

/// Refuses what is not JSON, and what says something twice. Numbers are not read: one that we could not hold may be an
/// argument that its server can.
pub(super) fn check(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.trim_ascii().is_empty() {
        return Err(Refusal::new(Code::InvalidJson, "there is no body: JSON is required here"));
    }
    if !is_within_depth(bytes, DEPTH) {
        let detail = format!("arrays and objects stand more than {DEPTH} deep within each other");
        return Err(Refusal::new(Code::InvalidJson, detail));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = IgnoredAny::deserialize(&mut reader).and_then(|_| reader.end());
    read.map_err(|error| Refusal::not_json(&error))?;
    // From here on it is UTF-8 too, for texts are all that may hold more than ASCII.
    let text = str::from_utf8(bytes).map_err(|_| Refusal::new(Code::InvalidJson, "the body is not UTF-8"))?;
    match repeated(text).map_err(|error| Refusal::not_json(&error))? {
        None => Ok(()),
        Some(way) => {
            let loc = std::iter::once("body".to_owned()).chain(way).collect();
            let msg = "a key may be given once only".to_owned();
            Err(Refusal::invalid(vec![FieldError { loc, msg }]))
        }
    }
}

/// An array or an object that is not closed yet.
enum Open {
    Array { index: usize },
    Object { keys: HashSet<String>, key: String, is_key_next: bool },
}

/// The way to the first key that its object has had before, in a text that is known to be JSON.
fn repeated(text: &str) -> Result<Option<Vec<String>>, serde_json::Error> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'{' => open.push(Open::Object { keys: HashSet::new(), key: String::new(), is_key_next: true }),
            b'[' => open.push(Open::Array { index: 0 }),
            b'}' | b']' => drop(open.pop()),
            b',' => match open.last_mut() {
                Some(Open::Object { is_key_next, .. }) => *is_key_next = true,
                Some(Open::Array { index }) => *index += 1,
                None => {}
            },
            b'"' => {
                let end = at + text_length(&text[at..]);
                // Half a surrogate pair is no text, whatever the grammar says.
                let read: String = serde_json::from_str(&text[at..end])?;
                if let Some(Open::Object { keys, key, is_key_next: is_key_next @ true }) = open.last_mut() {
                    *is_key_next = false;
                    *key = read;
                    if !keys.insert(key.clone()) {
                        return Ok(Some(open.into_iter().map(step).collect()));
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(None)
}

fn step(open: Open) -> String {
    match open {
        Open::Array { index } => index.to_string(),
        Open::Object { key, .. } => key,
    }
}

/// How long the text is that begins here, its quotes included.
fn text_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}
