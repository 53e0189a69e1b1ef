//! What stands beside the API: whether it is ready, its numbers, its description and its pages.

use super::{call, call_text, one, stdio};
use portolan_testkit::{Gateway, Rest};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[tokio::test]
async fn a_gateway_that_listens_is_alive_and_ready() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for probe in ["/healthz", "/readyz"] {
        let answer = rest.page(probe).await;
        assert_eq!((answer.status, answer.body.trim()), (200, "ok"), "{probe}");
    }
}

/// One sample of the text format of Prometheus, without its time stamp, which we never write.
fn sample(line: &str) -> (String, u64) {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value in {line:?}"));
    let name = series.split('{').next().unwrap();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    assert!(
        !name.is_empty() && name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit()),
        "{line:?}"
    );
    if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
        let labels = labels
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or_else(|| panic!("{line:?}"));
        for label in labels.split(',') {
            let (key, value) = label.split_once('=').unwrap_or_else(|| panic!("{line:?}"));
            assert!(!key.is_empty() && key.chars().all(is_name), "{line:?}");
            assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'), "{line:?}");
        }
    }
    (series.to_owned(), value.parse().unwrap_or_else(|_| panic!("no whole number in {line:?}")))
}

/// Reads the numbers and judges every line on the way.
async fn metrics(rest: &Rest) -> BTreeMap<String, u64> {
    let answer = rest.page("/metrics").await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"), "{answer:?}");
    assert!(answer.body.ends_with('\n'));
    let (mut types, mut samples) = (BTreeMap::new(), BTreeMap::new());
    let mut helped = BTreeSet::new();
    for line in answer.body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').unwrap();
            assert!(!text.is_empty() && helped.insert(name.to_owned()), "{line:?}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind), "{line:?}");
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{line:?} is there twice");
        } else {
            let (series, value) = sample(line);
            let family = series.split('{').next().unwrap().to_owned();
            assert!(types.contains_key(&family) && helped.contains(&family), "{line:?} before its type");
            if types[&family] == "counter" {
                assert!(family.ends_with("_total"), "{line:?}");
            }
            assert!(samples.insert(series, value).is_none(), "{line:?} is there twice");
        }
    }
    samples
}

#[tokio::test]
async fn the_numbers_are_valid_and_grow_with_what_they_count() {
    let (_gateway, rest) = one(&["--faults"]).await;
    let before = metrics(&rest).await;
    assert_eq!(before[r#"portolan_servers{state="CONNECTED"}"#], 1);
    assert_eq!(before[r#"portolan_servers{state="ERROR"}"#], 0);
    assert!(before["portolan_tools"] > 10);
    call_text(&rest, "one.echo", json!({})).await;
    call(&rest, "one.nothing", json!({})).await.problem(404, "TOOL_NOT_FOUND");
    call(&rest, "one.crash", json!({})).await.problem(503, "SERVER_LOST");
    call_text(&rest, "one.echo", json!({})).await;
    let after = metrics(&rest).await;
    for (name, count) in [
        ("portolan_calls_total", 4),
        ("portolan_calls_failed_total", 2),
        ("portolan_server_sessions_opened_total", 1),
        ("portolan_server_sessions_lost_total", 1),
    ] {
        assert_eq!(after[name] - before[name], count, "{name}");
    }
    for (series, value) in before.iter().filter(|(series, _)| series.contains("_total")) {
        assert!(after[series] >= *value, "{series} shrank");
    }
}

/// Every `$ref` of a description.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                found.insert(reference.to_owned());
            }
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_description_is_of_openapi_3_1_and_names_every_operation_once() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let document = rest.page("/openapi.json").await.json(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in [
        ("/api/v1/aggregator/servers", &["get", "post"][..]),
        ("/api/v1/aggregator/servers/{id}", &["get", "patch", "delete"]),
        ("/api/v1/aggregator/servers/{id}/connect", &["post"]),
        ("/api/v1/aggregator/servers/{id}/disconnect", &["post"]),
        ("/api/v1/aggregator/servers/{id}/reconnect", &["post"]),
        ("/api/v1/aggregator/servers/{id}/tools", &["get"]),
        ("/api/v1/aggregator/servers/{id}/tools/refresh", &["post", "patch"]),
        ("/api/v1/aggregator/servers/{id}/tools/{name}", &["patch"]),
        ("/api/v1/aggregator/servers/{id}/health", &["get"]),
        ("/api/v1/aggregator/servers/{id}/history", &["get"]),
        ("/api/v1/aggregator/tools", &["get"]),
        ("/api/v1/aggregator/state", &["get"]),
        ("/api/v1/aggregator/health", &["get"]),
        ("/api/v1/aggregator/events", &["get"]),
        ("/api/v1/tools/call", &["post"]),
        ("/api/v1/aggregator/execute", &["post"]),
        ("/api/v1/secrets", &["get"]),
        ("/api/v1/secrets/{name}", &["put", "delete"]),
        ("/readyz", &["get"]),
        ("/metrics", &["get"]),
    ] {
        let item = paths.get(path).unwrap_or_else(|| panic!("{path} is not described"));
        for method in methods {
            let operation = &item[method];
            assert!(
                operation["operationId"].is_string() && operation["summary"].is_string(),
                "{method} {path}"
            );
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path}");
        }
    }
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let ids: Vec<&str> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads elsewhere"));
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn what_is_shown_of_a_server_is_what_the_description_says() {
    let (gateway, rest) = one(&["--only", "echo"]).await;
    let document = rest.page("/openapi.json").await.json(200);
    let check = |schema: &str, value: &Value| {
        let described = &document["components"]["schemas"][schema];
        let properties = described["properties"].as_object().unwrap_or_else(|| panic!("no {schema}"));
        for key in value.as_object().unwrap().keys() {
            assert!(properties.contains_key(key), "{schema} does not know {key}");
        }
        for required in described["required"].as_array().into_iter().flatten() {
            assert!(value.get(required.as_str().unwrap()).is_some(), "{schema} without {required}");
        }
    };
    check("ServerView", &super::server(&rest, "one").await);
    check("ToolView", &super::tool(&rest, "one", "echo").await);
    check("HealthView", &rest.get("/aggregator/servers/one/health").await.json(200));
    check("HistoryView", &rest.get("/aggregator/servers/one/history").await.json(200)[0]);
    check("StateView", &rest.get("/aggregator/state").await.json(200));
    check("Health", &rest.get("/aggregator/health").await.json(200));
    let taken = rest.post("/aggregator/servers", stdio(&gateway, "one", &[])).await;
    check("Problem", &taken.problem(409, "SERVER_ALREADY_EXISTS"));
}

#[tokio::test]
async fn the_pages_are_there_and_load_only_what_is_there() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for (page, media) in [
        ("/", "text/html"),
        ("/docs", "text/html"),
        ("/docs/page.js", "text/javascript"),
        ("/docs/page.css", "text/css"),
        ("/openapi.json", "application/json"),
    ] {
        let answer = rest.page(page).await;
        assert_eq!(answer.status, 200, "{page}");
        assert!(answer.header("content-type").unwrap().starts_with(media), "{answer:?}");
        assert!(!answer.body.is_empty());
        for link in answer
            .body
            .split(['"', '\''])
            .filter(|_| media == "text/html")
            .filter(|text| text.starts_with('/') && text.len() > 1)
        {
            assert_eq!(rest.page(link).await.status, 200, "{page} leads to {link}");
        }
    }
}
