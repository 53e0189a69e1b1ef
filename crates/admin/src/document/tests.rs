//! The description of the surface says what holds, of every operation.

use crate::openapi;
use crate::problem::MEDIA_TYPE;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn document() -> Value {
    serde_json::to_value(openapi()).unwrap()
}

/// Every operation: its method, its path and what is said of it.
fn operations(document: &Value) -> Vec<(String, String, Map<String, Value>)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            all.push((method.clone(), path.clone(), operation.as_object().unwrap().clone()));
        }
    }
    all
}

#[test]
fn every_operation_has_an_id_of_its_own_a_summary_and_a_known_tag() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let tags: BTreeSet<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
        assert!(!id.is_empty() && ids.insert(id), "{method} {path}");
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{method} {path}");
        for tag in operation["tags"].as_array().unwrap() {
            assert!(tags.contains(tag.as_str().unwrap()), "{method} {path}: {tag}");
        }
    }
}

#[test]
fn every_error_is_a_problem_and_nothing_else() {
    for (method, path, operation) in operations(&document()) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            if !status.starts_with(['4', '5']) {
                continue;
            }
            let content: Vec<&String> = response["content"].as_object().unwrap().keys().collect();
            assert_eq!(content, [MEDIA_TYPE], "{method} {path} {status}");
            let schema = &response["content"][MEDIA_TYPE]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{method} {path} {status}");
        }
    }
}

#[test]
fn every_operation_says_what_can_go_wrong_with_what_it_takes() {
    for (method, path, operation) in operations(&document()) {
        let has = |status: &str| operation["responses"].get(status).is_some();
        assert!(has("500"), "{method} {path}");
        if path.starts_with("/api/") {
            assert!(has("422"), "{method} {path}: an unknown parameter is refused");
        }
        if path.contains("{id}") || path.contains("{connector}") {
            assert!(has("404"), "{method} {path}");
        }
        if operation.contains_key("requestBody") {
            for status in ["400", "408", "413", "415", "422"] {
                assert!(has(status), "{method} {path}: {status}");
            }
        }
    }
}

#[test]
fn what_a_path_names_is_described_and_lists_have_their_window() {
    for (method, path, operation) in operations(&document()) {
        let parameters = operation.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
        let named = |place: &str| -> BTreeSet<&str> {
            let own = parameters.iter().filter(|parameter| parameter["in"] == place);
            own.map(|parameter| parameter["name"].as_str().unwrap()).collect()
        };
        let in_path: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(named("path"), in_path, "{method} {path}");
        let is_list = operation["responses"]["200"]["headers"].get("X-Total-Count").is_some();
        assert_eq!(named("query").contains("limit"), is_list, "{method} {path}");
        assert_eq!(named("query").contains("offset"), is_list, "{method} {path}");
    }
}

#[test]
fn the_routes_of_the_contract_are_all_there() {
    let document = document();
    let known: BTreeSet<String> =
        operations(&document).into_iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    let servers = "/api/v1/aggregator/servers";
    for route in [
        format!("post {servers}"),
        format!("get {servers}"),
        format!("get {servers}/{{id}}"),
        format!("patch {servers}/{{id}}"),
        format!("delete {servers}/{{id}}"),
        format!("post {servers}/{{id}}/connect"),
        format!("post {servers}/{{id}}/reconnect"),
        format!("post {servers}/{{id}}/disconnect"),
        format!("get {servers}/{{id}}/tools"),
        format!("post {servers}/{{id}}/tools/refresh"),
        format!("patch {servers}/{{id}}/tools/{{name}}"),
        format!("get {servers}/{{id}}/health"),
        format!("get {servers}/{{id}}/history"),
        "get /api/v1/aggregator/tools".into(),
        "get /api/v1/aggregator/state".into(),
        "get /api/v1/aggregator/health".into(),
        "get /api/v1/aggregator/events".into(),
        "post /api/v1/tools/call".into(),
        "post /api/v1/aggregator/execute".into(),
        "post /api/v1/aggregator/query".into(),
        "get /api/v1/agents".into(),
        "get /api/v1/agents/{connector}".into(),
        "post /api/v1/agents/{connector}/query".into(),
        "get /api/v1/skills".into(),
        "post /api/v1/skills".into(),
        "get /api/v1/skills/{id}".into(),
        "patch /api/v1/skills/{id}".into(),
        "delete /api/v1/skills/{id}".into(),
        "get /api/v1/skills/{id}/tools".into(),
        "post /api/v1/skills/classify".into(),
        "get /api/v1/skills/suggestions".into(),
        "post /api/v1/skills/suggestions/{id}/approve".into(),
        "post /api/v1/skills/suggestions/{id}/reject".into(),
        "post /api/v1/skills/suggestions/{id}/merge".into(),
        "put /api/v1/tools/{id}/skills".into(),
        "get /api/v1/secrets".into(),
        "put /api/v1/secrets/{name}".into(),
        "delete /api/v1/secrets/{name}".into(),
        "get /openapi.json".into(),
        "get /docs".into(),
        "get /readyz".into(),
        "get /metrics".into(),
        "get /".into(),
    ] {
        assert!(known.contains(&route), "{route}");
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_body_refuses_what_it_does_not_know() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let text = document.to_string();
    for reference in text.split(r##""$ref":"#/components/schemas/"##).skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.get(name).is_some(), "{name}");
    }
    let bodies = operations(&document).into_iter().filter_map(|(_, _, operation)| {
        let schema =
            operation.get("requestBody")?["content"]["application/json"]["schema"]["$ref"].as_str()?;
        Some(schema.rsplit('/').next()?.to_owned())
    });
    for body in bodies {
        let options = schemas[&body]["oneOf"].as_array().cloned().unwrap_or_default();
        let shapes =
            options.iter().map(|option| option["$ref"].as_str().unwrap().rsplit('/').next().unwrap());
        let shapes: Vec<&str> = if options.is_empty() { vec![&body] } else { shapes.collect() };
        for shape in shapes {
            assert_eq!(schemas[shape]["additionalProperties"], false, "{shape}");
        }
    }
}

#[test]
fn br_001_a_draft_is_described_by_its_transport() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let keys = |name: &str| -> BTreeSet<String> {
        schemas[name]["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let shapes = [
        ("Stdio", "command", set(&["command", "args", "env", "cwd"])),
        ("Sse", "url", set(&["url", "headers"])),
        ("Http", "base_url", set(&["base_url", "headers"])),
        ("HttpByUrl", "url", set(&["url", "headers"])),
    ];
    let mut together = BTreeSet::new();
    for (shape, required, fields) in shapes {
        let (draft, config) = (format!("{shape}Draft"), format!("{shape}Config"));
        assert_eq!(keys(&config), fields);
        assert_eq!(schemas[&config]["required"], serde_json::json!([required]));
        assert_eq!(schemas[&config]["properties"][required]["type"], "string", "{shape}");
        let reference = format!("#/components/schemas/{config}");
        assert_eq!(schemas[&draft]["properties"]["connection_config"]["$ref"], reference);
        together.extend(fields);
    }
    assert_eq!(together, keys("ConnectionConfig"), "a field of a connection belongs to no transport");
    assert_eq!(schemas["SseDraft"]["properties"]["transport_type"]["pattern"], "^([Ss][Ss][Ee])$");
}

#[test]
fn the_bodies_that_may_be_left_out_are_said_to() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        if let Some(body) = operation.get("requestBody") {
            let may_be_left_out = ["/disconnect", "/classify", "/approve"];
            let is_required = !may_be_left_out.iter().any(|end| path.ends_with(end));
            assert_eq!(body["required"], is_required, "{method} {path}");
        }
    }
}
