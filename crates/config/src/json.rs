//! JSON that keeps what `serde_json::Value` loses: keys that are written twice.

mod lenient;

use crate::problem::{Code, Problem};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// As text, because whoever wrote a port where a text belongs meant its digits.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

/// The members in the order of the file, double ones included.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Object(Vec<(String, Json)>);

impl Object {
    /// The last one wins, as with every other reader; that there is another is reported elsewhere.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// The last of two members with one key stays the one that `get` finds.
impl FromIterator<(String, Json)> for Object {
    fn from_iter<T: IntoIterator<Item = (String, Json)>>(members: T) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Json {
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        Self::read(text).map_err(|error| told(&error, |line, message| remedy(text, line, message)))
    }

    /// The same for files of editors, where comments and a comma before a closing bracket are allowed. Lines and
    /// columns are those of the file.
    pub(crate) fn parse_lenient(text: &str) -> Result<Self, Problem> {
        let mend = |_, message: &str| if message.contains(TOO_DEEP) { SHALLOWER } else { MEND };
        Self::read(&lenient::plain(text)).map_err(|error| told(&error, mend))
    }

    fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What it is, for people, and without its value: that may be a secret.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The same as everybody else has it, for what is passed on rather than read.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            // Its digits were written from a number, so they are one.
            Self::Number(digits) => digits.parse().map_or(Value::Null, Value::Number),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(object) => {
                object.iter().map(|(key, value)| (key.to_owned(), value.to_value())).collect()
            }
        }
    }

    /// One problem for each key that is written twice in the same object.
    pub(crate) fn duplicates(&self, at: &JsonPath) -> Vec<Problem> {
        let mut problems = Vec::new();
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => {}
            Self::List(items) => {
                for (n, item) in items.iter().enumerate() {
                    problems.extend(item.duplicates(&at.index(n)));
                }
            }
            Self::Object(object) => {
                let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
                for (key, value) in object.iter() {
                    let at = at.key(key);
                    if !seen.insert(key) && told.insert(key) {
                        let message = "The key is written twice, and only one can count: keep one of them";
                        problems.push(Problem::schema(at.as_str(), message));
                    }
                    problems.extend(value.duplicates(&at));
                }
            }
        }
        problems
    }
}

const TOO_DEEP: &str = "recursion limit";
const SHALLOWER: &str = "objects and arrays stand within each other more than 127 deep";
const MEND: &str = "mend the file there; nothing of it was used";

fn told(error: &serde_json::Error, remedy: impl Fn(usize, &str) -> &'static str) -> Problem {
    let (line, column) = (error.line(), error.column());
    let mut message = error.to_string();
    // The position is told apart from the message.
    if let Some(at) = message.rfind(" at line ") {
        message.truncate(at);
    }
    let remedy = remedy(line, &message);
    let message = format!("{message}; {remedy}");
    Problem { line: Some(line), column: Some(column), ..Problem::new(Code::InvalidJson, "$", message) }
}

/// How the usual mistakes are mended.
fn remedy(text: &str, line: usize, message: &str) -> &'static str {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    if text.trim().is_empty() {
        "the file is empty: write {\"mcpServers\": {}}"
    } else if message.contains("trailing comma") {
        "remove the comma before the closing bracket"
    } else if message.contains(TOO_DEEP) {
        SHALLOWER
    } else if line.contains("//") || line.contains("/*") {
        "JSON has no comments: remove them"
    } else {
        MEND
    }
}

/// Where something stands in the file: `$.mcpServers.fs.args[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath(String);

impl JsonPath {
    pub(crate) fn root() -> Self {
        Self("$".to_owned())
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !key.is_empty() && key.chars().all(is_plain) {
            Self(format!("{}.{key}", self.0))
        } else {
            Self(format!("{}[{key:?}]", self.0))
        }
    }

    pub(crate) fn index(&self, n: usize) -> Self {
        Self(format!("{}[{n}]", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for JsonPath {
    fn from(path: &str) -> Self {
        Self(path.to_owned())
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(Object(object)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_broken(text: &str, position: (usize, usize), message: &str) {
        let problem = Json::parse(text).unwrap_err();
        assert_eq!((problem.line, problem.column), (Some(position.0), Some(position.1)), "{problem}");
        assert!(problem.message.contains(message), "{problem}");
    }

    #[test]
    fn broken_json_is_told_with_its_position_and_a_remedy() {
        check_broken("", (1, 0), "the file is empty");
        check_broken("{\n  \"a\": 1,\n}", (3, 1), "trailing comma; remove the comma");
        check_broken("{\n  // note\n}", (2, 3), "no comments");
        check_broken("{\"a\" 1}", (1, 6), "expected `:`; mend the file there");
        check_broken(&"[".repeat(500), (1, 128), "127 deep");
    }

    #[test]
    fn a_key_that_is_written_twice_is_told_once_wherever_it_stands() {
        let json = Json::parse(r#"{"a": [{"b": 1, "b": 2, "b": 3}], "x y": 1, "x y": 2}"#).unwrap();
        let paths: Vec<String> = json.duplicates(&JsonPath::root()).into_iter().map(|p| p.path).collect();
        assert_eq!(paths, ["$.a[0].b", "$[\"x y\"]"]);
    }

    #[test]
    fn every_kind_of_value_is_kept() {
        let json = Json::parse(r#"[null, true, -1, 2.5, 18446744073709551615, "é\n", {}]"#).unwrap();
        let number = |text: &str| Json::Number(text.to_owned());
        let expected = vec![
            Json::Null,
            Json::Bool(true),
            number("-1"),
            number("2.5"),
            number("18446744073709551615"),
            Json::Text("é\n".to_owned()),
            Json::Object(Object::default()),
        ];
        assert_eq!(json, Json::List(expected));
    }

    #[test]
    fn what_is_passed_on_is_what_was_written() {
        let text = r#"{"a": [null, true, -1, 2.5, 1e300, 18446744073709551615, "é\n"], "b": {"c": {}}}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Json::parse(text).unwrap().to_value(), expected);
    }
}
