//! What is asked: the query, how many results, and of which servers.

use crate::error::QueryError;
use serde_json::Value;
use std::ops::RangeInclusive;

const QUERY_CHARACTERS: RangeInclusive<usize> = 1..=10_000;
const MAX_RESULTS: RangeInclusive<u32> = 10..=100;
const DEFAULT_RESULTS: usize = 30;
/// More than there can be registered; a list beyond that is no wish.
const MOST_SERVERS: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryInput {
    pub query: String,
    pub max_results: usize,
    /// None for all that there are.
    pub servers: Option<Vec<String>>,
}

impl QueryInput {
    /// Reads the arguments of a call. Members that the schema does not name are left alone, as it allows them.
    pub fn read(arguments: &Value) -> Result<Self, QueryError> {
        if !arguments.is_object() {
            return Err(invalid("arguments", format!("Must be an object, got {}", kind(arguments))));
        }
        Ok(Self {
            query: query(arguments.get("query"))?,
            max_results: max_results(arguments.get("maxResults"))?,
            servers: servers(arguments.get("servers"))?,
        })
    }
}

pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> QueryError {
    QueryError::Invalid { field, reason: reason.into() }
}

fn query(value: Option<&Value>) -> Result<String, QueryError> {
    let value = value.ok_or_else(|| invalid("query", "Is required"))?;
    let Value::String(query) = value else {
        return Err(invalid("query", format!("Must be a string, got {}", kind(value))));
    };
    let length = query.chars().count();
    if !QUERY_CHARACTERS.contains(&length) {
        let (least, most) = (QUERY_CHARACTERS.start(), QUERY_CHARACTERS.end());
        return Err(invalid("query", format!("Must have {least} to {most} characters, got {length}")));
    }
    if query.trim().is_empty() {
        return Err(invalid("query", "Must not be blank"));
    }
    Ok(query.clone())
}

fn max_results(value: Option<&Value>) -> Result<usize, QueryError> {
    let Some(value) = value else { return Ok(DEFAULT_RESULTS) };
    let Value::Number(number) = value else {
        return Err(invalid("maxResults", format!("Must be an integer, got {}", kind(value))));
    };
    // JSON does not tell 20 from 20.0, and clients write either.
    let value = number.as_f64().unwrap_or(f64::NAN);
    let is_whole = value.fract().abs() < f64::EPSILON;
    if !is_whole {
        return Err(invalid("maxResults", format!("Must be an integer, got {number}")));
    }
    let mut allowed = MAX_RESULTS;
    let wanted = allowed.find(|count| (f64::from(*count) - value).abs() < f64::EPSILON);
    let out_of_range = || {
        let (least, most) = (MAX_RESULTS.start(), MAX_RESULTS.end());
        invalid("maxResults", format!("Must be between {least} and {most}, got {number}"))
    };
    wanted.and_then(|count| usize::try_from(count).ok()).ok_or_else(out_of_range)
}

/// An empty list asks for nothing in particular, as an absent one does.
fn servers(value: Option<&Value>) -> Result<Option<Vec<String>>, QueryError> {
    let Some(value) = value else { return Ok(None) };
    let Value::Array(entries) = value else {
        return Err(invalid("servers", format!("Must be an array of strings, got {}", kind(value))));
    };
    if entries.len() > MOST_SERVERS {
        let reason = format!("Must have at most {MOST_SERVERS} names, got {}", entries.len());
        return Err(invalid("servers", reason));
    }
    let mut names: Vec<String> = Vec::with_capacity(entries.len());
    for entry in entries {
        let Value::String(name) = entry else {
            return Err(invalid(
                "servers",
                format!("Must be an array of strings, got {} in it", kind(entry)),
            ));
        };
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(Some(names).filter(|names| !names.is_empty()))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(arguments: &Value, query: &str, max_results: usize, servers: Option<&[&str]>) {
        let servers = servers.map(|names| names.iter().map(ToString::to_string).collect());
        let expected = QueryInput { query: query.to_owned(), max_results, servers };
        assert_eq!(QueryInput::read(arguments).as_ref(), Ok(&expected), "{arguments}");
    }

    #[track_caller]
    fn refused(arguments: &Value, field: &'static str, reason: &str) {
        assert_eq!(QueryInput::read(arguments), Err(invalid(field, reason)), "{arguments}");
    }

    #[test]
    fn what_the_schema_allows_is_read_and_defaults_fill_the_rest() {
        check(&json!({"query": "q"}), "q", 30, None);
        check(&json!({"query": "q", "maxResults": 10, "more": 1}), "q", 10, None);
        check(&json!({"query": "q", "maxResults": 100.0}), "q", 100, None);
        check(&json!({"query": "q", "servers": ["b", "a", "b"]}), "q", 30, Some(&["b", "a"]));
        check(&json!({"query": "q", "servers": []}), "q", 30, None);
        let longest = "é".repeat(10_000);
        check(&json!({"query": longest}), &longest, 30, None);
    }

    #[test]
    fn seed_004_what_it_does_not_allow_is_refused_with_field_and_reason() {
        refused(&json!({}), "query", "Is required");
        refused(&json!({"query": 1}), "query", "Must be a string, got a number");
        refused(&json!({"query": ""}), "query", "Must have 1 to 10000 characters, got 0");
        refused(&json!({"query": " \n"}), "query", "Must not be blank");
        let long = json!({"query": "é".repeat(10_001)});
        refused(&long, "query", "Must have 1 to 10000 characters, got 10001");
        let max = |value: Value| json!({"query": "q", "maxResults": value});
        refused(&max(json!(500)), "maxResults", "Must be between 10 and 100, got 500");
        refused(&max(json!(9)), "maxResults", "Must be between 10 and 100, got 9");
        refused(&max(json!(-1e300)), "maxResults", "Must be between 10 and 100, got -1e+300");
        refused(&max(json!(20.5)), "maxResults", "Must be an integer, got 20.5");
        refused(&max(json!("20")), "maxResults", "Must be an integer, got a string");
        refused(&max(json!(null)), "maxResults", "Must be an integer, got null");
        let servers = |value: Value| json!({"query": "q", "servers": value});
        refused(&servers(json!("a")), "servers", "Must be an array of strings, got a string");
        refused(&servers(json!([null])), "servers", "Must be an array of strings, got null in it");
        refused(&json!([]), "arguments", "Must be an object, got an array");
    }
}
