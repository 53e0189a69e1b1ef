//! Streamable HTTP: a POST for each message, JSON back when nothing was streamed, an event stream else.

use super::{reply, view_of};
use crate::Front;
use crate::body::{KEEP_ALIVE, Listening, Telling};
use crate::methods::{Method, Pieces, Request, refusal};
use crate::sessions::Held;
use crate::styles::Transport;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method as Verb, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use portolan_catalog::View;
use portolan_router::Aside;
use portolan_wire::{Incoming, Message, Revision, envelope, sse};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";
const INVALID_REQUEST: i32 = -32600;
/// A client that takes longer over its body is let go.
const BODY: Duration = Duration::from_secs(30);
/// What a batch may hold at most.
const MOST_IN_BATCH: usize = 100;

type Refused = Response;

pub(super) async fn all(State(front): State<Arc<Front>>, request: http::Request<Body>) -> Response {
    serve(front, View::All, request).await
}

pub(super) async fn one(
    State(front): State<Arc<Front>>,
    server: Path<String>,
    request: http::Request<Body>,
) -> Response {
    match view_of(&front, &server) {
        Ok(view) => serve(front, view, request).await,
        Err(refused) => refused,
    }
}

async fn serve(front: Arc<Front>, view: View, request: http::Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let answered = match head.method {
        Verb::POST => take(front, view, &head.headers, body).await,
        Verb::GET => listen(&front, &view, &head.headers),
        Verb::DELETE => leave(&front, &view, &head.headers),
        _ => {
            let mut response =
                reply::status(StatusCode::METHOD_NOT_ALLOWED, "MCP takes POST, GET and DELETE");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
            Err(response)
        }
    };
    answered.unwrap_or_else(|refused| refused)
}

async fn take(front: Arc<Front>, view: View, headers: &HeaderMap, body: Body) -> Result<Response, Refused> {
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
            batch(&front, &held, &line, &entries).await
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

pub(super) async fn read(body: Body, limit: usize) -> Result<Bytes, Refused> {
    let whole = tokio::time::timeout(BODY, Limited::new(body, limit).collect()).await;
    match whole {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            let text = format!("the body is larger than the limit of {limit} bytes");
            Err(reply::refused(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, &text))
        }
        Ok(Err(_)) => Err(reply::status(StatusCode::BAD_REQUEST, "the body could not be read")),
        Err(_) => Err(reply::status(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
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
        () = sleep(KEEP_ALIVE) => None,
    };
    match done {
        Some(Some(answer)) if !aside.has_notes() => reply::json(answer),
        done => {
            let mut telling = Telling::new(held, request, aside);
            match done {
                Some(answer) => telling.finish(answer),
                None => telling.go_on(answering),
            }
            reply::stream(Body::new(telling))
        }
    }
}

/// A batch, where 2025-03-26 was negotiated: every request answered, side by side, in one array.
async fn batch(
    front: &Arc<Front>,
    held: &Arc<Held>,
    line: &Bytes,
    entries: &[&str],
) -> Result<Response, Refused> {
    if !held.client.terms().revision.has_batches() {
        let text = format!("batches are part of {} only", Revision::V2025_03_26);
        return Err(reply::refused(StatusCode::BAD_REQUEST, INVALID_REQUEST, &text));
    }
    if entries.is_empty() || entries.len() > MOST_IN_BATCH {
        let text = format!("a batch holds 1 to {MOST_IN_BATCH} messages");
        return Err(reply::refused(StatusCode::BAD_REQUEST, INVALID_REQUEST, &text));
    }
    let answers = front.batch(&held.client, line, entries).await;
    if answers.is_empty() {
        return Ok(reply::accepted());
    }
    Ok(reply::json(Pieces::from([&b"["[..], &answers.join(&b","[..]), b"]"].concat())))
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
            Ok(reply::stream(Body::new(listening)))
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
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
