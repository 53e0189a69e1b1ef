//! The TOML of Codex, and its entries, which name variables where others write references to them.

use crate::json::{Json, Object};
use crate::problem::Problem;
use toml::{Table, Value};

/// What Codex keeps with a server for itself.
const FOREIGN: [&str; 11] = [
    "default_tools_approval_mode",
    "experimental_environment",
    "name",
    "oauth",
    "oauth_resource",
    "required",
    "scopes",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "tools",
];

/// A longer time is a slip of the pen.
const LONGEST_SECONDS: f64 = 365.0 * 24.0 * 3600.0;

pub(super) fn parse(text: &str) -> Result<Json, Problem> {
    let table = text.parse::<Table>().map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let message = format!("the file is no TOML: {}", error.message().replace('\n', ", "));
        let line = before.matches('\n').count() + 1;
        Problem { line: Some(line), column: Some(column), ..Problem::schema("$", message) }
    })?;
    Ok(json(&Value::Table(table)))
}

fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::Text(text.clone()),
        Value::Integer(number) => Json::Number(number.to_string()),
        Value::Float(number) => Json::Number(number.to_string()),
        Value::Boolean(claim) => Json::Bool(*claim),
        Value::Datetime(moment) => Json::Text(moment.to_string()),
        Value::Array(items) => Json::List(items.iter().map(json).collect()),
        Value::Table(members) => {
            Json::Object(members.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
    }
}

pub(super) fn entry(fields: &Object) -> Object {
    let mut members = Vec::new();
    let (mut env, mut headers) = (Vec::new(), Vec::new());
    for (key, value) in fields.iter().filter(|(key, _)| !FOREIGN.contains(key)) {
        match (key, value) {
            ("env", Json::Object(values)) => env.extend(pairs(values)),
            ("env_vars", Json::List(names)) => env.extend(names.iter().filter_map(passed_on)),
            ("http_headers", Json::Object(values)) => headers.extend(pairs(values)),
            ("env_http_headers", Json::Object(names)) => {
                headers.extend(
                    names.iter().filter_map(|(header, name)| Some((header.to_owned(), refer("", name)?))),
                );
            }
            ("bearer_token_env_var", name) => {
                headers.extend(refer("Bearer ", name).map(|value| ("Authorization".to_owned(), value)));
            }
            ("tool_timeout_sec", Json::Number(seconds)) => members.extend(timeout(seconds)),
            _ => members.push((key.to_owned(), value.clone())),
        }
    }
    // An address is one of Streamable HTTP: Codex knows no other.
    if fields.get("url").is_some() {
        members.push(("type".to_owned(), Json::Text("http".to_owned())));
    }
    for (key, values) in [("env", env), ("headers", headers)] {
        if !values.is_empty() {
            members.push((key.to_owned(), Json::Object(values.into_iter().collect())));
        }
    }
    members.into_iter().collect()
}

fn pairs(values: &Object) -> impl Iterator<Item = (String, Json)> {
    values.iter().map(|(name, value)| (name.to_owned(), value.clone()))
}

fn refer(before: &str, name: &Json) -> Option<Json> {
    let Json::Text(name) = name else { return None };
    Some(Json::Text(format!("{before}${{{name}}}")))
}

/// A variable that a server is handed as it is: its name alone, or with where it comes from.
fn passed_on(variable: &Json) -> Option<(String, Json)> {
    let name = match variable {
        Json::Object(fields) => fields.get("name")?,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => variable,
    };
    let Json::Text(text) = name else { return None };
    Some((text.clone(), refer("", name)?))
}

fn timeout(seconds: &str) -> Option<(String, Json)> {
    let seconds: f64 = seconds.parse().ok()?;
    let is_usable = seconds > 0.0 && seconds <= LONGEST_SECONDS;
    let time = std::time::Duration::try_from_secs_f64(seconds).ok().filter(|_| is_usable)?;
    let timeout = Json::Text(format!("{}ms", time.as_millis().max(1)));
    Some(("portolan".to_owned(), Json::Object([("timeout".to_owned(), timeout)].into_iter().collect())))
}
