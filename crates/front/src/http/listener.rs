//! Accepting connections: bounded in time, without delay, and able to run out of descriptors without falling over.

use super::guard::{Guard, Refusal};
use super::prompt::promptly;
use super::pulse::{Beat, Pulse};
use super::watched::Watched;
use super::{Other, Request, Response, reply};
use crate::Front;
use crate::client::Client;
use http::StatusCode;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// A client that sends no whole request head for this long, or twice this long, is let go.
const IDLE: Duration = Duration::from_mins(1);
/// What is answered has left within this.
const MOMENT: Duration = Duration::from_secs(1);
/// Out of descriptors, accepting again at once would only spin.
const PAUSE: Duration = Duration::from_millis(100);
/// How often sessions are looked over for idle ones.
const SWEEP: Duration = Duration::from_mins(1);
/// How often calls in flight grow older; at the third tick a silent one gets a sign of life.
const TICK: Duration = Duration::from_secs(5);

/// What there is besides MCP: who may knock, and what answers everything else.
pub struct Surface {
    pub guard: Guard,
    pub other: Option<Other>,
}

/// Serves until the front is stopped; connections are tasks of the front.
pub async fn serve(front: Arc<Front>, listener: TcpListener, surface: Surface) {
    let surface = Arc::new(surface);
    let (mut sweep, mut tick) = (tokio::time::interval(SWEEP), tokio::time::interval(TICK));
    loop {
        tokio::select! {
            () = front.stop.cancelled() => break,
            _ = sweep.tick() => front.sweep_sessions(),
            _ = tick.tick() => {
                front.sessions.each(Client::tick);
                front.nobodies.tick();
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = connection(front.clone(), surface.clone(), stream);
                    front.tasks.spawn(promptly(connection));
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted right now");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    front.sessions.hang_up_when_done(&front.tasks);
}

async fn connection(front: Arc<Front>, surface: Arc<Surface>, stream: TcpStream) {
    // Small answers leave at once instead of waiting 40 ms for company.
    stream.set_nodelay(true).ok();
    let patience = front.options.limits.client_stall;
    let (stop, pulse) = (front.stop.clone(), Arc::new(Pulse::default()));
    let felt = pulse.clone();
    let service = hyper::service::service_fn(move |request: Request| {
        let refused = admit(&front, &surface.guard, &request);
        let (front, surface, beat) = (front.clone(), surface.clone(), Beat::new(felt.clone()));
        // Boxed, so that an idle connection does not keep the room that a request needs.
        Box::pin(async move {
            let response = match refused {
                Some(response) => response,
                None => super::route(front, surface.other.as_ref(), request).await,
            };
            Ok::<_, Infallible>(response.map(|body| beat.until_through(body)))
        })
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(Watched::new(stream, patience)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A connection that breaks is its client's affair; what was in flight on it has been dropped.
        done = connection.as_mut() => return done.unwrap_or_default(),
        () = stop.cancelled() => {}
        () = pulse.rests(IDLE) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        done = connection => done.unwrap_or_default(),
        // Half a request is no work in flight: nobody waits for the other half.
        () = pulse.rests(MOMENT) => {}
    }
}

fn admit(front: &Front, guard: &Guard, request: &Request) -> Option<Response> {
    let refused = |status, code, text| {
        let is_mcp = !request.uri().path().starts_with("/api/");
        Some(if is_mcp { reply::refused(status, -32600, text) } else { reply::problem(status, code, text) })
    };
    if front.stop.is_cancelled() {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "SHUTTING_DOWN", "Portolan is shutting down");
    }
    match guard.check(request.headers()) {
        Ok(()) => None,
        Err(Refusal::Host) => refused(
            StatusCode::FORBIDDEN,
            "HOST_REFUSED",
            "this Host is not served here: add it to `allowed_hosts` if it should be",
        ),
        Err(Refusal::Origin) => refused(
            StatusCode::FORBIDDEN,
            "ORIGIN_REFUSED",
            "pages of this Origin may not call here: add it to `allowed_origins` if they should",
        ),
    }
}
