//! What a model is shown of a long result: its beginning and its end, and of a JSON array whole elements.

use std::borrow::Cow;
use std::fmt::Write as _;

use portolan_wire::json::Members;
use serde_json::value::RawValue;

/// What a model is shown of one result.
pub(crate) const SHOWN: usize = 8 * 1024;
/// Of what is shown, this much is the end: lists begin with what matters, logs end with it.
const END_SHARE: usize = 4;

/// The text if it is short, else what is left of it in about `limit` bytes, with a word on what is missing.
pub(crate) fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(by_elements(text.trim(), limit).unwrap_or_else(|| cut(text, limit)))
}

/// Only the beginning, for places where a line has to do.
pub(crate) fn beginning(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(limit)]))
}

fn cut(text: &str, limit: usize) -> String {
    let end = limit / END_SHARE;
    let head = text.floor_char_boundary(limit - end);
    let tail = text.ceil_char_boundary(text.len() - end);
    let missing = tail - head;
    format!("{}\n[… {missing} of {} bytes left out …]\n{}", &text[..head], text.len(), &text[tail..])
}

/// The same JSON with fewer elements in its array, or in the largest array of its object.
fn by_elements(text: &str, limit: usize) -> Option<String> {
    if text.starts_with('[') {
        return array(text, limit);
    }
    let members = text.starts_with('{').then(|| Members::parse(text).ok())??;
    let arrays = members.iter().filter(|(_, value)| value.starts_with('['));
    let (longest, list) = arrays.max_by_key(|(_, value)| value.len())?;
    let others = text.len() - list.len();
    let list = array(list, limit.checked_sub(others).filter(|room| *room > limit / 2)?)?;
    let mut object = String::with_capacity(others + list.len());
    for (key, value) in members.iter() {
        object.push(if object.is_empty() { '{' } else { ',' });
        object.push_str(&serde_json::to_string(key).ok()?);
        object.push(':');
        object.push_str(if key == longest { &list } else { value });
    }
    object.push('}');
    Some(object)
}

/// As many elements from both ends as fit; nothing if not even the first does.
fn array(text: &str, limit: usize) -> Option<String> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let size = |element: &&RawValue| element.get().len() + 1;
    let fitting = |room: usize, sizes: &mut dyn Iterator<Item = usize>| {
        let mut taken = 0;
        sizes
            .take_while(|size| {
                taken += size;
                taken <= room
            })
            .count()
    };
    let end = limit / END_SHARE;
    let head = fitting(limit - end, &mut elements.iter().map(size));
    if head == 0 {
        return None;
    }
    let tail = fitting(end, &mut elements[head..].iter().rev().map(size));
    let missing = elements.len() - head - tail;
    let mut list = String::with_capacity(limit + 64);
    for element in &elements[..head] {
        list.push(if list.is_empty() { '[' } else { ',' });
        list.push_str(element.get());
    }
    if missing > 0 {
        // Writing to a string cannot fail.
        let _ = write!(list, ",\"[… {missing} of {} elements left out …]\"", elements.len());
    }
    for element in &elements[elements.len() - tail..] {
        list.push(',');
        list.push_str(element.get());
    }
    list.push(']');
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_short_text_stays_as_it_is() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(beginning("abc", 3), "abc");
        assert_eq!(beginning("äbc", 1), "…");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("begin{}end", "x".repeat(1000));
        let short = shortened(&text, 100);
        assert!(short.starts_with("beginxxx") && short.ends_with("xxxend"), "{short}");
        assert!(short.contains("[… 908 of 1008 bytes left out …]"), "{short}");
    }

    #[test]
    fn an_array_keeps_whole_elements_of_both_ends() {
        let list: Vec<Value> = (0..100).map(|n| json!({ "n": n })).collect();
        let short: Vec<Value> = serde_json::from_str(&shortened(&json!(list).to_string(), 100)).unwrap();
        assert_eq!(short[0], json!({ "n": 0 }));
        assert_eq!(short.last(), Some(&json!({ "n": 99 })));
        let missing = 100 - (short.len() - 1);
        assert!(short.contains(&json!(format!("[… {missing} of 100 elements left out …]"))), "{short:?}");
    }

    #[test]
    fn the_largest_array_of_an_object_is_what_is_shortened() {
        let list: Vec<u32> = (1000..1200).collect();
        let text = json!({ "total": 200, "items": list, "tags": [1] }).to_string();
        let short: Value = serde_json::from_str(&shortened(&text, 200)).unwrap();
        assert_eq!(
            (&short["total"], &short["tags"], &short["items"][0]),
            (&json!(200), &json!([1]), &json!(1000))
        );
        assert!(short["items"].as_array().unwrap().len() < 60);
    }

    #[test]
    fn what_has_no_elements_that_fit_is_cut_as_text() {
        let text = json!(["x".repeat(1000)]).to_string();
        assert!(shortened(&text, 100).contains("bytes left out"));
        let deep = "[".repeat(10_000);
        assert!(shortened(&deep, 100).contains("bytes left out"));
    }

    proptest! {
        #[test]
        fn whatever_it_is_it_becomes_short(text in "[\\[{}\\],:\"0-9aä€ ]{0,400}", limit in 40_usize..200) {
            prop_assert!(shortened(&text, limit).len() <= limit + 80);
        }
    }
}
