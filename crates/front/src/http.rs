//! The HTTP surface: its few places, and what is refused before any of them is reached.

mod guard;
mod legacy;
mod listener;
mod modern;
mod prompt;
mod pulse;
mod reply;
mod streamable;
mod watched;

pub use crate::body::{Failure, OtherBody};
pub use guard::Guard;
pub use listener::{Surface, serve};

use crate::Front;
use crate::body::Body;
use http::{Method, StatusCode};
use hyper::body::Incoming;
use portolan_catalog::View;
use portolan_model::ServerName;
use std::pin::Pin;
use std::sync::Arc;

type Request = http::Request<Incoming>;
type Response = http::Response<Body>;

/// What answers everything that is not MCP.
pub type Other = Arc<dyn Fn(Request) -> Answering + Send + Sync>;
pub type Answering = Pin<Box<dyn Future<Output = http::Response<OtherBody>> + Send>>;

/// Where a request wants to go. Every call passes here, so this is a comparison of texts and no more.
async fn route(front: Arc<Front>, other: Option<&Other>, request: Request) -> Response {
    let path = request.uri().path();
    if path == "/mcp" {
        let view = front.options.entrance.clone();
        return streamable::serve(front, view, request).await;
    }
    if path == "/healthz" {
        return reply::status(StatusCode::OK, "ok");
    }
    let (view, place) = match asked_for(&front, path) {
        None => (front.options.entrance.clone(), path.trim_start_matches('/')),
        Some((Ok(view), place)) => (view, place),
        Some((Err(refused), _)) => return refused,
    };
    match (place, request.method()) {
        ("mcp", _) => streamable::serve(front, view, request).await,
        ("sse", &Method::GET) => legacy::open(&front, view, path),
        // Boxed: every request takes room for the largest of these, and this one would be five times the others.
        ("messages", &Method::POST) => Box::pin(legacy::message(&front, &view, request)).await,
        ("sse", _) => reply::not_allowed("GET"),
        ("messages", _) => reply::not_allowed("POST"),
        _ => match other {
            Some(other) => other(request).await.map(Body::Other),
            None => reply::status(StatusCode::NOT_FOUND, "no such page: MCP is at /mcp"),
        },
    }
}

/// The view that a path names, and what is wanted of it.
fn asked_for<'p>(front: &Front, path: &'p str) -> Option<(Result<View, Response>, &'p str)> {
    if let Some((server, place)) = path.strip_prefix("/servers/").and_then(|rest| rest.split_once('/')) {
        return Some((view_of(front, server), place));
    }
    let (profile, place) = path.strip_prefix("/profiles/")?.split_once('/')?;
    let known = ServerName::parse(profile).ok().and_then(|name| front.options.profiles.get(&name));
    let view = known.map(|profile| View::Profile(profile.clone())).ok_or_else(|| {
        reply::status(StatusCode::NOT_FOUND, &format!("there is no profile of the name {profile:?}"))
    });
    Some((view, place))
}

/// The view of one server, if there is such a server.
fn view_of(front: &Front, server: &str) -> Result<View, Response> {
    let known = ServerName::parse(server).ok().filter(|name| front.router.has_server(name));
    known.map(View::Server).ok_or_else(|| {
        reply::status(StatusCode::NOT_FOUND, &format!("there is no server of the name {server:?}"))
    })
}
