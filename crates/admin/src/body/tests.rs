//! What the body extractor takes, and how it refuses the rest.

use super::*;
use axum::Router;
use axum::routing::{get, post};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use tower::ServiceExt as _;

const LIMIT: usize = 4096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body1 {
    name: String,
    #[serde(default)]
    inner: Inner,
    list: Option<Vec<Inner>>,
    raw: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

fn routes() -> Router {
    let required = async |Json(body): Json<Body1>| {
        let raw = body.raw.map(|raw| raw.get().to_owned()).unwrap_or_default();
        format!("{} {} {} {raw}", body.name, body.inner.headers.len(), body.list.map_or(0, |list| list.len()))
    };
    let optional = async |inner: Option<Json<Inner>>| match inner {
        Some(Json(inner)) => format!("some {}", inner.headers.len()),
        None => "none".to_owned(),
    };
    Router::new()
        .route("/required", post(required))
        .route("/optional", post(optional))
        .route("/list", get(async || Listed { items: vec![1, 2], total: 7 }))
        .with_state(BodyLimit(LIMIT))
}

async fn answer(request: Request) -> (StatusCode, HeaderMap, String) {
    let response = routes().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
}

fn request(path: &str, media_type: Option<&str>, body: impl Into<Body>) -> Request {
    let mut request = Request::builder().method(Method::POST).uri(path);
    if let Some(media_type) = media_type {
        request = request.header(CONTENT_TYPE, media_type);
    }
    request.body(body.into()).unwrap()
}

/// The body is taken, or refused with this status and these texts.
async fn check(body: impl Into<Vec<u8>>, status: u16, texts: &[&str]) {
    let body = body.into();
    let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
    let (got, headers, text) = answer(request("/required", Some("application/json"), body)).await;
    assert_eq!(got, status, "{shown}: {text}");
    if status != 200 {
        assert_eq!(headers[CONTENT_TYPE], "application/problem+json", "{shown}");
    }
    for expected in texts {
        assert!(text.contains(expected), "{shown}: {expected} is not in {text}");
    }
}

#[tokio::test]
async fn a_body_that_fits_is_taken_and_raw_parts_keep_their_bytes() {
    check(r#"{"name":"a"}"#, 200, &["a 0 0"]).await;
    check(
        r#" {"name":"\u0061","raw":{ "b":1.0, "a":"\u0041" }} "#,
        200,
        &[r#"a 0 0 { "b":1.0, "a":"\u0041" }"#],
    )
    .await;
    check(r#"{"name":"a","raw":[1e400]}"#, 200, &["a 0 0 [1e400]"]).await;
    check(r#"{"name":"a\u0000b","inner":{"headers":{"x":"y"}},"list":[{},{}]}"#, 200, &["a\0b 1 2"]).await;
}

#[tokio::test]
async fn what_is_not_json_is_400_with_its_place() {
    for body in [
        "",
        "  ",
        "{",
        "{\"name\":\"a\"} x",
        "nonsense",
        "{'name':1}",
        r#"{"name":"\ud800"}"#,
        "{\"name\":\"\u{1}\"}",
    ] {
        check(body, 400, &["INVALID_JSON"]).await;
    }
    check("{\n  \"name\": oops}", 400, &[r#""line":2,"column":11"#]).await;
    check(b"{\"name\":\"\xff\"}".to_vec(), 400, &["INVALID_JSON"]).await;
    check(format!(r#"{{"name":"a","raw":{}{}}}"#, "[".repeat(200), "]".repeat(200)), 400, &["128 deep"])
        .await;
}

#[tokio::test]
async fn what_does_not_fit_is_422_with_the_way_to_it() {
    check("{}", 422, &[r#"{"loc":["body","name"],"msg":"this field is required"}"#]).await;
    check(r#"{"name":7}"#, 422, &[r#""loc":["body","name"]"#, "expected a string"]).await;
    check(r#"{"name":"a","nam":1}"#, 422, &[r#""loc":["body","nam"]"#, "unknown field"]).await;
    check(
        r#"{"name":"a","list":[{},{"headers":{"x":null}}]}"#,
        422,
        &[r#"["body","list","1","headers","x"]"#],
    )
    .await;
    check(r#"{"name":"a","inner":{"header":{}}}"#, 422, &[r#""loc":["body","inner","header"]"#]).await;
    for text in ["the body", " at line "] {
        let (_, _, body) = answer(request("/required", Some("application/json"), "{}")).await;
        assert!(!body.contains(text), "{body}");
    }
}

#[tokio::test]
async fn what_is_no_object_is_422_and_an_array_never_passes_for_one() {
    for body in ["null", "[]", "7", "\"a\"", "true", r#"["a"]"#, r#"["a",{},null,null]"#] {
        check(body, 422, &[r#""loc":["body"]"#, "expected an object"]).await;
    }
    check(r#"{"name":"a","inner":[]}"#, 422, &[r#""loc":["body","inner"]"#, "expected an object"]).await;
    check(r#"{"name":"a","list":[[]]}"#, 422, &[r#""loc":["body","list","0"]"#, "expected an object"]).await;
}

#[tokio::test]
async fn t10_a_key_given_twice_is_refused_wherever_it_stands_and_however_it_is_spelt() {
    for (body, loc) in [
        (r#"{"name":"a","name":"b"}"#, r#"["body","name"]"#),
        (r#"{"name":"a","n\u0061me":"b"}"#, r#"["body","name"]"#),
        (r#"{"name":"a","inner":{"headers":{"x":"1","x":"2"}}}"#, r#"["body","inner","headers","x"]"#),
        (r#"{"name":"a","raw":[1,{"y":{"z":1,"z":1}}]}"#, r#"["body","raw","1","y","z"]"#),
    ] {
        check(body, 422, &[loc, "once only"]).await;
    }
    check(r#"{"name":"a","inner":{"headers":{"x":"1","X":"2"}}}"#, 200, &["a 2"]).await;
}

#[tokio::test]
async fn t28_only_json_is_taken() {
    for media_type in
        [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonp")]
    {
        let (status, _, text) = answer(request("/required", media_type, r#"{"name":"a"}"#)).await;
        assert_eq!(status, 415, "{media_type:?}: {text}");
        assert!(text.contains("UNSUPPORTED_MEDIA_TYPE"));
    }
    for media_type in
        ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;x=y"]
    {
        let (status, _, text) = answer(request("/required", Some(media_type), r#"{"name":"a"}"#)).await;
        assert_eq!(status, 200, "{media_type}: {text}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_whether_or_not_it_says_how_long_it_is() {
    let body = |length: usize| format!(r#"{{"name":"{}"}}"#, "a".repeat(length - 11));
    check(body(LIMIT), 200, &["aaa"]).await;
    check(body(LIMIT + 1), 413, &["BODY_TOO_LARGE", "4096 bytes"]).await;
    let chunks = vec![Ok::<_, std::io::Error>(vec![b' '; LIMIT]), Ok(vec![b' '; 1])];
    let stream = Body::from_stream(futures_util::stream::iter(chunks));
    assert_eq!(answer(request("/required", Some("application/json"), stream)).await.0, 413);
}

#[tokio::test(start_paused = true)]
async fn f52_a_body_that_never_comes_is_408_and_one_that_breaks_is_400() {
    let never = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let (status, _, text) = answer(request("/required", Some("application/json"), never)).await;
    assert!(status == 408 && text.contains("REQUEST_TIMEOUT"), "{status} {text}");
    let broken =
        Body::from_stream(futures_util::stream::iter([Err::<Bytes, _>(std::io::Error::other("cut"))]));
    let (status, _, text) = answer(request("/required", Some("application/json"), broken)).await;
    assert!(status == 400 && text.contains("BODY_UNREADABLE"), "{status} {text}");
}

#[tokio::test]
async fn a_body_that_may_be_left_out_is_as_strict_when_it_is_there() {
    for (media_type, body, status, text) in [
        (None, "", 200, "none"),
        (Some("text/plain"), "", 200, "none"),
        (Some("application/json"), r#"{"headers":{"a":"b"}}"#, 200, "some 1"),
        (Some("text/plain"), "{}", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (Some("application/json"), "null", 422, "expected an object"),
        (Some("application/json"), "[]", 422, "expected an object"),
        (Some("application/json"), "{", 400, "INVALID_JSON"),
    ] {
        let (got, _, answered) = answer(request("/optional", media_type, body)).await;
        assert!(got == status && answered.contains(text), "{media_type:?} {body}: {got} {answered}");
    }
}

#[tokio::test]
async fn a_list_says_how_long_the_whole_of_it_is() {
    let (status, headers, body) = answer(Request::get("/list").body(Body::empty()).unwrap()).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "[1,2]"));
    assert_eq!((&headers[TOTAL], &headers[CONTENT_TYPE]), (&HeaderValue::from(7), &JSON));
}
