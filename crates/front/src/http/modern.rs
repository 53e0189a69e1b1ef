//! Streamable HTTP of 2026-07-28: every request stands for itself, and says in its headers what its body says.

use super::streamable::{PROTOCOL, SESSION, tell};
use super::{Response, reply};
use crate::Front;
use crate::body::{Body, Listening};
use crate::client::{STREAM_QUEUE, next_number};
use crate::fault::{self, HEADER_MISMATCH, INVALID_PARAMS, refusal};
use crate::feed::{Feed, Naming};
use crate::parking::Return;
use crate::request::{Method, Pieces, Request};
use crate::sessions::Held;
use crate::styles::Transport;
use crate::teller::Teller;
use http::{HeaderMap, HeaderName, StatusCode};
use portolan_catalog::{Entry, View};
use portolan_router::{Aside, What, resolve_tool};
use portolan_wire::meta::PROTOCOL_VERSION;
use portolan_wire::params::Params;
use portolan_wire::{Revision, headers as encoding, json, mirror};
use std::sync::Arc;
use tokio::sync::mpsc;

type Refused = Response;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Whether the header says that the request is of a revision without a handshake, or of one that nobody knows.
pub(super) fn is_said(headers: &HeaderMap) -> bool {
    let Some(version) = headers.get(&PROTOCOL) else { return false };
    !version.to_str().ok().and_then(Revision::parse).is_some_and(Revision::has_handshake)
}

/// Whether a request stands for itself: its header says so, or its body does.
pub(super) fn is_meant(headers: &HeaderMap, request: &Request) -> bool {
    let says_session = headers.contains_key(&SESSION);
    // A session that has named its revision has settled this.
    if says_session && headers.contains_key(&PROTOCOL) && !is_said(headers) {
        return false;
    }
    if request.method == Method::Discover {
        return true;
    }
    // Which revision a session is to have is negotiated, whatever the header says.
    let is_said = request.method != Method::Initialize && is_said(headers) && !says_session;
    is_said || request.meta(PROTOCOL_VERSION).is_some()
}

pub(super) async fn take(
    front: Arc<Front>,
    view: View,
    headers: &HeaderMap,
    mut request: Request,
) -> Result<Response, Refused> {
    let bad = |refused: Pieces| reply::with_status(StatusCode::BAD_REQUEST, refused);
    let terms = {
        let params = request.params().map_err(bad)?;
        let mismatch = |text: String| bad(refusal(request.id(), HEADER_MISMATCH, &text));
        if let Some(version) = params.meta(PROTOCOL_VERSION).and_then(json::text) {
            agree(headers, &PROTOCOL, &version).map_err(mismatch)?;
        }
        let terms = front.own_terms(&view, &request, params, Transport::Http).map_err(bad)?;
        check(&front, &view, headers, &request, params).map_err(mismatch)?;
        terms
    };
    request.own_terms = Some(terms);
    let number = next_number();
    request.number = Some(number);
    let held = front.nobodies.one(&view, number);
    if request.method == Method::Listen {
        // Boxed, as what is rare: every request takes room for the largest of these.
        return Box::pin(listen(front, held, request)).await;
    }
    Ok(answer(front, held, Arc::new(request)).await)
}

/// Whoever looks at headers alone and whoever looks at the body must see the same request.
fn check(
    front: &Front,
    view: &View,
    headers: &HeaderMap,
    request: &Request,
    params: &Params,
) -> Result<(), String> {
    agree(headers, &METHOD, request.method.name())?;
    let Method::Ask(what) = &request.method else { return Ok(()) };
    let Some(key) = what.key() else { return Ok(()) };
    let Some(name) = params.text(key) else { return Ok(()) };
    let given = single(headers, &NAME)?
        .ok_or_else(|| format!("the header Mcp-Name is missing, the body says {name:?}"))?;
    let given = encoding::decode(given).ok_or("the header Mcp-Name cannot be read")?;
    if given != name {
        return Err(format!("the header Mcp-Name says {given:?}, the body {name:?}"));
    }
    if *what == What::Tool {
        return check_mirrors(front, view, headers, &name, params.get("arguments"));
    }
    Ok(())
}

/// Arguments that a tool wants mirrored.
fn check_mirrors(
    front: &Front,
    view: &View,
    headers: &HeaderMap,
    name: &str,
    arguments: Option<&str>,
) -> Result<(), String> {
    let snapshot = front.catalog().snapshot();
    // Hardly any tool wants that, and to find out whose it is costs a call more than to find out that none does.
    if !snapshot.servers().values().any(Entry::has_mirrors) {
        return Ok(());
    }
    let Ok(tool) = resolve_tool(&snapshot, view, name) else { return Ok(()) };
    let Some(entry) = snapshot.servers().get(&tool.server) else { return Ok(()) };
    let mirrors = entry.mirrors(&tool.tool);
    if mirrors.is_empty() {
        return Ok(());
    }
    for mirror in mirrors {
        if headers.get_all(&mirror.header).iter().count() > 1 {
            return Err(format!("the header {} is given twice", mirror.header));
        }
    }
    let given = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes);
    match mirror::disagreeing(mirrors, arguments, given) {
        None => Ok(()),
        Some(mirror) => {
            Err(format!("the header {} and the arguments of the call say different things", mirror.header))
        }
    }
}

fn agree(headers: &HeaderMap, name: &HeaderName, body: &str) -> Result<(), String> {
    match single(headers, name)? {
        Some(given) if given == body.as_bytes() => Ok(()),
        Some(given) => {
            let given = String::from_utf8_lossy(given);
            Err(format!("the header {name} says {given:?}, the body {body:?}"))
        }
        None => Err(format!("the header {name} is missing")),
    }
}

/// A header that may be given once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h [u8]>, String> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (first, None) => Ok(first.map(http::HeaderValue::as_bytes)),
        (_, Some(_)) => Err(format!("the header {name} is given twice")),
    }
}

/// Answers one request: as JSON if the answer is there before anything else, else as a stream. A client that closes it wants
/// no answer any more.
async fn answer(front: Arc<Front>, held: Arc<Held>, request: Arc<Request>) -> Response {
    let (mut answering, aside, began_as, asked) = match front.lot.back(&request) {
        Return::Refused(why) => return reply::json(refusal(request.id(), INVALID_PARAMS, why)),
        Return::Call(parked) => (parked.answering, parked.aside, parked.began_as, parked.asked),
        Return::None => {
            let aside = Arc::new(Aside::ending_with(request.number.unwrap_or_default()));
            let answering = front.clone().answering(held.clone(), request.clone(), aside.clone());
            (answering, aside, request.id.clone(), Vec::new())
        }
    };
    let is_new = began_as == request.id && asked.is_empty();
    if is_new {
        let done = tokio::select! {
            biased;
            answer = &mut answering => Some(answer),
            () = aside.noted() => None,
        };
        match done {
            Some(Some(answer)) if !aside.has_notes() => return with_status(answer, &request, &held),
            Some(answer) => answering = Box::pin(async move { answer }),
            None => {}
        }
    }
    let teller = Teller { front: front.clone(), held, request, aside, began_as, asked };
    let feed = Feed::new(Naming::None);
    feed.show_life();
    tell(&front, teller, answering, feed)
}

fn with_status(answer: Pieces, request: &Request, held: &Held) -> Response {
    let status = match &answer {
        Pieces::Whole(bytes) => fault::status(bytes, request.terms(&held.client).revision),
        Pieces::Shared { .. } => StatusCode::OK,
    };
    reply::with_status(status, answer)
}

/// A stream of changes.
async fn listen(front: Arc<Front>, held: Arc<Held>, request: Request) -> Result<Response, Refused> {
    let (sender, messages) = mpsc::channel(STREAM_QUEUE);
    let listening = front
        .listen(&held.client, &request, sender)
        .await
        .map_err(|refused| reply::with_status(StatusCode::BAD_REQUEST, refused))?;
    let mut body = Listening::new(messages);
    body.keep(listening);
    Ok(reply::stream(Body::listening(body)))
}
