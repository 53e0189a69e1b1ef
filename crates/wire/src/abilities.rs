//! What a client can be asked: its capabilities, in one canonical form.

use crate::json::{self, Members};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Nobody's capabilities are longer than this; what is would only fill tables.
const LONGEST: usize = 8 * 1024;

/// A client's capabilities as JSON with sorted keys: two clients that declare the same are equal. Most that come without a
/// session declare nothing, and then there is nothing to share either.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Abilities(Option<Arc<str>>);

impl Abilities {
    /// Reads the `capabilities` of a client; what is no object, or is out of all proportion, counts as none.
    pub fn parse(raw: &str) -> Self {
        if raw.len() > LONGEST || raw == "{}" || !raw.starts_with('{') {
            return Self(None);
        }
        let mut out = Vec::with_capacity(raw.len());
        let sorted = write_sorted(raw, &mut out).and_then(|()| String::from_utf8(out).ok());
        Self(sorted.filter(|text| text != "{}").map(Arc::from))
    }

    pub fn as_raw(&self) -> &str {
        self.0.as_deref().unwrap_or("{}")
    }

    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the client can be asked this.
    pub fn allow(&self, method: &str, params: Option<&str>) -> bool {
        self.missing(method, params).is_none()
    }

    /// The capability that the client would have to declare to be asked this, as JSON.
    pub fn missing(&self, method: &str, params: Option<&str>) -> Option<Value> {
        let own: Value = serde_json::from_str(self.as_raw()).unwrap_or_default();
        let params = params.and_then(|raw| Members::parse(raw).ok()).unwrap_or_default();
        let needed: &[&str] = match method {
            "sampling/createMessage" if params.get("tools").is_some() => &["sampling", "tools"],
            "sampling/createMessage" => &["sampling"],
            "elicitation/create" if params.get("mode") == Some("\"url\"") => &["elicitation", "url"],
            // Before there were two modes, the bare capability meant forms.
            "elicitation/create" if own["elicitation"].as_object().is_some_and(|e| e.contains_key("url")) => {
                &["elicitation", "form"]
            }
            "elicitation/create" => &["elicitation"],
            "roots/list" => &["roots"],
            // What we do not know, the client may.
            _ => return None,
        };
        let has = needed.iter().try_fold(&own, |at, key| at.get(key)).is_some();
        let nested = || {
            needed.iter().rev().fold(Value::Object(serde_json::Map::new()), |inner, key| {
                Value::Object([((*key).to_owned(), inner)].into_iter().collect())
            })
        };
        (!has).then(nested)
    }

    /// Whether it may be asked for roots, which say what a server may touch for this one client.
    pub fn has_roots(&self) -> bool {
        self.has("roots")
    }

    pub fn has_extension(&self, name: &str) -> bool {
        let own: Value = serde_json::from_str(self.as_raw()).unwrap_or_default();
        own["extensions"].get(name).is_some()
    }

    /// The same, with an extension declared.
    #[must_use]
    pub fn with_extension(&self, name: &str) -> Self {
        let mut own: Value = serde_json::from_str(self.as_raw()).unwrap_or_default();
        if !own.is_object() {
            own = Value::Object(serde_json::Map::new());
        }
        if !own["extensions"].is_object() {
            own["extensions"] = Value::Object(serde_json::Map::new());
        }
        own["extensions"][name] = Value::Object(serde_json::Map::new());
        Self(Some(own.to_string().into()))
    }

    fn has(&self, capability: &str) -> bool {
        Members::parse(self.as_raw()).is_ok_and(|own| own.get(capability).is_some())
    }
}

/// Writes a value with the keys of its objects in order; numbers and texts stay the bytes they are.
fn write_sorted(raw: &str, out: &mut Vec<u8>) -> Option<()> {
    match raw.as_bytes().first()? {
        b'{' => {
            let members = Members::parse(raw).ok()?;
            let mut sorted: Vec<(&str, &str)> = members.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                json::write_text(key, out);
                out.push(b':');
                write_sorted(value, out)?;
            }
            out.push(b'}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            out.push(b'[');
            for (at, item) in items.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_sorted(item.get(), out)?;
            }
            out.push(b']');
        }
        _ => out.extend_from_slice(raw.as_bytes()),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_capabilities_in_another_order_are_equal() {
        let one = Abilities::parse(r#"{"sampling":{"tools":{}}, "roots":{}}"#);
        assert_eq!(one, Abilities::parse(r#"{"roots":{},"sampling":{"tools":{}}}"#));
        assert_ne!(one, Abilities::parse(r#"{"roots":{}}"#));
    }

    #[test]
    fn what_nobody_knows_keeps_its_bytes() {
        let raw = r#"{"z":{"b":[1e2,{"y":1.0,"x":1e400}],"a":123456789012345678901234567890}}"#;
        let sorted = r#"{"z":{"a":123456789012345678901234567890,"b":[1e2,{"x":1e400,"y":1.0}]}}"#;
        assert_eq!(Abilities::parse(raw).as_raw(), sorted);
    }

    #[test]
    fn what_is_no_object_counts_as_none() {
        for raw in ["", "[]", "{", "null", "{}"] {
            assert!(Abilities::parse(raw).is_none(), "{raw}");
        }
    }

    #[track_caller]
    fn check(capabilities: &str, method: &str, params: &str, expected: bool) {
        assert_eq!(
            Abilities::parse(capabilities).allow(method, Some(params)),
            expected,
            "{capabilities} {method}"
        );
    }

    #[test]
    fn a_client_is_asked_only_what_it_declared() {
        check(r#"{"sampling":{}}"#, "sampling/createMessage", "{}", true);
        check(r#"{"sampling":{}}"#, "sampling/createMessage", r#"{"tools":[]}"#, false);
        check(r#"{"sampling":{"tools":{}}}"#, "sampling/createMessage", r#"{"tools":[]}"#, true);
        check(r#"{"sampling":{}}"#, "elicitation/create", "{}", false);
        check(r#"{"elicitation":{}}"#, "elicitation/create", "{}", true);
        check(r#"{"elicitation":{}}"#, "elicitation/create", r#"{"mode":"url"}"#, false);
        check(r#"{"elicitation":{"url":{}}}"#, "elicitation/create", r#"{"mode":"url"}"#, true);
        check(r#"{"elicitation":{"url":{}}}"#, "elicitation/create", r#"{"mode":"form"}"#, false);
        check(r#"{"roots":{}}"#, "roots/list", "{}", true);
        check("{}", "roots/list", "{}", false);
        check("{}", "vendor/new", "{}", true);
    }

    #[test]
    fn what_is_missing_is_named_as_it_would_be_declared() {
        let none = Abilities::default();
        let missing = none.missing("elicitation/create", Some(r#"{"mode":"url"}"#));
        assert_eq!(missing, Some(serde_json::json!({"elicitation": {"url": {}}})));
    }
}
