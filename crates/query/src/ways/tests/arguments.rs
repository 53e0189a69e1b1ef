//! What arguments are filled with, and which are left alone.

use super::*;

#[track_caller]
fn check_arguments(properties: &Value, required: &[&str], expected: Result<Value, &str>) {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let server = one("search_things", &schema);
    match expected {
        Ok(arguments) => check_calls(&server, "green tea", &[("search_things", arguments)]),
        Err(missing) => check_refused(&server, "green tea", missing),
    }
}

#[test]
fn arguments_are_filled_from_the_schema_and_never_guessed() {
    let needs = "no safe way to ask it: search_things: it needs";
    let text = json!({"type": "string"});
    check_arguments(&json!({"q": text}), &["q"], Ok(json!({"q": "green tea"})));
    check_arguments(
        &json!({"searchQuery": text, "language": text}),
        &["searchQuery"],
        Ok(json!({"searchQuery": "green tea"})),
    );
    let list = json!({"type": "array", "items": {"type": "string"}});
    check_arguments(&json!({"queries": list}), &["queries"], Ok(json!({"queries": ["green tea"]})));
    check_arguments(&json!({"needle": text}), &["needle"], Ok(json!({"needle": "green tea"})));
    check_arguments(
        &json!({"query": {"anyOf": [text, {"type": "null"}]}}),
        &[],
        Ok(json!({"query": "green tea"})),
    );
    check_arguments(
        &json!({"query": {"type": "string", "maxLength": 5}}),
        &["query"],
        Ok(json!({"query": "green"})),
    );
    let limits = json!({"query": text, "limit": {"type": "integer", "maximum": 10}, "top_k": {"type": "integer"},
        "per_page": {"type": "integer", "default": 30}, "count": {"type": "integer", "minimum": 25},
        "offset": {"type": "integer"}, "n": {"type": "integer", "minimum": 5000}});
    check_arguments(
        &limits,
        &["query"],
        Ok(json!({"query": "green tea", "limit": 10, "top_k": 20, "count": 25})),
    );
    let format = json!({"query": text, "format": {"type": "string", "enum": ["text", "JSON"]},
        "output_format": {"enum": ["xml"]}});
    check_arguments(&format, &["query"], Ok(json!({"query": "green tea", "format": "JSON"})));
    let said = json!({"query": text, "kind": {"const": "a"}, "mode": {"enum": ["x"]},
        "deep": {"type": "boolean", "default": false}});
    let filled = json!({"query": "green tea", "kind": "a", "mode": "x", "deep": false});
    check_arguments(&said, &["query", "kind", "mode", "deep"], Ok(filled));
    for (name, about) in [
        ("owner", json!({"type": "string"})),
        ("kind", json!({"enum": ["a", "b"]})),
        ("deep", json!({"type": "boolean"})),
        ("page", json!({"type": "integer"})),
        ("at", json!({"$ref": "#/x"})),
        ("topic", json!({"type": "string"})),
    ] {
        let properties = json!({"query": text, name: about});
        let expected = format!("{needs} `{name}`, which no question can fill");
        check_arguments(&properties, &["query", name], Err(&expected));
    }
}

#[test]
fn what_is_no_sentence_gets_what_fits_it() {
    let pattern = |about: &str| json!({"pattern": {"type": "string", "description": about}});
    let schema =
        |properties: Value| json!({"type": "object", "properties": properties, "required": ["pattern"]});
    let query = "Where are the invoices?";
    let check = |about: &str, expected: &str| {
        check_calls(
            &one("find_things", &schema(pattern(about))),
            query,
            &[("find_things", json!({"pattern": expected}))],
        );
    };
    check("A glob", "**/*[iI]nvoic*");
    check("A regular expression", "[iI]nvoic");
    check("What to look for", "invoic");
    for language in ["jql", "graphql_query", "cypher"] {
        let schema =
            json!({"type": "object", "properties": {language: {"type": "string"}}, "required": [language]});
        assert!(plans(&one("search", &schema), query, &[]).is_err(), "{language}");
    }
}

#[test]
fn f44_what_cannot_be_understood_is_no_way() {
    for schema in [
        json!(null),
        json!({"$ref": "https://x.example"}),
        json!({"anyOf": []}),
        json!({"required": 7}),
        json!([]),
    ] {
        assert!(plans(&one("search", &schema), "tea", &[]).is_err(), "{schema}");
    }
    let long = "x".repeat(100_000);
    let huge = json!({"type": "object", "properties": {"query": {"type": "string", "description": long}}});
    assert!(plans(&one("search", &huge), "tea", &[]).is_err());
    let mut many: Map<String, Value> = (0..100).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    many.insert("query".to_owned(), json!({"type": "string"}));
    assert!(plans(&one("search", &json!({"type": "object", "properties": many})), "tea", &[]).is_err());
    check_refused(
        &Target::named("s"),
        "tea",
        "no safe way to ask it: it offers neither tools that can be read nor resources",
    );
}
