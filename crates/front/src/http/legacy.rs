//! The older HTTP+SSE: one GET opens the session and carries every answer, POSTs carry the messages in.

use super::streamable::{check_content, read};
use super::{reply, view_of};
use crate::Front;
use crate::body::Listening;
use crate::styles::Transport;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use http::header::HeaderMap;
use portolan_catalog::View;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Deserialize)]
pub(super) struct SessionQuery {
    #[serde(rename = "sessionId")]
    session: String,
}

pub(super) async fn open_all(State(front): State<Arc<Front>>) -> Response {
    open(&front, View::All, "/messages")
}

pub(super) async fn open_one(State(front): State<Arc<Front>>, server: Path<String>) -> Response {
    match view_of(&front, &server) {
        Ok(view) => open(&front, view, &format!("/servers/{}/messages", *server)),
        Err(refused) => refused,
    }
}

/// Opens the stream; its first event names the address for messages, and its end ends the session.
fn open(front: &Arc<Front>, view: View, path: &str) -> Response {
    let client = front.new_client(view);
    let Some(messages) = client.open_stream() else {
        return reply::status(StatusCode::INTERNAL_SERVER_ERROR, "the stream could not be opened");
    };
    let Ok((id, _)) = front.sessions.open(client) else {
        return reply::status(
            StatusCode::SERVICE_UNAVAILABLE,
            "there are as many sessions as the limit allows",
        );
    };
    let mut listening = Listening::new(messages);
    listening.ready.push_back(format!("event: endpoint\ndata: {path}?sessionId={id}\n\n").into());
    listening.keep(Ending { front: front.clone(), id });
    reply::stream(Body::new(listening))
}

/// Ends a session when its stream is dropped.
struct Ending {
    front: Arc<Front>,
    id: Box<str>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.front.sessions.close(&self.id);
    }
}

/// One message of a client; its answer goes over the stream.
pub(super) async fn message(
    State(front): State<Arc<Front>>,
    Query(query): Query<SessionQuery>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(held) = front.sessions.get(&query.session) else {
        return reply::status(StatusCode::NOT_FOUND, "session not found: its event stream has ended");
    };
    if let Err(refused) = check_content(&headers) {
        return refused;
    }
    match read(body, front.options.limits.request_body_bytes).await {
        Ok(line) => {
            front.take(&held, line, Transport::Http).await;
            reply::accepted()
        }
        Err(refused) => refused,
    }
}
