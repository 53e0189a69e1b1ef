//! The echo server over Streamable HTTP, with sessions for the revisions that have them.

use super::Listener;
use super::answers::{Answer, Echo, Kind};
use crate::running::{LISTENING, until_stdin_ends};
use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::net::{TcpListener, TcpStream};

pub const SESSION_HEADER: &str = "mcp-session-id";

/// Far more than any measured request, far less than would hurt.
const LARGEST_BODY: usize = 8 * 1024 * 1024;

type Reply = Response<Full<Bytes>>;

struct Server {
    echo: Echo,
    sse: bool,
    sessions: RwLock<HashSet<HeaderValue>>,
    opened: AtomicU64,
}

pub fn run(listener: &Listener, echo: Echo) -> Result<()> {
    // Two threads are enough to be faster than anything in front, and leave a small machine to the rest.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let server = Server { echo, sse: listener.sse, sessions: RwLock::default(), opened: AtomicU64::new(1) };
    runtime.block_on(async {
        tokio::select! {
            ended = accept(listener, Arc::new(server)) => ended,
            () = until_stdin_ends(), if listener.until_eof => Ok(()),
        }
    })?;
    runtime.shutdown_background();
    Ok(())
}

async fn accept(listener: &Listener, server: Arc<Server>) -> Result<()> {
    let listener = TcpListener::bind(listener.listen).await.context("cannot listen")?;
    eprintln!("{LISTENING}{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(one_connection(stream, Arc::clone(&server)));
    }
}

/// A connection that breaks concerns only the client that broke it.
async fn one_connection(stream: TcpStream, server: Arc<Server>) {
    let _ = stream.set_nodelay(true);
    let serve = service_fn(|request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(server.serve(request).await) }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await;
}

impl Server {
    async fn serve(&self, request: Request<Incoming>) -> Reply {
        let session = request.headers().get(SESSION_HEADER).cloned();
        if request.method() == Method::DELETE {
            return self.close(session);
        }
        if request.method() != Method::POST {
            let mut refusal = bare(StatusCode::METHOD_NOT_ALLOWED);
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
            return refusal;
        }
        let Ok(body) = Limited::new(request.into_body(), LARGEST_BODY).collect().await else {
            return bare(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let answer = self.echo.answer(&body.to_bytes());
        if !(answer.kind == Kind::Opening || answer.kind.is_stateless()) {
            match session {
                None => return bare(StatusCode::BAD_REQUEST),
                Some(id) if !self.knows(&id) => return bare(StatusCode::NOT_FOUND),
                Some(_) => {}
            }
        }
        if answer.kind.is_call() && !self.echo.delay.is_zero() {
            tokio::time::sleep(self.echo.delay).await;
        }
        self.reply(answer)
    }

    fn reply(&self, answer: Answer) -> Reply {
        if answer.kind == Kind::Nothing {
            return bare(StatusCode::ACCEPTED);
        }
        let (media, body) = if self.sse {
            ("text/event-stream", [b"event: message\ndata: ", &answer.bytes[..], b"\n\n"].concat())
        } else {
            ("application/json", answer.bytes)
        };
        let mut reply = Response::new(Full::new(Bytes::from(body)));
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
        if answer.kind == Kind::StatelessUnknown {
            *reply.status_mut() = StatusCode::NOT_FOUND;
        }
        if answer.kind == Kind::Opening {
            reply.headers_mut().insert(SESSION_HEADER, self.open());
        }
        reply
    }

    /// Ids that nobody must guess are a matter for real servers; here they only must differ.
    fn open(&self) -> HeaderValue {
        let id = HeaderValue::from(self.opened.fetch_add(1, Ordering::Relaxed));
        self.sessions.write().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        id
    }

    fn knows(&self, id: &HeaderValue) -> bool {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn close(&self, session: Option<HeaderValue>) -> Reply {
        let mut sessions = self.sessions.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = session.is_some_and(|id| sessions.remove(&id));
        bare(if is_known { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND })
    }
}

fn bare(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}
