//! The older HTTP+SSE: one GET opens the session and carries every answer, POSTs carry the messages in.

use super::streamable::{check_content, read};
use super::{Request, Response, reply};
use crate::Front;
use crate::body::{Body, Listening};
use crate::styles::Transport;
use http::StatusCode;
use portolan_catalog::View;
use std::sync::Arc;

/// Opens the stream; its first event names the address for messages, and its end ends the session.
pub(super) fn open(front: &Arc<Front>, view: View, path: &str) -> Response {
    // Messages go to where the stream was opened: what is seen by that way in need not have a way in of its own.
    let path = format!("{}messages", path.strip_suffix("sse").unwrap_or("/"));
    let client = front.new_client(view);
    let Some(messages) = client.open_stream() else {
        return reply::status(StatusCode::INTERNAL_SERVER_ERROR, "the stream could not be opened");
    };
    let Ok((id, _)) = front.open_session(client) else {
        return reply::status(
            StatusCode::SERVICE_UNAVAILABLE,
            "there are as many sessions as the limit allows",
        );
    };
    let mut listening = Listening::new(messages);
    listening.ready.push_back(format!("event: endpoint\ndata: {path}?sessionId={id}\n\n").into());
    listening.keep(Ending { front: front.clone(), id });
    reply::stream(Body::listening(listening))
}

/// Ends a session when its stream is dropped.
struct Ending {
    front: Arc<Front>,
    id: Box<str>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.front.close_session(&self.id);
    }
}

/// One message of a client; its answer goes over the stream. The session of another view is as good as none.
pub(super) async fn message(front: &Arc<Front>, view: &View, request: Request) -> Response {
    let session = request.uri().query().and_then(session_in).and_then(|id| front.sessions.get(id));
    let Some(held) = session.filter(|held| held.client.view == *view) else {
        return reply::status(StatusCode::NOT_FOUND, "session not found: its event stream has ended");
    };
    let (head, body) = request.into_parts();
    if let Err(refused) = check_content(&head.headers) {
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

/// The session's id, which is hexadecimal digits and so never escaped.
fn session_in(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId="))
}
