//! A raw client of Streamable HTTP with full control of ids, headers and bodies.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::exchange::{EventStream, Exchange, Pending};
use super::profile::{Profile, notification_text, request_text};
use super::{Client, DEADLINE};

/// A client of one endpoint. Clones share the session.
#[derive(Clone)]
pub struct HttpClient {
    uri: Uri,
    pool: Pool<HttpConnector, Full<Bytes>>,
    profile: Profile,
    headers: HeaderMap,
    session: Arc<Mutex<Option<String>>>,
    /// What the handshake agreed on; sent with every later request.
    agreed: Arc<Mutex<Option<String>>>,
    counter: Arc<AtomicU64>,
}

impl HttpClient {
    /// A client that has not said anything yet.
    pub fn new(url: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            uri: url.parse().unwrap(),
            pool: Pool::builder(TokioExecutor::new()).build(connector),
            profile: Profile::default(),
            headers: HeaderMap::new(),
            session: Arc::default(),
            agreed: Arc::default(),
            counter: Arc::default(),
        }
    }

    /// A client after its handshake.
    pub async fn connect(url: &str) -> Self {
        Self::connect_as(url, Profile::default()).await
    }

    pub async fn connect_as(url: &str, profile: Profile) -> Self {
        let client = Self::new(url).profile(profile);
        let exchange = client.initialize().await;
        assert_eq!(exchange.status, 200, "the handshake failed: {exchange:?}");
        client
    }

    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Sent with every request; one of the client's own headers is replaced by it, or left out if it is empty.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    /// The same with names that are known only at run time.
    #[must_use]
    pub(super) fn with_headers(&self, headers: &[(String, String)]) -> Self {
        let mut client = self.clone();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            // What was set by hand before is meant.
            if !client.headers.contains_key(&name) {
                client.headers.insert(name, value.parse().unwrap());
            }
        }
        client
    }

    pub fn session(&self) -> Option<String> {
        self.session.lock().unwrap().clone()
    }

    /// Uses another session id, or none.
    pub fn set_session(&self, session: Option<&str>) {
        *self.session.lock().unwrap() = session.map(str::to_owned);
    }

    pub fn agreed_revision(&self) -> Option<String> {
        self.agreed.lock().unwrap().clone()
    }

    /// The handshake: `initialize`, and `notifications/initialized` if it succeeded.
    pub async fn initialize(&self) -> Exchange {
        self.set_session(None);
        *self.agreed.lock().unwrap() = None;
        let exchange = self.request(&self.next_id(), "initialize", self.profile.initialize_params()).await;
        if let Some(revision) = exchange.reply["result"]["protocolVersion"].as_str() {
            self.set_session(exchange.header("mcp-session-id"));
            *self.agreed.lock().unwrap() = Some(revision.to_owned());
            self.notify("notifications/initialized", Value::Null).await;
        }
        exchange
    }

    /// A request with its id as raw JSON, to the end of its answer.
    pub async fn request(&self, id_raw_json: &str, method: &str, params: Value) -> Exchange {
        self.start(id_raw_json, method, params).await.finish().await
    }

    /// A request whose answer is read while it comes. Returns once the status is there.
    pub async fn start(&self, id_raw_json: &str, method: &str, params: Value) -> Pending {
        let body = request_text(id_raw_json, method, &params);
        self.send(Method::POST, body, Some(id_raw_json.to_owned())).await
    }

    /// Starts a tool call under a fresh id.
    pub async fn start_call(&self, name: &str, arguments: Value) -> Pending {
        let params = json!({ "name": name, "arguments": arguments });
        self.start(&self.next_id(), "tools/call", params).await
    }

    pub async fn notify(&self, method: &str, params: Value) -> Exchange {
        self.post(notification_text(method, &params)).await
    }

    /// A POST of any bytes.
    pub async fn post(&self, body: impl Into<Bytes>) -> Exchange {
        self.send(Method::POST, body, None).await.finish().await
    }

    /// Ends the session.
    pub async fn delete(&self) -> Exchange {
        self.send(Method::DELETE, "", None).await.finish().await
    }

    /// The stream that belongs to no request. Check its `status`: a server may refuse it.
    pub async fn open_get_stream(&self) -> EventStream {
        self.send(Method::GET, "", None).await
    }

    /// Comes back to a stream after the event of that id.
    pub async fn resume(&self, last_event_id: &str) -> EventStream {
        let mut client = self.clone();
        client.headers.insert("last-event-id", last_event_id.parse().unwrap());
        client.send(Method::GET, "", None).await
    }

    /// Any request; returns once the status is there.
    pub async fn send(&self, method: Method, body: impl Into<Bytes>, id_raw_json: Option<String>) -> Pending {
        let response = self.open(method, body.into()).await;
        let client = self.clone();
        Pending::read(response, id_raw_json, move |message| {
            if let Some(reply) = client.profile.reply_to(message) {
                let client = client.clone();
                tokio::spawn(async move { client.open(Method::POST, reply.to_string().into()).await });
            }
        })
    }

    async fn open(&self, method: Method, body: Bytes) -> Response<Incoming> {
        let request = self.build(method, body);
        let shown = format!("{} {}", request.method(), request.uri());
        let response = tokio::time::timeout(DEADLINE, self.pool.request(request)).await;
        let response = response.unwrap_or_else(|_| panic!("no answer to {shown} within {DEADLINE:?}"));
        response.unwrap_or_else(|error| panic!("{shown} failed: {error:?}"))
    }

    fn build(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let accept =
            if method == Method::GET { "text/event-stream" } else { "application/json, text/event-stream" };
        let mut request = Request::builder().uri(self.uri.clone()).header("accept", accept);
        if method == Method::POST {
            request = request.header("content-type", "application/json");
        }
        if let Some(session) = self.session() {
            request = request.header("mcp-session-id", session);
        }
        if let Some(revision) = self.agreed_revision() {
            request = request.header("mcp-protocol-version", revision);
        }
        let mut request = request.method(method).body(Full::new(body)).unwrap();
        for (name, value) in &self.headers {
            if value.is_empty() {
                request.headers_mut().remove(name);
            } else {
                request.headers_mut().insert(name, value.clone());
            }
        }
        request
    }

    pub(super) fn next_id(&self) -> String {
        self.counter.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

impl Client for HttpClient {
    async fn ask(&self, method: &str, params: Value) -> Value {
        let exchange = self.request(&self.next_id(), method, params).await;
        assert!(!exchange.reply.is_null(), "{method} was not answered: {exchange:?}");
        exchange.reply
    }
}
