//! Raw JSON: the members of one object, its depth, and text as a JSON string. Values stay bytes.

use crate::envelope::Malformed;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The members of a JSON object in their order, values untouched. An object that names a key twice is refused:
/// two readers of it could see two different things.
#[derive(Debug, Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        let mut members: Vec<(Cow<'a, str>, &'a str)> = Vec::with_capacity(6);
        each_member(text, |key, value| {
            let is_new = members.iter().all(|(k, _)| *k != key);
            if is_new {
                members.push((key, value));
            }
            is_new
        })?;
        Ok(Self(members))
    }

    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| *v)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(k, v)| (k.as_ref(), *v))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads an object member by member. `take` says whether it has not seen the key before.
pub(crate) fn each_member<'a>(
    text: &'a str,
    take: impl FnMut(Cow<'a, str>, &'a str) -> bool,
) -> Result<(), Malformed> {
    struct Each<F>(F);
    impl<'de, F: FnMut(Cow<'de, str>, &'de str) -> bool> Visitor<'de> for Each<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
            let mut count = 0;
            while let Some(Key(key)) = map.next_key()? {
                if count == MAX_MEMBERS {
                    return Err(M::Error::custom(format_args!("more than {MAX_MEMBERS} keys in one object")));
                }
                count += 1;
                let value: &'de RawValue = map.next_value()?;
                // A copy of the key would be for the error alone, and where it has no escapes it is none.
                let named = key.clone();
                if !(self.0)(key, value.get()) {
                    return Err(M::Error::custom(format_args!("duplicate key {named:?}")));
                }
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(Each(take)).and_then(|()| reader.end()).map_err(Malformed::from)
}

/// Envelopes have a handful of keys; an object with thousands is nobody's envelope, and a scan for each key would
/// take quadratic time.
const MAX_MEMBERS: usize = 512;

/// A key that borrows where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Text).map(Key)
    }
}

/// The text of a raw JSON string, or `None` for anything else.
pub fn text(raw: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Key<'_>>(raw).ok().map(|Key(text)| text)
}

/// Writes `text` as a JSON string.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    let plain = text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing a string into a vector cannot fail.
        serde_json::to_writer(&mut *out, text).unwrap_or_default();
    }
}

/// Writes an object from `(key, raw value)` pairs.
pub fn write_object<'m>(members: impl Iterator<Item = (&'m str, &'m str)>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut is_first = true;
    for (key, value) in members {
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        write_text(key, out);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
}

/// Whether brackets and braces nest at most `max` deep. Raw values are skipped without recursion, so depth has to
/// be looked at by itself; short messages are let through by counting alone.
pub fn is_within_depth(bytes: &[u8], max: usize) -> bool {
    if memchr::memchr2_iter(b'[', b'{', bytes).take(max + 1).count() <= max {
        return true;
    }
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for &b in bytes {
        if in_string {
            match b {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match b {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return false;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_keep_their_order_and_their_bytes() {
        let members = Members::parse(r#"{"b": 1.0, "a":[ 1 ,2],"c":"\u0041"}"#).unwrap();
        assert_eq!(
            members.iter().collect::<Vec<_>>(),
            [("b", "1.0"), ("a", "[ 1 ,2]"), ("c", r#""\u0041""#)]
        );
    }

    #[test]
    fn a_key_given_twice_is_refused_however_it_is_spelt() {
        for text in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(matches!(Members::parse(text), Err(Malformed::DuplicateKey(_))), "{text}");
        }
        assert!(Members::parse(r#"{"a":1,"A":2}"#).is_ok(), "keys are case-sensitive");
    }

    #[test]
    fn depth_is_counted_outside_of_strings_only() {
        let deep = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        assert!(is_within_depth(deep(128).as_bytes(), 128));
        assert!(!is_within_depth(deep(129).as_bytes(), 128));
        assert!(is_within_depth(format!("[\"{}\\\"{}\"]", "[".repeat(500), "{".repeat(500)).as_bytes(), 128));
        assert!(is_within_depth("[1],".repeat(500).as_bytes(), 128), "wide is not deep");
    }

    proptest! {
        #[test]
        fn text_round_trips(s in "\\PC*|[\\x00-\\x7f]*") {
            let mut out = Vec::new();
            write_text(&s, &mut out);
            let raw = String::from_utf8(out).unwrap();
            let read = text(&raw);
            prop_assert_eq!(read.as_deref(), Some(s.as_str()));
        }
    }
}
