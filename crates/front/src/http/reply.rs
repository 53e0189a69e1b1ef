//! Answers that are no results: statuses with a sentence, and JSON-RPC errors that have an HTTP status.

use super::Response;
use crate::body::Body;
use crate::request::Pieces;
use bytes::Bytes;
use http::StatusCode;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use portolan_wire::answer;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A plain status with a sentence for people.
pub(crate) fn status(code: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(Pieces::Whole(format!("{text}\n").into())));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

pub(crate) fn accepted() -> Response {
    empty(StatusCode::ACCEPTED)
}

pub(crate) fn empty(code: StatusCode) -> Response {
    let mut response = Response::new(Body::from(Pieces::Whole(Bytes::new())));
    *response.status_mut() = code;
    response
}

pub(crate) fn not_allowed(verbs: &'static str) -> Response {
    let mut response = status(StatusCode::METHOD_NOT_ALLOWED, &format!("this place takes {verbs}"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(verbs));
    response
}

/// A JSON-RPC error about a message that could not be tied to a request, with its HTTP status.
pub(crate) fn refused(status: StatusCode, code: i32, text: &str) -> Response {
    with_status(status, answer::error("null", code, text, None).into())
}

/// The same for whoever asked the REST surface, in its own form.
pub(crate) fn problem(status: StatusCode, error_code: &str, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let problem = serde_json::json!({
        "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail, "error_code": error_code,
    });
    let mut response = with_status(status, Pieces::Whole(problem.to_string().into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

pub(crate) fn json(pieces: Pieces) -> Response {
    with_status(StatusCode::OK, pieces)
}

pub(crate) fn with_status(status: StatusCode, pieces: Pieces) -> Response {
    let mut response = Response::new(Body::from(pieces));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// An event stream; nothing on the way may hold it back.
pub(crate) fn stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, STREAM);
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
