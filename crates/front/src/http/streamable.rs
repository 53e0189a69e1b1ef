//! Streamable HTTP: a POST for each message, JSON back when nothing was streamed, an event stream else.

use super::{Response, modern, reply};
use crate::Front;
use crate::body::{Body, Listening, Telling};
use crate::fault::refusal;
use crate::feed::{Feed, Naming};
use crate::parking::Answering;
use crate::request::{Method, Pieces, Request};
use crate::sessions::Held;
use crate::styles::Transport;
use crate::teller::{Sink, Teller};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method as Verb, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming as Received;
use portolan_catalog::View;
use portolan_router::Aside;
use portolan_wire::{Incoming, Message, Revision, envelope, sse};
use std::sync::Arc;
use std::time::Duration;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
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
            if modern::is_meant(headers, &request) {
                return modern::take(front, view, headers, request).await;
            }
            if request.method == Method::Initialize {
                return Ok(initialize(&front, &request, view));
            }
            let held = session(&front, &view, headers)?;
            Ok(answer(front, held, Arc::new(request)).await)
        }
        Incoming::One(Message::Notification { .. }) if modern::is_said(headers) => Ok(reply::accepted()),
        Incoming::One(Message::Notification { method, params }) => {
            front.notified(&session(&front, &view, headers)?.client, &method, params);
            Ok(reply::accepted())
        }
        Incoming::One(Message::Reply { id, outcome }) => {
            session(&front, &view, headers)?.client.questions.answered(id, outcome);
            Ok(reply::accepted())
        }
        Incoming::Batch(entries) => {
            let held = session(&front, &view, headers)?;
            match Box::pin(front.batch(&held.client, &line, &entries)).await {
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

fn initialize(front: &Arc<Front>, request: &Request, view: View) -> Response {
    let client = front.new_client(view);
    let answer = match front.initialize(&client, request, Transport::Http) {
        Ok(answer) => answer,
        Err(refused) => return reply::with_status(StatusCode::BAD_REQUEST, refused),
    };
    let Ok((id, _)) = front.open_session(client) else {
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

/// Answers one request of a session: as JSON if the answer is there before anything else, else as a stream that can be
/// taken up again.
async fn answer(front: Arc<Front>, held: Arc<Held>, request: Arc<Request>) -> Response {
    let aside = Arc::new(Aside::of(held.client.number));
    let mut answering = front.clone().answering(held.clone(), request.clone(), aside.clone());
    let done = tokio::select! {
        biased;
        answer = &mut answering => Some(answer),
        () = aside.noted() => None,
    };
    match done {
        Some(Some(answer)) if !aside.has_notes() => reply::json(answer),
        done => {
            let revision = held.client.terms().revision;
            // Before 2025-03-26 there was no such stream, and so none that could be taken up again.
            let is_resumable = revision > Revision::V2024_11_05;
            let feed = if is_resumable { held.client.open_feed() } else { Feed::new(Naming::None) };
            if revision >= Revision::V2025_11_25 {
                feed.begin();
            } else {
                feed.show_life();
            }
            let answering = done.map_or(answering, |answer| Box::pin(async move { answer }));
            let began_as = request.id.clone();
            let teller = Teller { front: front.clone(), held, request, aside, began_as, asked: Vec::new() };
            tell(&front, teller, answering, feed)
        }
    }
}

/// Has an answer told by a task of its own, and gives the stream on which it is told.
pub(super) fn tell(front: &Front, teller: Teller, answering: Answering, feed: Arc<Feed>) -> Response {
    let reader = feed.read(None);
    front.tasks.spawn(teller.tell(answering, Sink::Feed(feed)));
    reply::stream(Body::telling(Telling::new(reader)))
}

/// GET: a stream for what belongs to no request.
fn listen(front: &Front, view: &View, headers: &HeaderMap) -> Result<Response, Refused> {
    if !accepts(headers, "text/event-stream") {
        let text = "Accept must list text/event-stream";
        return Err(reply::refused(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, text));
    }
    if modern::is_said(headers) {
        return Err(reply::not_allowed("POST"));
    }
    let held = session(front, view, headers)?;
    if let Some(event) = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok())
        && let Some((feed, number)) = held.client.feed_of(event)
    {
        return Ok(reply::stream(Body::telling(Telling::new(feed.read(Some(number))))));
    }
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
fn leave(front: &Arc<Front>, view: &View, headers: &HeaderMap) -> Result<Response, Refused> {
    if modern::is_said(headers) {
        return Err(reply::not_allowed("POST"));
    }
    session(front, view, headers)?;
    let id = headers.get(SESSION).and_then(|id| id.to_str().ok()).unwrap_or("");
    front.close_session(id);
    Ok(reply::empty(StatusCode::NO_CONTENT))
}
