//! A server's `portolan.query`: the tool through which a question to many servers asks this one.

use super::reader::Reader;
use crate::json::Json;
use portolan_model::QueryWay;
use serde_json::{Map, Value};

const KEYS: [&str; 3] = ["tool", "argument", "arguments"];

/// Something is there that cannot be used, and the report says so.
struct Unusable;

/// Whatever is wrong is a warning: without this setting the server is asked all the same, in the best safe way. What
/// was not understood is not used in part either, since that would ask something else than was meant.
pub(super) fn read(own: &mut Reader<'_>) -> Option<QueryWay> {
    match own.get("query")? {
        Json::Text(tool) if !tool.trim().is_empty() => Some(QueryWay::new(tool)),
        Json::Object(fields) => {
            let mut reader = Reader::new(own.at.key("query"), fields, own.report);
            for key in fields.keys().filter(|key| !KEYS.contains(key)) {
                reader.report.unknown_key(&reader.at.key(key), key, &KEYS);
            }
            way(&mut reader)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_) => {
            own.warn("query", "ignored; write the name of a tool, or an object with `tool`");
            None
        }
    }
}

fn way(reader: &mut Reader<'_>) -> Option<QueryWay> {
    let tool = name(reader, "tool", "write the name of a tool");
    if matches!(tool, Ok(None)) {
        reader.warn("tool", "missing, so the query is ignored; write the name of a tool");
    }
    let argument = name(reader, "argument", "write the name of the argument that takes the question");
    let arguments = arguments(reader);
    let (Ok(Some(tool)), Ok(argument), Ok(arguments)) = (tool, argument, arguments) else { return None };
    if argument.as_ref().is_some_and(|argument| arguments.contains_key(argument)) {
        reader.warn("arguments", "holds the `argument` too; the question takes its place");
    }
    Some(QueryWay::new(tool).with_argument(argument).with_arguments(arguments))
}

fn name(reader: &mut Reader<'_>, key: &str, remedy: &str) -> Result<Option<String>, Unusable> {
    match reader.get(key) {
        None => Ok(None),
        Some(Json::Text(text)) if !text.trim().is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(unusable(reader, key, remedy)),
    }
}

fn arguments(reader: &mut Reader<'_>) -> Result<Map<String, Value>, Unusable> {
    match reader.get("arguments") {
        None => Ok(Map::new()),
        Some(Json::Object(members)) => {
            Ok(members.iter().map(|(key, value)| (key.to_owned(), value.to_value())).collect())
        }
        Some(_) => Err(unusable(reader, "arguments", "write an object, such as {\"limit\": 20}")),
    }
}

fn unusable(reader: &mut Reader<'_>, key: &str, remedy: &str) -> Unusable {
    reader.warn(key, &format!("not usable, so the query is ignored; {remedy}"));
    Unusable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::{Servers, parse_servers};

    /// A server's query, and the warnings that there are.
    #[track_caller]
    fn read_query(query: &str) -> (Option<QueryWay>, Vec<String>) {
        let text =
            format!(r#"{{"mcpServers": {{"a": {{"command": "x", "portolan": {{"query": {query}}}}}}}}}"#);
        let Servers { mut specs, warnings, .. } = parse_servers(&text).unwrap();
        (specs.remove(0).query, warnings)
    }

    #[track_caller]
    fn check_warnings(query: &str, expected: &[&str]) -> Option<QueryWay> {
        let expected: Vec<String> =
            expected.iter().map(|line| format!("$.mcpServers.a.portolan.query{line}")).collect();
        let (way, warnings) = read_query(query);
        assert_eq!(warnings, expected, "{query}");
        way
    }

    #[test]
    fn a_query_is_the_name_of_a_tool_or_says_how_it_is_called() {
        let way = |query: &str| check_warnings(query, &[]);
        assert_eq!(way("null"), None);
        assert_eq!(way(r#""search""#), Some(QueryWay::new("search")));
        assert_eq!(way(r#"{"tool": "search", "argument": null}"#), way(r#""search""#));
        let whole = r#"{"tool": "search", "argument": "q", "arguments": {"limit": 20, "in": ["a", 1.5]}}"#;
        let whole = way(whole).unwrap();
        assert_eq!((whole.tool.as_str(), whole.argument.as_deref()), ("search", Some("q")));
        assert_eq!(Value::from(whole.arguments()), serde_json::json!({"limit": 20, "in": ["a", 1.5]}));
    }

    #[test]
    fn a_query_that_cannot_be_used_is_a_warning_and_the_server_runs_without_it() {
        let check = |query: &str, expected: &[&str]| assert_eq!(check_warnings(query, expected), None);
        for bad in ["7", "true", "[]", r#""""#, r#"" ""#] {
            check(bad, &[": ignored; write the name of a tool, or an object with `tool`"]);
        }
        let no_tool = ".tool: missing, so the query is ignored; write the name of a tool";
        check("{}", &[no_tool]);
        check(r#"{"tol": "x"}"#, &[".tol: unknown key, ignored; did you mean `tool`?", no_tool]);
        check(
            r#"{"tool": "", "argument": 7, "arguments": []}"#,
            &[
                ".tool: not usable, so the query is ignored; write the name of a tool",
                ".argument: not usable, so the query is ignored; write the name of the argument that takes the question",
                ".arguments: not usable, so the query is ignored; write an object, such as {\"limit\": 20}",
            ],
        );
    }

    #[test]
    fn a_query_with_something_odd_is_used_and_told() {
        let way = check_warnings(
            r#"{"tool": "x", "argument": "q", "arguments": {"q": "mine"}, "limit": 1}"#,
            &[
                ".limit: unknown key, ignored",
                ".arguments: holds the `argument` too; the question takes its place",
            ],
        );
        assert_eq!(way.unwrap().tool, "x");
    }
}
