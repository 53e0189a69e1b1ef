//! The HTTP surface: its routes, and what is refused before any of them is reached.

mod guard;
mod legacy;
mod listener;
mod reply;
mod streamable;

pub use guard::Guard;
pub use listener::serve;

use crate::Front;
use axum::Router as Routes;
use axum::extract::{DefaultBodyLimit, Path};
use axum::response::Response;
use axum::routing::{any, get, post};
use portolan_catalog::View;
use portolan_model::ServerName;
use std::sync::Arc;

/// Everything that is served over HTTP.
pub fn routes(front: Arc<Front>) -> Routes {
    Routes::new()
        .route("/mcp", any(streamable::all))
        .route("/servers/{server}/mcp", any(streamable::one))
        .route("/sse", get(legacy::open_all))
        .route("/messages", post(legacy::message))
        .route("/servers/{server}/sse", get(legacy::open_one))
        .route("/servers/{server}/messages", post(legacy::message))
        .route("/healthz", get(async || "ok\n"))
        .fallback(async || reply::status(http::StatusCode::NOT_FOUND, "no such page: MCP is at /mcp"))
        // Bodies are read by ourselves, against our own limit.
        .layer(DefaultBodyLimit::disable())
        .with_state(front)
}

/// The view of one server, if there is such a server.
fn view_of(front: &Front, Path(server): &Path<String>) -> Result<View, Response> {
    let known =
        ServerName::parse(server).ok().filter(|name| front.catalog().snapshot().servers().contains_key(name));
    known.map(View::Server).ok_or_else(|| {
        reply::status(http::StatusCode::NOT_FOUND, &format!("there is no server of the name {server:?}"))
    })
}
