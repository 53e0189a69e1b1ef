//! Whether a document is JSON and names no key twice in any object: two readers of it could see two different things.

use crate::problem::{Code, FieldError, Refusal};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Refuses what is not JSON, and what says something twice.
pub(super) fn check(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.trim_ascii().is_empty() {
        return Err(Refusal::new(Code::InvalidJson, "there is no body: JSON is required here"));
    }
    let mut twice = None;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let walked = Look { way: &mut Vec::new(), twice: &mut twice }.deserialize(&mut reader);
    match (walked.and_then(|()| reader.end()), twice) {
        (_, Some(loc)) => {
            Err(Refusal::invalid(vec![FieldError { loc, msg: "a key may be given once only".to_owned() }]))
        }
        (Ok(()), None) => Ok(()),
        (Err(error), None) => Err(Refusal::not_json(&error)),
    }
}

/// Looks at one value and everything in it.
struct Look<'w> {
    /// The way to the value.
    way: &'w mut Vec<String>,
    /// The way to the first key that was there before.
    twice: &'w mut Option<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            self.way.push(key.clone());
            if !seen.insert(key) {
                let loc = std::iter::once("body".to_owned()).chain(self.way.drain(..)).collect();
                *self.twice = Some(loc);
                return Err(M::Error::custom("a key was given twice"));
            }
            map.next_value_seed(Look { way: self.way, twice: self.twice })?;
            self.way.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0usize.. {
            self.way.push(index.to_string());
            let next = seq.next_element_seed(Look { way: self.way, twice: self.twice })?;
            self.way.pop();
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
