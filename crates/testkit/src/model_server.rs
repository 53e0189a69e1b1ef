//! A scripted provider of models on loopback, which speaks both dialects and gives embeddings.
//!
//! What it answers is a queue, one reply a request, or a closure that sees the request. Whatever it is asked is recorded.

mod reply;
mod vectors;
mod words;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use self::reply::{Body, Broken};
pub use self::reply::{Gate, Reply};
pub use self::vectors::fake_embedding;
use crate::Record;

/// Large enough to tell texts apart, small enough to read in a failure.
const DIMENSION: usize = 64;

/// What was asked for, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// `/v1/chat/completions`
    OpenAiChat,
    /// `/v1/messages`
    AnthropicChat,
    /// `/v1/embeddings`
    Embeddings,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub wanted: Wanted,
    pub headers: http::HeaderMap,
    pub body: Value,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The last thing that a person or a tool said, however the dialect wraps it.
    pub fn last_words(&self) -> String {
        words::last(&self.body)
    }

    /// The texts to embed.
    pub fn inputs(&self) -> Vec<String> {
        match &self.body["input"] {
            Value::Array(texts) => {
                texts.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
            }
            text => vec![text.as_str().unwrap_or_default().to_owned()],
        }
    }
}

type Script = Box<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A running server. It ends when dropped, and every connection with it.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

struct Shared {
    asked: Record<Asked>,
    queue: Mutex<VecDeque<Reply>>,
    script: Script,
}

impl Shared {
    /// The first in the queue that answers such a request: a turn waits for a chat while others want embeddings.
    fn queued(&self, wanted: Wanted) -> Option<Reply> {
        let mut queue = self.queue.lock().unwrap();
        let at = queue.iter().position(|reply| reply.fits(wanted))?;
        queue.remove(at)
    }
}

impl ModelServer {
    /// Answers from the queue. Embeddings that nothing is queued for are made up; a chat beyond the queue is refused with
    /// 400, which no client tries again.
    pub async fn start() -> Self {
        Self::answering(usual).await
    }

    /// Answers by a closure, after what is queued.
    pub async fn answering(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::listening(TcpListener::bind("127.0.0.1:0").await.unwrap(), Box::new(script))
    }

    fn listening(listener: TcpListener, script: Script) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { asked: Record::default(), queue: Mutex::default(), script });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Self { address, shared, accepting }
    }

    /// What a provider of the OpenAI dialect is set to.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What a provider of Anthropic's dialect is set to.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Queues an answer.
    pub fn then(&self, reply: Reply) -> &Self {
        self.shared.queue.lock().unwrap().push_back(reply);
        self
    }

    /// Every request so far, to look at or to wait for.
    pub fn asked(&self) -> &Record<Asked> {
        &self.shared.asked
    }

    /// The bodies of all requests so far.
    pub fn bodies(&self) -> Vec<Value> {
        self.asked().all().into_iter().map(|asked| asked.body).collect()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// An address that nobody listens on, and that nobody else gets meanwhile.
pub struct Nobody {
    socket: TcpSocket,
}

impl Nobody {
    /// Bound is not listening: whoever connects is refused.
    pub fn bind() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self { socket }
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.socket.local_addr().unwrap())
    }

    /// Somebody comes after all, at the same address.
    pub fn start(self) -> ModelServer {
        self.answering(usual)
    }

    /// The same, with answers by a closure.
    pub fn answering(self, script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> ModelServer {
        ModelServer::listening(self.socket.listen(64).unwrap(), Box::new(script))
    }
}

/// The answer where nothing is queued.
fn usual(asked: &Asked) -> Reply {
    match asked.wanted {
        Wanted::Embeddings => Reply::embeddings(DIMENSION),
        Wanted::OpenAiChat | Wanted::AnthropicChat => Reply::refusal(400, "the script is at its end"),
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, it ends all that is in it.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(connection(Arc::clone(&shared), stream));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let service = service_fn(|request| answer(Arc::clone(&shared), request));
    // A client that goes away, and an answer that is cut on purpose, are errors to hyper.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Broken> {
    let wanted = match (request.method().as_str(), request.uri().path()) {
        ("POST", "/v1/chat/completions") => Wanted::OpenAiChat,
        ("POST", "/v1/messages") => Wanted::AnthropicChat,
        ("POST", "/v1/embeddings") => Wanted::Embeddings,
        (method, path) => return Ok(reply::plain(404, format!("there is no {method} {path}"))),
    };
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Err(Broken) };
    let Ok(body) = serde_json::from_slice(&body.to_bytes()) else {
        return Ok(reply::plain(400, json!({ "error": { "message": "the body is no JSON" } }).to_string()));
    };
    let asked = Asked { wanted, headers: head.headers, body };
    shared.asked.push(asked.clone());
    let reply = shared.queued(wanted).unwrap_or_else(|| (shared.script)(&asked));
    reply.give(&asked).await
}

fn never(infallible: Infallible) -> Broken {
    match infallible {}
}

fn whole(bytes: impl Into<Bytes>) -> Body {
    http_body_util::Full::new(bytes.into()).map_err(never).boxed_unsync()
}
