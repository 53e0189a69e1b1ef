//! The rules for `x-mcp-header`, each with a tool that keeps it and tools that do not.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn tool(schema: &Value) -> String {
    json!({"name": "t", "inputSchema": schema}).to_string()
}

fn tool_with(properties: &Value) -> String {
    tool(&json!({"type": "object", "properties": properties}))
}

/// A mirror `mcp-param-x` of the argument `a`.
fn mirror() -> Mirror {
    let tool = tool_with(&json!({"a": {"type": "string", "x-mcp-header": "X"}}));
    mirrors(&tool).unwrap().remove(0)
}

#[test]
fn annotated_properties_are_found_at_any_depth_under_their_header_in_lower_case() {
    let tool = tool_with(&json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "options": {"type": "object", "properties": {
            "limit": {"type": "integer", "x-mcp-header": "X-Limit!#$%&'*+-.^_`|~9"},
            "dry": {"type": "boolean", "x-mcp-header": "Method"},
        }},
        "query": {"type": "string"},
    }));
    let found = mirrors(&tool).unwrap();
    let shown: Vec<(&str, String)> = found.iter().map(|m| (m.header.as_str(), m.path.join("."))).collect();
    assert_eq!(
        shown,
        [
            ("mcp-param-method", "options.dry".to_owned()),
            ("mcp-param-x-limit!#$%&'*+-.^_`|~9", "options.limit".to_owned()),
            ("mcp-param-region", "region".to_owned()),
        ]
    );
}

#[test]
fn what_only_looks_like_an_annotation_is_none() {
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "description": "x-mcp-header"}),
        json!({"properties": {"x-mcp-header": {"type": "string"}}, "required": ["x-mcp-header"]}),
        json!({"$defs": {"x-mcp-header": {"type": "string"}}}),
        json!({"properties": {"a": {"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": "A"}]}}}),
        json!({"properties": {"a": true, "b": [{"x-mcp-header": "A"}]}, "items": "x-mcp-header"}),
    ] {
        assert_eq!(mirrors(&tool(&schema)), Ok(vec![]), "{schema}");
    }
    assert_eq!(mirrors(r#"{"name":"x-mcp-header"}"#), Ok(vec![]));
    assert_eq!(mirrors("no JSON, and nothing to look for"), Ok(vec![]), "not parsed at all");
}

#[track_caller]
fn check_bad(schema: &Value, reason: &str) {
    match mirrors(&tool(schema)) {
        Ok(found) => panic!("{schema} was taken: {found:?}"),
        Err(bad) => assert_eq!(bad.to_string(), reason),
    }
}

#[test]
fn a_header_without_a_usable_name_is_refused() {
    let named = |name: Value| json!({"properties": {"a": {"type": "string", "x-mcp-header": name}}});
    check_bad(
        &named(json!("")),
        r#"its x-mcp-header "" on `a` is empty: it must be the name after `Mcp-Param-`"#,
    );
    check_bad(
        &named(json!(7)),
        "its x-mcp-header 7 on `a` is no text: it must be the name after `Mcp-Param-`",
    );
    for name in ["My Region", "Region:Primary", "Région", "Region\t1", "a\r\nb", "a\0", "a/b", "\"a\"", "(a)"]
    {
        let bad = mirrors(&tool(&named(json!(name))));
        assert!(matches!(bad, Err(BadMirror::NotToken { .. })), "{name:?}: {bad:?}");
    }
    check_bad(
        &named(json!("a\r\nb")),
        "its x-mcp-header \"a\\r\\nb\" on `a` is no HTTP token: only letters, digits and \
         !#$%&'*+-.^_`|~ may stand in it",
    );
}

#[test]
fn two_headers_that_differ_by_case_only_are_refused() {
    for second in ["Region", "REGION"] {
        let schema = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "o": {"properties": {"b": {"type": "string", "x-mcp-header": second}}},
        }});
        check_bad(
            &schema,
            &format!(
                "its x-mcp-header \"{second}\" stands on `a` and on `o.b`: names of headers differ by more than case"
            ),
        );
    }
}

#[test]
fn anything_but_text_integers_and_booleans_is_refused() {
    let kinds = [json!("number"), json!("object"), json!("array"), json!("null"), json!(["string", "null"])];
    for kind in kinds {
        check_bad(
            &json!({"properties": {"a": {"type": kind, "x-mcp-header": "X"}}}),
            &format!(
                "its x-mcp-header \"X\" stands on `a`, whose type is {kind}: it must be \"string\", \"integer\" or \
                 \"boolean\""
            ),
        );
    }
    check_bad(
        &json!({"properties": {"a": {"x-mcp-header": "X", "enum": ["b"]}}}),
        "its x-mcp-header \"X\" stands on `a`, whose type is missing: it must be \"string\", \"integer\" or \"boolean\"",
    );
}

#[test]
fn what_properties_alone_do_not_lead_to_is_refused() {
    let mirrored = json!({"type": "string", "x-mcp-header": "X"});
    check_bad(
        &json!({"type": "object", "x-mcp-header": "X"}),
        "its x-mcp-header \"X\" stands on the inputSchema itself: it must stand on one of its properties",
    );
    let one = "additionalItems additionalProperties contains contentSchema else if items not propertyNames then \
               unevaluatedItems unevaluatedProperties";
    let list = "allOf anyOf items oneOf prefixItems";
    let map = "$defs definitions dependencies dependentSchemas patternProperties";
    for leaf in [&mirrored, &json!({"properties": {"b": mirrored}})] {
        let schemas = (one.split_whitespace().map(|keyword| (keyword, leaf.clone())))
            .chain(list.split_whitespace().map(|keyword| (keyword, json!([true, leaf]))))
            .chain(map.split_whitespace().map(|keyword| (keyword, json!({"name": leaf}))));
        for (keyword, schema) in schemas {
            let reason = format!(
                "its x-mcp-header \"X\" stands below `{keyword}`: nothing but objects and their `properties` may lead \
                 to it"
            );
            check_bad(&json!({keyword: schema}), &reason);
            check_bad(&json!({"properties": {"a": {keyword: schema}}}), &reason);
        }
    }
    check_bad(
        &json!({"properties": {"a": {"type": "string", "x-mcp-header": "A", "properties": {"b": mirrored}}}}),
        "its x-mcp-header \"X\" stands below `a`: nothing but objects and their `properties` may lead to it",
    );
}

#[test]
fn more_headers_than_servers_take_are_refused() {
    let properties = |count: usize| -> Value {
        let property =
            |i: usize| (format!("p{i:03}"), json!({"type": "string", "x-mcp-header": format!("H{i}")}));
        (0..count).map(property).collect::<serde_json::Map<_, _>>().into()
    };
    assert_eq!(mirrors(&tool_with(&properties(64))).unwrap().len(), 64);
    check_bad(
        &json!({"properties": properties(65)}),
        "its x-mcp-header \"H64\" is one too many: servers take no call with more than 64 such headers",
    );
}

#[test]
fn a_reason_is_short_however_long_the_name_is() {
    let tool = tool_with(&json!({"a": {"type": "string", "x-mcp-header": "é".repeat(100_000)}}));
    assert!(mirrors(&tool).unwrap_err().to_string().len() < 400);
}

#[test]
fn a_schema_that_cannot_be_read_is_refused_where_it_may_hold_an_annotation() {
    for definition in [r#"{"x-mcp-header":1,"x-mcp-header":2}"#, r#"["x-mcp-header"]"#] {
        assert!(matches!(mirrors(definition), Err(BadMirror::Unreadable(_))), "{definition}");
    }
    let deep = format!(r#"{{"inputSchema":{}"x-mcp-header"{}}}"#, "[".repeat(200), "]".repeat(200));
    assert!(matches!(mirrors(&deep), Err(BadMirror::Unreadable(_))));
}

#[track_caller]
fn check_value(arguments: &str, header: Option<&str>) {
    let (mirror, arguments) = (mirror(), Some(arguments));
    assert_eq!(mirror.value(arguments).as_deref(), header);
    let all = [mirror];
    let expected: Vec<(&str, String)> = header.map(|h| ("mcp-param-x", h.to_owned())).into_iter().collect();
    assert_eq!(headers(&all, arguments), expected);
    if let Some(header) = header {
        assert!(all[0].agrees(Some(header.as_bytes()), arguments));
        assert!(!all[0].agrees(None, arguments), "the header is missing");
        assert!(!all[0].agrees(Some(b"something else"), arguments));
    } else {
        assert!(!all[0].agrees(Some(b""), arguments), "the header says what the body does not");
    }
}

#[test]
fn a_value_goes_into_its_header_encoded() {
    check_value(r#"{"a":"us-west1"}"#, Some("us-west1"));
    check_value(r#"{"b":[1,{"a":2}],"a":"us\u002dwest1"}"#, Some("us-west1"));
    check_value(r#"{"\u0061":"x"}"#, Some("x"));
    check_value(r#"{"a":" padded "}"#, Some("=?base64?IHBhZGRlZCA=?="));
    check_value(r#"{"a":"a\nb"}"#, Some("=?base64?YQpi?="));
    check_value(r#"{"a":""}"#, Some(""));
    check_value(r#"{"a":true}"#, Some("true"));
    check_value(r#"{"a":false}"#, Some("false"));
    check_value(r#"{"a":42}"#, Some("42"));
    check_value(r#"{"a": -7 }"#, Some("-7"));
    check_value(r#"{"a":42.0}"#, Some("42"));
    check_value(r#"{"a":4.2e1}"#, Some("42"));
    check_value(r#"{"a":-0}"#, Some("0"));
    check_value(r#"{"a":9007199254740991}"#, Some("9007199254740991"));
    check_value(r#"{"a":-9007199254740991}"#, Some("-9007199254740991"));
    // The schema says integer, and the server will say so.
    check_value(r#"{"a":3.5}"#, Some("3.5"));
}

#[test]
fn what_is_absent_or_null_or_fits_no_header_has_none() {
    for arguments in
        [r#"{"a":null}"#, "{}", r#"{"A":"x"}"#, r#"{"b":{"a":"x"}}"#, r#"{"a":["x"]}"#, r#"{"a":{"b":1}}"#]
    {
        check_value(arguments, None);
        assert!(mirror().agrees(None, Some(arguments)), "{arguments}");
    }
    assert_eq!(mirror().value(None), None);
    assert!(mirror().agrees(None, None));
    assert!(!mirror().agrees(Some(b"x"), None));
    for arguments in ["null", "7", "1.5", "-1", "true", "\"a\"", "[{\"a\":1}]"] {
        check_value(arguments, None);
        assert!(mirror().agrees(None, Some(arguments)), "{arguments}");
    }
}

#[test]
fn what_readers_may_round_or_cannot_read_agrees_with_nothing() {
    for number in
        ["9007199254740992", "-9007199254740992", "18446744073709551615", "1e300", "1e999", r#""\ud800""#]
    {
        let arguments = format!(r#"{{"a":{number}}}"#);
        check_value(&arguments, None);
        assert!(!mirror().agrees(None, Some(&arguments)), "{number}");
        assert!(!mirror().agrees(Some(number.as_bytes()), Some(&arguments)), "{number}");
    }
}

#[test]
fn t10_a_key_given_twice_agrees_with_nothing() {
    for arguments in
        [r#"{"a":"x","a":"x"}"#, r#"{"a":"x","\u0061":"y"}"#, r#"{"a":null,"a":"x"}"#, r#"{"a":"x""#]
    {
        check_value(arguments, None);
        assert!(!mirror().agrees(None, Some(arguments)), "{arguments}");
        assert!(!mirror().agrees(Some(b"x"), Some(arguments)), "{arguments}");
    }
    let nested =
        mirrors(&tool_with(&json!({"o": {"properties": {"a": {"type": "string", "x-mcp-header": "X"}}}})));
    let nested = &nested.unwrap()[0];
    assert!(nested.agrees(Some(b"x"), Some(r#"{"o":{"a":"x"}}"#)));
    for arguments in [r#"{"o":{},"o":{"a":"x"}}"#, r#"{"o":{"a":"x"},"o":{}}"#, r#"{"o":1,"o":{"a":"x"}}"#] {
        assert!(!nested.agrees(Some(b"x"), Some(arguments)), "{arguments}");
        assert!(!nested.agrees(None, Some(arguments)), "{arguments}");
    }
}

#[track_caller]
fn check_agrees(header: &str, value: &str, expected: bool) {
    let arguments = format!(r#"{{"a":{value}}}"#);
    assert_eq!(mirror().agrees(Some(header.as_bytes()), Some(&arguments)), expected, "{header} for {value}");
}

#[test]
fn integers_are_compared_as_numbers_and_all_else_as_decoded_text() {
    for (header, value) in [
        ("42.0", "42"),
        ("42", "42.0"),
        ("42", "4.2e1"),
        ("-0", "0"),
        ("=?base64?NDI=?=", "42"),
        ("=?base64?SGVsbG8=?=", "\"Hello\""),
        (" Hello\t", "\"Hello\""),
        ("=?BASE64?SGVsbG8=?=", "\"=?BASE64?SGVsbG8=?=\""),
        ("42", "\"42\""),
    ] {
        check_agrees(header, value, true);
    }
    for (header, value) in [
        ("43", "42"),
        ("42.5", "42"),
        ("4.2e1", "42"),
        ("+42", "42"),
        ("042", "42"),
        ("0x2A", "42"),
        ("", "0"),
        ("9007199254740993", "9007199254740991"),
        ("42.0", "\"42\""),
        ("hello", "\"Hello\""),
        ("True", "true"),
        ("1", "true"),
        ("null", "null"),
        ("=?base64?SGVsbG8?=", "\"Hello\""),
        ("=?base64?SGVsbG8?=", "\"=?base64?SGVsbG8?=\""),
        ("Hell\u{f6}", "\"Hell\u{f6}\""),
    ] {
        check_agrees(header, value, false);
    }
}

#[test]
fn all_mirrors_are_read_in_one_pass_and_the_first_that_disagrees_is_named() {
    let mirrors = mirrors(&tool_with(&json!({
        "a": {"type": "string", "x-mcp-header": "A"},
        "o": {"properties": {
            "a": {"type": "integer", "x-mcp-header": "OA"},
            "p": {"properties": {"a": {"type": "boolean", "x-mcp-header": "OPA"}}},
        }},
        "z": {"type": "string", "x-mcp-header": "Z"},
    })))
    .unwrap();
    let arguments = Some(r#"{"z":null,"o":{"p":{"x":{"a":1},"a":true},"a":7},"x":{"a":3},"a":"é"}"#);
    let found = headers(&mirrors, arguments);
    let expected = [("mcp-param-a", "=?base64?w6k=?="), ("mcp-param-oa", "7"), ("mcp-param-opa", "true")];
    assert_eq!(found.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>(), expected);

    let given = |name: &str| expected.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_bytes());
    assert_eq!(disagreeing(&mirrors, arguments, given), None);
    let wrong = |name: &str| if name == "mcp-param-oa" { Some(&b"8"[..]) } else { given(name) };
    assert_eq!(disagreeing(&mirrors, arguments, wrong).map(|m| m.header.as_str()), Some("mcp-param-oa"));
    let surplus = |name: &str| given(name).or(Some(b"null"));
    assert_eq!(disagreeing(&mirrors, arguments, surplus).map(|m| m.header.as_str()), Some("mcp-param-z"));
    assert_eq!(disagreeing(&[], arguments, given), None);
}

proptest! {
    #[test]
    fn what_we_send_agrees_with_what_it_was_read_from(
        text in "\\PC*|[\\x00-\\x7f]*",
        integer in -9_007_199_254_740_991_i64..=9_007_199_254_740_991,
        fraction in any::<f64>(),
        flag in any::<bool>(),
    ) {
        for value in [json!(text), json!(integer), json!(fraction), json!(flag), json!(null), json!([text])] {
            let arguments = json!({"b": text, "a": value}).to_string();
            let mirror = mirror();
            let header = mirror.value(Some(&arguments));
            let is_unsafe = value.is_f64() && fraction.fract() == 0.0 && fraction.abs() > 9_007_199_254_740_991.0;
            prop_assert_eq!(
                mirror.agrees(header.as_deref().map(str::as_bytes), Some(&arguments)),
                !is_unsafe,
                "{}", arguments
            );
        }
    }

    #[test]
    fn no_arguments_and_no_header_bring_it_down(arguments in "\\PC*|[{}\\[\\]\",:a0-9 ]*", header in any::<Vec<u8>>()) {
        let mirror = mirror();
        let value = mirror.value(Some(&arguments));
        prop_assert!(value.is_none() || !mirror.agrees(None, Some(&arguments)));
        let _ = mirror.agrees(Some(&header), Some(&arguments));
    }
}
