//! What the scripted provider answers, well and badly.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::Response;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::{Asked, Wanted, vectors, whole, words};

pub(super) type Body = UnsyncBoxBody<Bytes, Broken>;

/// How much of an endless answer is sent at once.
const PIECE: usize = 64 * 1024;

/// Ends the connection in the middle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cut on purpose")
    }
}

impl std::error::Error for Broken {}

/// Holds replies back until the test opens it.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Gate {
    /// From now on nothing is held any more.
    pub fn open(&self) {
        self.0.close();
    }

    async fn opened(&self) {
        // The only way that it ends is that it is closed, which is our word for open.
        let _ = self.0.acquire().await;
    }
}

/// One answer, fit for either dialect.
#[derive(Debug, Clone)]
pub struct Reply {
    what: What,
    status: u16,
    headers: Vec<(&'static str, String)>,
    gate: Option<Gate>,
}

#[derive(Debug, Clone)]
enum What {
    Turn { text: String, calls: Vec<(String, Value)>, usage: Option<(u64, u64)>, stop: Option<String> },
    Embeddings { dimension: usize },
    Refusal { message: String },
    Raw(String),
    Huge,
    Cut,
}

impl Reply {
    fn new(what: What) -> Self {
        Self { what, status: 200, headers: Vec::new(), gate: None }
    }

    /// The model says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(What::Turn { text: text.into(), calls: Vec::new(), usage: Some((10, 5)), stop: None })
    }

    /// The model wants tools called, by name and arguments. The ids are `call-0`, `call-1` and so on.
    pub fn calls<const N: usize>(calls: [(&str, Value); N]) -> Self {
        let calls = calls.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect();
        Self::new(What::Turn { text: String::new(), calls, usage: Some((10, 5)), stop: None })
    }

    /// A vector of this dimension for each text: equal texts have equal ones, and texts that share words similar ones.
    pub fn embeddings(dimension: usize) -> Self {
        Self::new(What::Embeddings { dimension })
    }

    /// An error as the dialect writes it.
    pub fn refusal(status: u16, message: impl Into<String>) -> Self {
        Self { status, ..Self::new(What::Refusal { message: message.into() }) }
    }

    /// These very bytes.
    pub fn raw(body: impl Into<String>) -> Self {
        Self::new(What::Raw(body.into()))
    }

    /// An answer without an end.
    pub fn huge() -> Self {
        Self::new(What::Huge)
    }

    /// The connection ends before the answer does.
    pub fn cut() -> Self {
        Self::new(What::Cut)
    }

    /// Words beside the calls.
    #[must_use]
    pub fn saying(mut self, words: &str) -> Self {
        if let What::Turn { text, .. } = &mut self.what {
            words.clone_into(text);
        }
        self
    }

    /// Tokens in and out; `None` leaves them out of the answer.
    #[must_use]
    pub fn using(mut self, tokens: Option<(u64, u64)>) -> Self {
        if let What::Turn { usage, .. } = &mut self.what {
            *usage = tokens;
        }
        self
    }

    /// The reason to stop, as the dialect calls it.
    #[must_use]
    pub fn stopping(mut self, reason: &str) -> Self {
        if let What::Turn { stop, .. } = &mut self.what {
            *stop = Some(reason.to_owned());
        }
        self
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Held back until the gate is open.
    #[must_use]
    pub fn held(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// A turn is for chats and vectors are for embeddings; all that goes wrong is for both.
    pub(super) fn fits(&self, wanted: Wanted) -> bool {
        match self.what {
            What::Turn { .. } => wanted != Wanted::Embeddings,
            What::Embeddings { .. } => wanted == Wanted::Embeddings,
            What::Refusal { .. } | What::Raw(_) | What::Huge | What::Cut => true,
        }
    }

    pub(super) async fn give(self, asked: &Asked) -> Result<Response<Body>, Broken> {
        if let Some(gate) = &self.gate {
            gate.opened().await;
        }
        let body = match self.what {
            What::Turn { text, calls, usage, stop } => {
                whole(words::turn(asked.wanted, &text, &calls, usage, stop).to_string())
            }
            What::Embeddings { dimension } => whole(vectors::answer(&asked.inputs(), dimension).to_string()),
            What::Refusal { message } => whole(words::refusal(asked.wanted, &message).to_string()),
            What::Raw(body) => whole(body),
            What::Huge => endless(),
            What::Cut => cut(),
        };
        let mut response = Response::builder().status(self.status).header("content-type", "application/json");
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        Ok(response.body(body).unwrap())
    }
}

fn endless() -> Body {
    let spaces = Bytes::from(vec![b' '; PIECE]);
    let pieces = stream::repeat_with(move || Ok(Frame::data(spaces.clone())));
    StreamBody::new(pieces).boxed_unsync()
}

fn cut() -> Body {
    let pieces = [Ok(Frame::data(Bytes::from_static(b"{\"choices\":"))), Err(Broken)];
    StreamBody::new(stream::iter(pieces)).boxed_unsync()
}

pub(super) fn plain(status: u16, text: String) -> Response<Body> {
    Response::builder().status(status).body(whole(text)).unwrap()
}
