//! Arguments by their paths: one pass over the raw text for any number of them, without a tree and without a copy.

use super::Mirror;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

/// What stands at the end of a mirror's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// Nothing; so many keys of the path were there.
    Passed(usize),
    /// This raw JSON.
    Value(&'a str),
    /// A key of the path was given twice, so that two readers could see two values, or the text cannot be read.
    Unclear,
}

impl Default for Found<'_> {
    fn default() -> Self {
        Self::Passed(0)
    }
}

/// Finds every mirror's argument. The mirrors are ordered by their paths, and none lies below another.
pub(super) fn find<'a>(mirrors: &[Mirror], arguments: Option<&'a str>, found: &mut [Found<'a>]) {
    let Some(arguments) = arguments else { return };
    let mut json = serde_json::Deserializer::from_str(arguments);
    let read = Seek { mirrors, depth: 0, found }.deserialize(&mut json);
    if read.and_then(|()| json.end()).is_err() {
        found.fill(Found::Unclear);
    }
}

/// The search in one value, for mirrors that have the first `depth` keys of their paths in common.
struct Seek<'s, 'a> {
    mirrors: &'s [Mirror],
    depth: usize,
    found: &'s mut [Found<'a>],
}

impl<'a> DeserializeSeed<'a> for Seek<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Seek<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let Self { mirrors, depth, found } = self;
        while let Some(range) = map.next_key_seed(Step { mirrors, depth })? {
            let (mirrors, found) = (&mirrors[range.clone()], &mut found[range]);
            if mirrors.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else if found.iter().any(|found| *found != Found::Passed(depth)) {
                found.fill(Found::Unclear);
                map.next_value::<IgnoredAny>()?;
            } else if mirrors.iter().any(|mirror| mirror.path.len() == depth + 1) {
                found.fill(Found::Value(map.next_value::<&RawValue>()?.get()));
            } else {
                found.fill(Found::Passed(depth + 1));
                map.next_value_seed(Seek { mirrors, depth: depth + 1, found })?;
            }
        }
        Ok(())
    }

    // Where anything but an object stands, nothing lies below.

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<(), S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a key, and gives the mirrors whose paths go on with it.
struct Step<'s> {
    mirrors: &'s [Mirror],
    depth: usize,
}

impl<'a> DeserializeSeed<'a> for Step<'_> {
    type Value = Range<usize>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Step<'_> {
    type Value = Range<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let next = |mirror: &Mirror| mirror.path.get(self.depth).map(|next| (**next).cmp(key));
        let start = self.mirrors.partition_point(|mirror| next(mirror) == Some(Ordering::Less));
        let len = self.mirrors[start..].partition_point(|mirror| next(mirror) == Some(Ordering::Equal));
        Ok(start..start + len)
    }
}
