//! JSON bodies, in and out. What comes in is bounded, is JSON, says nothing twice, and is told where it is wrong.

mod distinct;
mod strict;

use crate::problem::{Code, FieldError, Refusal};
use axum::body::Body;
use axum::extract::{FromRef, FromRequest, OptionalFromRequest, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Segment, Track};
use std::time::Duration;
use strict::Strict;
use tokio::time::timeout;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// A client that takes longer over its body is let go.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many times the limit an oversized body is read to its end before its connection is given up.
const FORGOTTEN: usize = 16;

/// The largest body that is read, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimit(pub(crate) usize);

/// A body that is JSON. As an argument, one that has to be there; in an `Option`, one that may be left out.
pub(crate) struct Json<T>(pub(crate) T);

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
    BodyLimit: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let (head, body) = request.into_parts();
        check_media_type(&head.headers)?;
        let bytes = read(body, BodyLimit::from_ref(state)).await?;
        parse(&bytes).map(Self)
    }
}

impl<T, S> OptionalFromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
    BodyLimit: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, Refusal> {
        let (head, body) = request.into_parts();
        let bytes = read(body, BodyLimit::from_ref(state)).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        check_media_type(&head.headers)?;
        parse(&bytes).map(|value| Some(Self(value)))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(CONTENT_TYPE, JSON)], body).into_response(),
            Err(error) => {
                tracing::error!(%error, "an answer could not be written");
                Refusal::new(Code::InternalError, "the answer could not be written: the log says why")
                    .into_response()
            }
        }
    }
}

/// A part of a list, with how long the whole of it is.
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: u64,
}

impl<T> From<portolan_registry::Slice<T>> for Listed<T> {
    fn from(slice: portolan_registry::Slice<T>) -> Self {
        Self { items: slice.items, total: slice.total }
    }
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        ([(TOTAL, HeaderValue::from(self.total))], Json(self.items)).into_response()
    }
}

/// JSON that has been written already.
pub(crate) fn raw(bytes: impl Into<Bytes>) -> Response {
    ([(CONTENT_TYPE, JSON)], bytes.into()).into_response()
}

/// A page of another origin can send text without asking, but not JSON: whoever sends JSON may.
fn check_media_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media = given.split(';').next().unwrap_or("").trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refusal::new(Code::UnsupportedMediaType, "Content-Type must be application/json"))
}

async fn read(mut body: Body, BodyLimit(limit): BodyLimit) -> Result<Bytes, Refusal> {
    match timeout(PATIENCE, Limited::new(&mut body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            timeout(PATIENCE, forget(body, limit)).await.unwrap_or_default();
            let detail = format!("the body is larger than the limit of {limit} bytes");
            Err(Refusal::new(Code::BodyTooLarge, detail))
        }
        Ok(Err(_)) => Err(Refusal::new(Code::BodyUnreadable, "the body could not be read to its end")),
        Err(_) => {
            let detail = format!("the body did not come within {PATIENCE:?}");
            Err(Refusal::new(Code::RequestTimeout, detail))
        }
    }
}

/// Reads on for a while without keeping anything: who is still sending when its connection is closed never sees why.
async fn forget(mut body: Body, limit: usize) {
    let mut left = limit.saturating_mul(FORGOTTEN);
    while let Some(Ok(frame)) = body.frame().await {
        let read = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(read) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    distinct::check(bytes)?;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let mut track = Track::new();
    let reader = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
    T::deserialize(Strict(reader)).map_err(|error| misfit(&track.path(), &error))
}

/// Where a value is not what it has to be.
fn misfit(path: &serde_path_to_error::Path, cause: &serde_json::Error) -> Refusal {
    let mut loc = vec!["body".to_owned()];
    loc.extend(path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Unknown => None,
    }));
    let text = cause.to_string();
    // The place in the text is of no use to who has the way through the fields.
    let place = format!(" at line {} column {}", cause.line(), cause.column());
    let msg = text.strip_suffix(&place).unwrap_or(&text);
    // A field that is missing has no place of its own to be found wrong at.
    if let Some(field) = msg.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        loc.push(field.to_owned());
        return Refusal::invalid(vec![FieldError { loc, msg: "this field is required".to_owned() }]);
    }
    Refusal::invalid(vec![FieldError { loc, msg: msg.to_owned() }])
}

#[cfg(test)]
mod tests;
