//! Whatever cannot be done is a problem of the same shape; T10: what two readers could read in two ways is refused.

use super::{one, stdio};
use crate::kit::Raw;
use portolan_testkit::{Answer, Gateway, Method, Rest};
use serde_json::{Value, json};

const SERVERS: &str = "/api/v1/aggregator/servers";

async fn post(rest: &Rest, body: &str) -> Answer {
    rest.send(Method::POST, SERVERS, Some(body.to_owned())).await
}

#[tokio::test]
async fn a_place_that_is_none_is_404_and_a_method_that_is_not_taken_is_405() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for path in [
        "/nothing",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v2/aggregator/servers",
        "/api/v1/aggregator",
        "/docs/../secret.key",
        "/data/portolan.db",
    ] {
        rest.page(path).await.problem(404, "NOT_FOUND");
    }
    for (method, path, allowed) in [
        (Method::DELETE, SERVERS, &["GET", "POST"][..]),
        (Method::PUT, SERVERS, &["GET", "POST"]),
        (Method::POST, "/api/v1/aggregator/servers/one", &["GET", "PATCH", "DELETE"]),
        (Method::GET, "/api/v1/aggregator/servers/one/connect", &["POST"]),
        (Method::POST, "/api/v1/aggregator/state", &["GET"]),
        (Method::GET, "/api/v1/tools/call", &["POST"]),
        (Method::POST, "/metrics", &["GET"]),
        (Method::OPTIONS, SERVERS, &["GET", "POST"]),
    ] {
        let answer = rest.send(method, path, None).await;
        answer.problem(405, "METHOD_NOT_ALLOWED");
        let allow = answer.header("allow").unwrap_or_else(|| panic!("no Allow in {answer:?}"));
        assert!(allowed.iter().all(|method| allow.contains(method)), "{} allows {allow}", answer.request);
    }
}

#[tokio::test]
async fn the_head_of_a_page_is_that_of_the_page() {
    let gateway = Gateway::builder().serve().await;
    let answer = gateway.rest().send(Method::HEAD, SERVERS, None).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
}

#[tokio::test]
async fn a_body_that_is_not_json_is_400_and_says_where() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let problem = post(&rest, "{\n  \"name\": oops\n}").await.problem(400, "INVALID_JSON");
    assert_eq!(problem["line"], 2, "{problem}");
    assert!(problem["column"].as_u64().unwrap() > 8, "{problem}");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in
        ["", " ", "{", "{}x", "{} {}", "nul", "{\"name\": \"a\u{1}\"}", "{'name': 1}", "{\"a\": 01}", &deep]
    {
        let shown: String = body.chars().take(20).collect();
        let answer = post(&rest, body).await;
        assert_eq!(answer.status, 400, "{shown}: {answer:?}");
        answer.problem(400, "INVALID_JSON");
    }
    // Bytes that are no text.
    let mut raw = Raw::open(gateway.address()).await;
    let head = format!(
        "POST {SERVERS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n"
    );
    raw.write(&[head.as_bytes(), b"{\"name\":\"\xff\"}"].concat()).await;
    let answer = raw.answer().await;
    assert!(answer.status == 400 && answer.body.contains("INVALID_JSON"), "{answer:?}");
    // The connection is fit for the next.
    raw.start_post("/api/v1/tools/call", "", "{}").await;
    assert_eq!(raw.answer().await.status, 422);
}

#[tokio::test]
async fn a_body_that_is_something_else_is_422() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for body in ["[]", "null", "7", "\"x\"", r#"["a","HTTP",{"base_url":"http://127.0.0.1:9/"}]"#] {
        assert_eq!(post(&rest, body).await.wrong_fields(), ["body"], "{body}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_one_within_it_is_read() {
    let gateway = Gateway::builder().env("PORTOLAN_LIMITS_REQUEST_BODY_BYTES", "4KiB").serve().await;
    let rest = gateway.rest();
    let draft = |length: usize| json!({ "name": "x", "description": "x".repeat(length) }).to_string();
    let problem = post(&rest, &draft(5000)).await.problem(413, "BODY_TOO_LARGE");
    assert!(problem["detail"].as_str().unwrap().contains("4096"), "{problem}");
    post(&rest, &draft(40_000)).await.problem(413, "BODY_TOO_LARGE");
    post(&rest, &draft(3000)).await.problem(422, "VALIDATION_ERROR");
    let mut raw = Raw::open(gateway.address()).await;
    let head = format!(
        "POST {SERVERS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    raw.write(head.as_bytes()).await;
    raw.write(format!("1400\r\n{}\r\n0\r\n\r\n", " ".repeat(0x1400)).as_bytes()).await;
    assert_eq!(raw.answer().await.status, 413, "without a length, too");
}

#[tokio::test]
async fn t10_a_key_that_is_given_twice_is_refused_wherever_it_is() {
    let (_gateway, rest) = one(&[]).await;
    let draft =
        |config: &str| format!(r#"{{"name":"two","transport_type":"HTTP","connection_config":{config}}}"#);
    for (body, field) in [
        (r#"{"name":"two","name":"three"}"#.to_owned(), "body.name"),
        (
            draft(r#"{"base_url":"http://127.0.0.1:9/","base_url":"http://127.0.0.1:8/"}"#),
            "body.connection_config.base_url",
        ),
        (
            draft(r#"{"base_url":"http://127.0.0.1:9/","headers":{"A":"1","A":"2"}}"#),
            "body.connection_config.headers.A",
        ),
        (
            draft(r#"{"base_url":"http://127.0.0.1:9/","b\u0061se_url":"x"}"#),
            "body.connection_config.base_url",
        ),
    ] {
        assert_eq!(post(&rest, &body).await.wrong_fields(), [field], "{body}");
    }
    let twice = r#"{"name":"two","name":"three"}"#.to_owned();
    let answer = rest.send(Method::PATCH, &format!("{SERVERS}/one"), Some(twice)).await;
    assert_eq!(answer.wrong_fields(), ["body.name"]);
    // A key in another case is another key, and there is none.
    let body = draft(r#"{"base_url":"http://127.0.0.1:9/","Headers":{}}"#);
    assert_eq!(post(&rest, &body).await.wrong_fields(), ["body.connection_config.Headers"]);
    assert_eq!(rest.get("/aggregator/servers").await.header("x-total-count"), Some("1"));
}

#[tokio::test]
async fn t10_a_header_in_two_spellings_is_given_twice() {
    let gateway = Gateway::builder().serve().await;
    let config = json!({ "base_url": "http://127.0.0.1:9/", "headers": { "X-Key": "1", "x-key": "2" } });
    let draft = json!({ "name": "one", "transport_type": "HTTP", "connection_config": config });
    let answer = gateway.rest().post("/aggregator/servers", draft).await;
    assert_eq!(answer.wrong_fields(), ["body.connection_config.headers.x-key"]);
}

#[tokio::test]
async fn a_path_that_cannot_be_read_is_400_and_a_query_that_is_not_known_422() {
    let (gateway, rest) = one(&[]).await;
    rest.get("/aggregator/servers/%ff").await.problem(400, "INVALID_PATH");
    for (path, field) in [
        ("/aggregator/state?verbose=1", "query.verbose"),
        ("/aggregator/servers/one?x", "query.x"),
        ("/aggregator/servers/one/tools?limit=x", "query.limit"),
        ("/aggregator/servers/one/history?offset=-1", "query.offset"),
        ("/aggregator/tools?limit=5000", "query.limit"),
    ] {
        assert_eq!(rest.get(path).await.wrong_fields(), [field], "{path}");
    }
    let answer = rest.post_nothing("/aggregator/servers/one/connect?wait=maybe").await;
    assert_eq!(answer.wrong_fields(), ["query.wait"]);
    let answer = rest.delete("/aggregator/servers/one?force=maybe").await;
    assert_eq!(answer.wrong_fields(), ["query.force"]);
    assert_eq!(super::server(&rest, "one").await["status"], "CONNECTED");
    let draft: Value = stdio(&gateway, "two", &[]);
    let answer = rest.post("/aggregator/servers?dry_run=true", draft).await;
    assert_eq!(answer.wrong_fields(), ["query.dry_run"]);
}
