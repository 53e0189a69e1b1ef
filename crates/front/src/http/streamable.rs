//! Streamable HTTP: a POST for each message, JSON back when nothing was streamed, an event stream else.

use super::{Response, reply};
use crate::Front;
use crate::body::{Body, Listening, Telling};
use crate::methods::{Method, Pieces, Request, refusal};
use crate::sessions::Held;
use crate::styles::Transport;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method as Verb, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming as Received;
use portolan_catalog::View;
use portolan_router::Aside;
use portolan_wire::{Incoming, Message, Revision, envelope, sse};
use std::sync::Arc;
use std::time::Duration;

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";
const INVALID_REQUEST: i32 = -32600;
/// A client that takes longer over its body is let go.
const BODY: Duration = Duration::from_secs(30);
/// How many times the limit an oversized body is read to its end before its connection is given up.
const FORGOTTEN: usize = 16;

type Refused = Response;

pub(super) async fn serve(front: Arc<Front>, view: View, request: super::Request) -> Response {
    let (head, body) = request.into_parts();
    let answered = match head.method {
        Verb::POST => take(front, view, &head.headers, body).await,
        Verb::GET => listen(&front, &view, &head.headers),
        Verb::DELETE => leave(&front, &view, &head.headers),
        _ => Err(reply::not_allowed("POST, GET, DELETE")),
    };
    answered.unwrap_or_else(|refused| refused)
}

async fn take(
    front: Arc<Front>,
    view: View,
    headers: &HeaderMap,
    body: Received,
) -> Result<Response, Refused> {
    check_media(headers)?;
    let line = read(body, front.options.limits.request_body_bytes).await?;
    let message = envelope::parse(&line, front.options.limits.json_depth).map_err(|malformed| {
        reply::refused(StatusCode::BAD_REQUEST, malformed.code(), &malformed.to_string())
    })?;
    match message {
        Incoming::One(Message::Request { id, method, params }) => {
            let request = Request::new(&line, id, &method, params);
            if request.method == Method::Initialize {
                return Ok(initialize(&front, &request, view));
            }
            let held = session(&front, &view, headers)?;
            Ok(answer(front, held, request).await)
        }
        Incoming::One(Message::Notification { method, params }) => {
            Front::notified(&session(&front, &view, headers)?.client, &method, params);
            Ok(reply::accepted())
        }
        Incoming::One(Message::Reply { .. }) => {
            session(&front, &view, headers)?;
            Ok(reply::accepted())
        }
        Incoming::Batch(entries) => {
            let held = session(&front, &view, headers)?;
            match front.batch(&held.client, &line, &entries).await {
                Ok(Some(answers)) => Ok(reply::json(Pieces::Whole(answers))),
                Ok(None) => Ok(reply::accepted()),
                Err(refused) => Err(reply::with_status(StatusCode::BAD_REQUEST, refused)),
            }
        }
    }
}

/// The body is JSON and the client takes both kinds of answer, or it is told which of the two is wrong.
fn check_media(headers: &HeaderMap) -> Result<(), Refused> {
    check_content(headers)?;
    if accepts(headers, "application/json") && accepts(headers, "text/event-stream") {
        return Ok(());
    }
    let text = "Accept must list both application/json and text/event-stream";
    Err(reply::refused(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, text))
}

pub(super) fn check_content(headers: &HeaderMap) -> Result<(), Refused> {
    let content = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    let media = content.split(';').next().unwrap_or("").trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let text = "Content-Type must be application/json";
    Err(reply::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, text))
}

fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = wanted.split('/').next().unwrap_or("");
    headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(',')).any(|entry| {
        let media = entry.split(';').next().unwrap_or("").trim();
        media.eq_ignore_ascii_case(wanted)
            || media == "*/*"
            || media.strip_suffix("/*").is_some_and(|m| m.eq_ignore_ascii_case(kind))
    })
}

pub(super) async fn read(mut body: Received, limit: usize) -> Result<Bytes, Refused> {
    let whole = tokio::time::timeout(BODY, Limited::new(&mut body, limit).collect()).await;
    match whole {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            tokio::time::timeout(BODY, forget(body, limit)).await.unwrap_or_default();
            let text = format!("the body is larger than the limit of {limit} bytes");
            Err(reply::refused(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, &text))
        }
        Ok(Err(_)) => Err(reply::status(StatusCode::BAD_REQUEST, "the body could not be read")),
        Err(_) => Err(reply::status(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

/// Reads on for a while without keeping anything: who is still sending when its connection is closed never sees why.
async fn forget(mut body: Received, limit: usize) {
    let mut left = limit.saturating_mul(FORGOTTEN);
    while let Some(Ok(frame)) = body.frame().await {
        let read = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(read) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn initialize(front: &Front, request: &Request, view: View) -> Response {
    let client = front.new_client(view);
    let answer = match front.initialize(&client, request, Transport::Http) {
        Ok(answer) => answer,
        Err(refused) => return reply::with_status(StatusCode::BAD_REQUEST, refused),
    };
    let Ok((id, _)) = front.sessions.open(client) else {
        let text = "there are as many client sessions as the limit allows; try again later";
        let mut response =
            reply::with_status(StatusCode::SERVICE_UNAVAILABLE, refusal(request.id(), -32000, text));
        response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from_static("30"));
        return response;
    };
    let mut response = reply::json(answer);
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// The session that a request belongs to. One that is unknown, has ended or belongs to another view is 404, which by
/// the protocol makes the client start a new one.
fn session(front: &Front, view: &View, headers: &HeaderMap) -> Result<Arc<Held>, Refused> {
    let Some(id) = headers.get(SESSION) else {
        let text =
            "no session: send initialize first, then the Mcp-Session-Id of its answer with every request";
        return Err(reply::refused(StatusCode::BAD_REQUEST, -32000, text));
    };
    let held =
        id.to_str().ok().and_then(|id| front.sessions.get(id)).filter(|held| held.client.view == *view);
    let held = held.ok_or_else(|| reply::refused(StatusCode::NOT_FOUND, -32001, "session not found"))?;
    if let Some(asked) = headers.get(PROTOCOL) {
        let known = asked.to_str().ok().and_then(Revision::parse).filter(|r| r.has_handshake());
        if known.is_none() {
            let text = "this MCP-Protocol-Version is not spoken within a session";
            return Err(reply::refused(StatusCode::BAD_REQUEST, INVALID_REQUEST, text));
        }
    }
    Ok(held)
}

/// Answers one request: as JSON if the answer is there before anything else, else as a stream.
async fn answer(front: Arc<Front>, held: Arc<Held>, request: Request) -> Response {
    let aside: Arc<Aside> = Arc::default();
    let mut answering = {
        let (held, request, aside) = (held.clone(), request.clone(), aside.clone());
        Box::pin(async move { front.answer(&held.client, &request, &aside).await })
    };
    let done = tokio::select! {
        biased;
        answer = &mut answering => Some(answer),
        () = aside.noted() => None,
    };
    match done {
        Some(Some(answer)) if !aside.has_notes() => reply::json(answer),
        done => {
            let mut telling = Telling::new(held, request, aside);
            match done {
                Some(answer) => telling.finish(answer),
                None => telling.go_on(answering),
            }
            reply::stream(Body::telling(telling))
        }
    }
}

/// GET: a stream for what belongs to no request.
fn listen(front: &Front, view: &View, headers: &HeaderMap) -> Result<Response, Refused> {
    if !accepts(headers, "text/event-stream") {
        let text = "Accept must list text/event-stream";
        return Err(reply::refused(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, text));
    }
    let held = session(front, view, headers)?;
    match held.client.open_stream() {
        Some(messages) => {
            let mut listening = Listening::new(messages);
            // Says to whatever stands between that the stream is open.
            listening.ready.push_back(Bytes::from_static(sse::KEEP_ALIVE));
            Ok(reply::stream(Body::listening(listening)))
        }
        None => {
            let text = "this session has as many open streams as it may have";
            Err(reply::refused(StatusCode::CONFLICT, INVALID_REQUEST, text))
        }
    }
}

/// DELETE: the client ends its session.
fn leave(front: &Front, view: &View, headers: &HeaderMap) -> Result<Response, Refused> {
    session(front, view, headers)?;
    let id = headers.get(SESSION).and_then(|id| id.to_str().ok()).unwrap_or("");
    front.sessions.close(id);
    Ok(reply::empty(StatusCode::NO_CONTENT))
}
