//! Accepting connections: bounded in time, without delay, and able to run out of descriptors without falling over.

use super::guard::{Guard, Refusal};
use super::reply;
use crate::Front;
use axum::Router as Routes;
use axum::response::Response;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// A client that takes longer over its headers, or is idle for longer between two requests, is let go.
const HEADERS: Duration = Duration::from_mins(1);
/// Out of descriptors, accepting again at once would only spin.
const PAUSE: Duration = Duration::from_millis(100);
/// How often sessions are looked over for idle ones.
const SWEEP: Duration = Duration::from_mins(1);

/// Serves until the front is stopped; connections are tasks of the front.
pub async fn serve(front: Arc<Front>, listener: TcpListener, guard: Guard) {
    let routes = super::routes(front.clone());
    let guard = Arc::new(guard);
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        tokio::select! {
            () = front.stop.cancelled() => break,
            _ = sweep.tick() => front.sessions.sweep(),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = connection(front.clone(), routes.clone(), guard.clone(), stream);
                    front.tasks.spawn(connection);
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted right now");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    front.sessions.hang_up_all();
}

async fn connection(front: Arc<Front>, routes: Routes, guard: Arc<Guard>, stream: TcpStream) {
    // Small answers leave at once instead of waiting 40 ms for company.
    stream.set_nodelay(true).ok();
    let stop = front.stop.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let refused = admit(&front, &guard, &request);
        let routes = routes.clone();
        async move {
            Ok::<Response, Infallible>(match refused {
                Some(response) => response,
                None => tower_call(routes, request).await,
            })
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A connection that breaks is its client's affair; what was in flight on it has been dropped.
        done = connection.as_mut() => done.unwrap_or_default(),
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await.unwrap_or_default();
        }
    }
}

async fn tower_call(routes: Routes, request: Request<Incoming>) -> Response {
    use tower_service::Service as _;
    let mut routes = routes;
    match routes.call(request.map(axum::body::Body::new)).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn admit(front: &Front, guard: &Guard, request: &Request<Incoming>) -> Option<Response> {
    if front.stop.is_cancelled() {
        return Some(reply::status(StatusCode::SERVICE_UNAVAILABLE, "Portolan is shutting down"));
    }
    match guard.check(request.headers()) {
        Ok(()) => None,
        Err(Refusal::Host) => Some(reply::refused(
            StatusCode::FORBIDDEN,
            -32600,
            "this Host is not served here: add it to `allowed_hosts` if it should be",
        )),
        Err(Refusal::Origin) => Some(reply::refused(
            StatusCode::FORBIDDEN,
            -32600,
            "pages of this Origin may not call here: add it to `allowed_origins` if they should",
        )),
    }
}
