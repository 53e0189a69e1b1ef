//! The arguments of a call as people type them, and as the tool's schema wants them.

use crate::Failure;
use crate::terminal::cli::CallArgs;
use anyhow::{Context as _, anyhow};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::io::Read as _;

/// What the command line says, its files read.
pub(super) enum Given {
    /// `--args`: one JSON object, as it was written.
    Whole(Box<RawValue>),
    Parts(Vec<(String, Part)>),
}

pub(super) enum Part {
    /// `key=text`: JSON if the tool wants that, else the text as it is.
    Text(String),
    /// `key:=JSON`.
    Json(Box<RawValue>),
}

pub(super) fn read(args: &CallArgs) -> Result<Given, Failure> {
    let Some(whole) = &args.args else {
        return Ok(Given::Parts(args.arguments.iter().map(|text| part(text)).collect::<Result<_, _>>()?));
    };
    let text = match (whole.as_str(), whole.strip_prefix('@')) {
        ("-", _) => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|e| Failure::Wrong(anyhow!("--args -: standard input cannot be read: {e}")))?;
            text
        }
        (_, Some(path)) => file(path, "--args")?,
        (text, None) => text.to_owned(),
    };
    match serde_json::from_str::<Box<RawValue>>(&text) {
        Ok(object) if object.get().starts_with('{') => Ok(Given::Whole(object)),
        Ok(_) => Err(Failure::Wrong(anyhow!("--args must be a JSON object, as in '{{\"key\": \"value\"}}'"))),
        Err(error) => Err(Failure::Wrong(anyhow!("--args is no JSON: {error}"))),
    }
}

fn part(text: &str) -> Result<(String, Part), Failure> {
    let Some((key, value)) = text.split_once('=').filter(|(key, _)| !matches!(*key, "" | ":")) else {
        return Err(Failure::Wrong(anyhow!("{text:?} is no argument: write key=value, or key:=JSON")));
    };
    let value = match value.strip_prefix('@') {
        Some(path) => file(path, key)?,
        None => value.to_owned(),
    };
    let Some(key) = key.strip_suffix(':') else { return Ok((key.to_owned(), Part::Text(value))) };
    match serde_json::from_str(&value) {
        Ok(json) => Ok((key.to_owned(), Part::Json(json))),
        Err(error) => Err(Failure::Wrong(anyhow!("{key}: what follows := must be JSON: {error}"))),
    }
}

fn file(path: &str, what: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::Wrong(anyhow!("{what}: {path} cannot be read: {e}")))
}

impl Given {
    /// Whether the tool's schema decides about any of it.
    pub(super) fn needs_schema(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Parts(parts) => parts.iter().any(|(_, part)| matches!(part, Part::Text(_))),
        }
    }

    /// The arguments, each of the type that the schema wants where it says so. JSON stays as it was written.
    pub(super) fn assemble(&self, schema: Option<&Value>) -> Result<Box<RawValue>, Failure> {
        let parts = match self {
            Self::Whole(object) => return Ok(object.clone()),
            Self::Parts(parts) => parts,
        };
        let mut seen = BTreeSet::new();
        let mut members = Vec::new();
        for (key, part) in parts {
            if !seen.insert(key) {
                return Err(Failure::Wrong(anyhow!("{key} is given twice")));
            }
            let value = match part {
                Part::Json(json) => json.get().to_owned(),
                Part::Text(text) => typed(text, &Wanted::of(schema, key)),
            };
            members.push(format!("{}:{value}", Value::from(key.as_str())));
        }
        let object = RawValue::from_string(format!("{{{}}}", members.join(",")));
        Ok(object.context("the arguments make no JSON")?)
    }
}

/// The JSON that a text stands for. What reads as JSON of a wanted type is that, and all else is text.
fn typed(text: &str, wanted: &Wanted) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if !value.is_string() && wanted.takes(&value) => text.to_owned(),
        Ok(_) | Err(_) => Value::from(text).to_string(),
    }
}

/// The types that a schema allows for one argument.
#[derive(Debug, PartialEq)]
enum Wanted {
    /// It does not say.
    Anything,
    Types(Vec<String>),
}

/// How deep a schema may refer to its own parts.
const DEEPEST: usize = 8;

impl Wanted {
    fn of(schema: Option<&Value>, key: &str) -> Self {
        let property = schema.and_then(|schema| Some((schema, schema.get("properties")?.get(key)?)));
        property.map_or(Self::Anything, |(root, property)| Self::by(root, property, DEEPEST))
    }

    fn by(root: &Value, schema: &Value, depth: usize) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match schema.get("type") {
            Some(Value::String(one)) => return Self::Types(vec![one.clone()]),
            Some(Value::Array(several)) => return Self::Types(several.iter().filter_map(text).collect()),
            Some(_) | None => {}
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return Self::Types(values.iter().map(|value| type_of(value).to_owned()).collect());
        }
        if let Some(value) = schema.get("const") {
            return Self::Types(vec![type_of(value).to_owned()]);
        }
        if depth == 0 {
            return Self::Anything;
        }
        let referred = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix('#'));
        if let Some(part) = referred.and_then(|at| root.pointer(at)) {
            return Self::by(root, part, depth - 1);
        }
        let choices = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
        let mut all = Vec::new();
        for choice in choices.into_iter().flatten() {
            match Self::by(root, choice, depth - 1) {
                Self::Anything => return Self::Anything,
                Self::Types(types) => all.extend(types),
            }
        }
        if all.is_empty() { Self::Anything } else { Self::Types(all) }
    }

    fn takes(&self, value: &Value) -> bool {
        let types = match self {
            Self::Anything => return true,
            Self::Types(types) => types,
        };
        let is_whole = value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0);
        types.iter().any(|wanted| type_of(value) == wanted || (wanted == "integer" && is_whole))
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parts(texts: &[&str]) -> Result<Given, Failure> {
        Ok(Given::Parts(texts.iter().map(|text| part(text)).collect::<Result<_, _>>()?))
    }

    #[track_caller]
    fn check(schema: Option<&Value>, texts: &[&str], expected: &Value) {
        match parts(texts).and_then(|given| given.assemble(schema)) {
            Ok(found) => assert_eq!(serde_json::from_str::<Value>(found.get()).unwrap(), *expected),
            Err(Failure::Failed(error) | Failure::Wrong(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn values_are_of_the_type_that_the_schema_wants() {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "flag": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "maybe": {"type": ["integer", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "level": {"enum": ["1", "2"]},
                "part": {"$ref": "#/$defs/part"},
                "any": {},
            },
            "$defs": {"part": {"type": "object"}},
        });
        let check = |texts: &[&str], expected: Value| check(Some(&schema), texts, &expected);
        check(&["text=5", "count=5", "ratio=5"], json!({"text": "5", "count": 5, "ratio": 5}));
        check(&["text=true", "flag=true"], json!({"text": "true", "flag": true}));
        check(&["tags=[\"a\"]", "part={\"a\":1}"], json!({"tags": ["a"], "part": {"a": 1}}));
        check(&["maybe=null", "either=x", "level=1"], json!({"maybe": null, "either": "x", "level": "1"}));
        check(&["either=7", "any=7", "unknown=7"], json!({"either": 7, "any": 7, "unknown": 7}));
        // What is of another type goes as text, and the server says what it thinks of that.
        check(&["count=5.5", "flag=yes", "tags=a"], json!({"count": "5.5", "flag": "yes", "tags": "a"}));
        check(&["text=\"q\"", "text2=a=b", "text3="], json!({"text": "\"q\"", "text2": "a=b", "text3": ""}));
    }

    #[test]
    fn without_a_schema_what_reads_as_json_is_json_but_texts_keep_their_quotes() {
        check(
            None,
            &["a=1", "b=x y", "c=[1]", "d=\"q\"", "e=01"],
            &json!({"a": 1, "b": "x y", "c": [1], "d": "\"q\"", "e": "01"}),
        );
        check(None, &[], &json!({}));
    }

    #[test]
    fn colon_equals_is_json_whatever_the_schema_says() {
        let schema = json!({"properties": {"a": {"type": "string"}}});
        check(Some(&schema), &["a:=5", "b:=\"x\"", "c:=null"], &json!({"a": 5, "b": "x", "c": null}));
    }

    #[test]
    fn numbers_keep_the_digits_that_were_typed() {
        let Ok(given) = parts(&["a=12345678901234567890123", "b:=1.0", "c=1e2"]) else { panic!("refused") };
        let Ok(assembled) = given.assemble(None) else { panic!("refused") };
        assert_eq!(assembled.get(), r#"{"a":12345678901234567890123,"b":1.0,"c":1e2}"#);
    }

    #[test]
    fn an_at_sign_reads_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "[1, 2]").unwrap();
        let path = path.to_str().unwrap();
        let schema = json!({"properties": {"text": {"type": "string"}}});
        check(
            Some(&schema),
            &[&format!("text=@{path}"), &format!("list=@{path}"), &format!("json:=@{path}")],
            &json!({"text": "[1, 2]", "list": [1, 2], "json": [1, 2]}),
        );
    }

    #[test]
    fn what_is_no_argument_is_a_wrong_command_line() {
        for texts in [&["a"][..], &["=b"], &[":=1"], &["a:={"], &["a=@/no/such/file"], &["a=1", "a=2"]] {
            let found = parts(texts).and_then(|given| given.assemble(None));
            assert!(matches!(found, Err(Failure::Wrong(_))), "{texts:?}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_has_an_end() {
        let schema = json!({"properties": {"a": {"$ref": "#/properties/a"}}});
        check(Some(&schema), &["a=1"], &json!({"a": 1}));
    }
}
