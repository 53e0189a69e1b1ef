//! A tool's arguments in one line: `(owner: string, labels?: string[], state?: "open"|"closed")`.

use serde_json::Value;

/// Values of an enumeration that are worth their room.
const MOST_VALUES: usize = 6;
/// Arguments that are named; whoever wants the rest asks for the schema.
const MOST_ARGUMENTS: usize = 20;

/// What an input schema asks for, those that must be there first.
pub(crate) fn signature(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else { return "()".to_owned() };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_required = |name: &str| required.contains(&name);
    let (must, may): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| is_required(name));
    let all: Vec<String> = must
        .into_iter()
        .chain(may)
        .map(|(name, argument)| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name}{mark}: {}", kind(argument, 2))
        })
        .collect();
    let shown = all.iter().take(MOST_ARGUMENTS).map(String::as_str);
    let rest = (all.len() > MOST_ARGUMENTS).then_some("…");
    format!("({})", shown.chain(rest).collect::<Vec<_>>().join(", "))
}

/// The type of an argument, as deep as it can be said shortly.
fn kind(schema: &Value, depth: usize) -> String {
    if let Some(values) = schema["enum"].as_array().filter(|values| (1..=MOST_VALUES).contains(&values.len()))
    {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join("|");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(ways) = schema[key].as_array().filter(|ways| !ways.is_empty()) {
            return either(ways.iter().map(|way| kind(way, depth)));
        }
    }
    match &schema["type"] {
        Value::Array(types) => {
            let named = |name: &Value| match name.as_str() {
                Some("array") => items(schema, depth),
                name => name.unwrap_or("any").to_owned(),
            };
            either(types.iter().map(named))
        }
        Value::String(name) if name == "array" => items(schema, depth),
        Value::String(name) => name.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            if schema.get("properties").is_some() { "object" } else { "any" }.to_owned()
        }
    }
}

fn items(schema: &Value, depth: usize) -> String {
    let inner = match schema.get("items") {
        Some(items) if depth > 0 => kind(items, depth - 1),
        Some(_) | None => "any".to_owned(),
    };
    if inner.contains('|') { format!("({inner})[]") } else { format!("{inner}[]") }
}

/// Each once; that there may be nothing is what the mark says already.
fn either(kinds: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for kind in kinds.filter(|kind| kind != "null") {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    if all.is_empty() { "null".to_owned() } else { all.join("|") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        assert_eq!(signature(schema), expected);
    }

    #[test]
    fn what_must_be_there_comes_first_and_types_are_short() {
        check(
            &json!({"type": "object", "required": ["repo", "tags"], "properties": {
                "limit": {"type": "integer"},
                "repo": {"type": "string"},
                "state": {"enum": ["open", "closed"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            }}),
            r#"(repo: string, tags: string[], limit?: integer, state?: "open"|"closed")"#,
        );
    }

    #[test]
    fn choices_are_joined_and_nothing_is_left_out_of_them() {
        check(
            &json!({"properties": {
                "a": {"type": ["string", "null"]},
                "b": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"enum": [1, 2]}}, {"type": "null"}]},
                "c": {"properties": {"x": {}}},
                "d": {},
                "e": {"const": "x"},
            }}),
            r#"(a?: string, b?: integer|(1|2)[], c?: object, d?: any, e?: "x")"#,
        );
    }

    #[test]
    fn whatever_a_server_calls_a_schema_is_no_reason_to_fall_over() {
        for schema in [json!(null), json!([]), json!({}), json!({"properties": 3})] {
            check(&schema, "()");
        }
        check(&json!({"properties": {"a": true, "b": {"type": 3, "items": 4}}}), "(a?: any, b?: any)");
        let nested =
            (0..100).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
        check(&json!({"properties": {"a": nested}}), "(a?: any[][][])");
        let many: serde_json::Map<String, Value> = (0..30).map(|n| (format!("a{n:02}"), json!({}))).collect();
        assert!(signature(&json!({"properties": many})).ends_with("a19?: any, …)"));
    }
}
