//! Which end of a question becomes which problem, and that nothing of what MCP would say is lost.

use super::*;
use axum::response::IntoResponse as _;
use http::header::RETRY_AFTER;
use http_body_util::BodyExt as _;
use portolan_query::Reason;

#[track_caller]
fn answered(error: impl Into<Refusal>) -> (u16, Option<String>, Value) {
    let response = error.into().into_response();
    let status = response.status().as_u16();
    let wait = response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
    (status, wait, serde_json::from_slice(&body).unwrap())
}

#[test]
fn seed_004_a_bad_query_is_422_with_its_field_and_says_what_mcp_says() {
    let (status, _, problem) =
        answered(QueryInput::read(&json!({"query": "q", "maxResults": 500})).unwrap_err());
    assert_eq!((status, &problem["error_code"]), (422, &json!("VALIDATION_ERROR")));
    let reason = "Must be between 10 and 100, got 500";
    assert_eq!(problem["errors"], json!([{"loc": ["body", "maxResults"], "msg": reason}]));
    assert_eq!((&problem["code"], &problem["message"]), (&json!(-32602), &json!("Invalid query parameters")));
    assert_eq!(problem["data"], json!({"field": "maxResults", "reason": reason}));
    let (_, _, problem) = answered(QueryInput::read(&json!([])).unwrap_err());
    assert_eq!(problem["errors"][0]["loc"], json!(["body"]));
}

#[test]
fn seed_004_a_query_that_nobody_answers_is_503_with_every_reason() {
    let failures = vec![
        ("context7".to_owned(), Reason::new("timeout after 3s")),
        ("serena".to_owned(), Reason::new("connection refused")),
    ];
    let error = QueryError::AllFailed { failures };
    let seed = error.to_json();
    let (status, _, problem) = answered(error);
    assert_eq!((status, &problem["error_code"]), (503, &json!("AGGREGATION_FAILED")));
    assert_eq!(problem["detail"], "Aggregation failed: all servers unavailable");
    assert_eq!(problem["attemptedServers"], json!(["context7", "serena"]));
    assert_eq!(
        problem["errors"],
        json!([
            {"loc": ["servers", "context7"], "msg": "timeout after 3s"},
            {"loc": ["servers", "serena"], "msg": "connection refused"},
        ])
    );
    for member in ["code", "message", "data"] {
        assert_eq!(problem[member], seed[member]);
    }
}

#[test]
fn a_query_that_meets_no_server_at_all_still_says_whom_it_tried() {
    let (status, _, problem) = answered(QueryError::AllFailed { failures: Vec::new() });
    assert_eq!((status, &problem["attemptedServers"]), (503, &json!([])));
}

#[test]
fn a_field_that_nobody_would_read_is_named() {
    let known = ["query", "servers"];
    let (field, reason) = unknown(&json!({"query": "q", "server": "x"}), &known).unwrap();
    assert_eq!(
        (field.as_str(), reason.as_str()),
        ("server", "there is no such field; known are query, servers")
    );
    assert_eq!(unknown(&json!({"query": "q"}), &known), None);
    assert_eq!(unknown(&json!("q"), &known), None);
}
