//! A client over Streamable HTTP: one connection, driven by the task that waits for its answers.
//!
//! hyper wants a connection to be polled by somebody. A task of its own would cost a wake-up each way on every
//! call, and those would be counted as the gateway's; here the waiting task polls the connection itself.

mod link;

use crate::rpc::{self, Envelope};
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use link::Link;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// A call that takes longer on a loopback interface is lost, however busy the machine is.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// Pages of one list; more than this is a cursor that goes in circles.
const MOST_PAGES: usize = 1000;

/// Where the client speaks to, with the headers that every request carries.
pub struct Target {
    address: SocketAddr,
    path: Uri,
    headers: HeaderMap,
}

impl Target {
    pub fn new(address: SocketAddr) -> Result<Arc<Self>> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(&address.to_string())?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        Ok(Arc::new(Self { address, path: Uri::from_static("/mcp"), headers }))
    }
}

/// The headers of an open session; clients on several connections may share one.
pub type Session = Arc<HeaderMap>;

pub struct HttpClient {
    target: Arc<Target>,
    session: Session,
    link: Option<Link>,
}

/// A whole answer.
struct Answer {
    headers: HeaderMap,
    body: Bytes,
}

impl HttpClient {
    /// A further connection in a session that is open already.
    pub fn join(target: Arc<Target>, session: Session) -> Self {
        Self { target, session, link: None }
    }

    /// Opens a session of its own. The handshake takes id 0: calls count from 1.
    pub async fn open(target: Arc<Target>) -> Result<Self> {
        let mut client = Self::join(target, Session::default());
        client.reopen().await?;
        Ok(client)
    }

    /// Opens a new session on the same connection and leaves the old one open.
    pub async fn reopen(&mut self) -> Result<()> {
        self.session = Session::default();
        let answer = self.post(rpc::initialize(0)).await.context("initialize")?;
        let envelope = Envelope::parse(&answer.body).context("initialize was not answered with JSON")?;
        ensure!(envelope.result.is_some(), "initialize failed: {}", rpc::excerpt(&answer.body));
        let mut session = HeaderMap::new();
        session.insert("mcp-protocol-version", HeaderValue::from_static(rpc::REVISION));
        if let Some(id) = answer.headers.get("mcp-session-id") {
            session.insert("mcp-session-id", id.clone());
        }
        self.session = Arc::new(session);
        self.post(rpc::INITIALIZED.to_owned()).await.context("notifications/initialized")?;
        Ok(())
    }

    /// What calls of a tool carry in their headers where there is no session.
    pub fn stateless(tool: &str) -> Result<Session> {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-protocol-version", HeaderValue::from_static(rpc::STATELESS_REVISION));
        headers.insert("mcp-method", HeaderValue::from_static("tools/call"));
        headers.insert("mcp-name", HeaderValue::from_str(tool)?);
        Ok(Arc::new(headers))
    }

    pub fn session(&self) -> Session {
        Arc::clone(&self.session)
    }

    /// Sends one request and returns the JSON-RPC reply, whichever form it came in.
    pub async fn ask(&mut self, request: String) -> Result<Bytes> {
        let answer = self.post(request).await?;
        let media = answer.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        if media.starts_with(b"text/event-stream") {
            let reply = rpc::reply_in_events(&answer.body).context("an event stream without a reply")?;
            return Ok(Bytes::from(reply));
        }
        Ok(answer.body)
    }

    /// The names of all tools, over all pages.
    pub async fn tools(&mut self, first_id: u64) -> Result<Vec<String>> {
        let (mut names, mut params) = (Vec::new(), "{}".to_owned());
        for id in (first_id..).take(MOST_PAGES) {
            let reply = self.ask(rpc::request(id, "tools/list", &params)).await?;
            let page = rpc::page_of(&reply)?;
            names.extend(page.tools.into_iter().map(|tool| tool.name));
            match page.next_cursor {
                Some(cursor) => params = serde_json::json!({ "cursor": cursor }).to_string(),
                None => return Ok(names),
            }
        }
        bail!("the tool list never ends")
    }

    /// Reads the whole tool list without understanding it, and returns its size in bytes.
    pub async fn fetch_tools(&mut self, id: u64) -> Result<usize> {
        let mut reply = self.ask(rpc::request(id, "tools/list", "{}")).await?;
        let mut size = reply.len();
        for page in 1..MOST_PAGES {
            if memchr::memmem::find(&reply, b"\"nextCursor\"").is_none() {
                return Ok(size);
            }
            let Some(cursor) = rpc::page_of(&reply)?.next_cursor else { return Ok(size) };
            let params = serde_json::json!({ "cursor": cursor }).to_string();
            reply = self.ask(rpc::request(id + page as u64, "tools/list", &params)).await?;
            size += reply.len();
        }
        bail!("the tool list never ends")
    }

    /// Opens the stream for messages of the server; it stays open for as long as what is returned lives.
    pub async fn listen(mut self) -> Result<OpenStream> {
        let mut request = self.request(Method::GET, Bytes::new());
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let answer = timeout(ANSWER_LIMIT, async { self.link().await?.send(request).await });
        let response = answer.await.context("no answer to GET")??;
        ensure!(response.status().is_success(), "GET was answered with {}", response.status());
        Ok(OpenStream { _client: self, _response: response })
    }

    /// Ends the session. A server that has none to end says so, and that is fine.
    pub async fn close(&mut self) -> Result<()> {
        let request = self.request(Method::DELETE, Bytes::new());
        timeout(ANSWER_LIMIT, self.exchange(request)).await.context("no answer to DELETE")??;
        Ok(())
    }

    async fn post(&mut self, message: String) -> Result<Answer> {
        let request = self.request(Method::POST, Bytes::from(message));
        let outcome = match timeout(ANSWER_LIMIT, self.exchange(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(anyhow::anyhow!("no answer within {ANSWER_LIMIT:?}")),
        };
        if outcome.is_err() {
            // Whatever is left on this connection belongs to a call that was given up.
            self.link = None;
        }
        let (status, answer) = outcome?;
        ensure!(status.is_success(), "{status}: {}", rpc::excerpt(&answer.body));
        Ok(answer)
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Answer)> {
        let link = self.link().await?;
        let (head, body) = link.send(request).await?.into_parts();
        let body = link.collect(body).await?;
        Ok((head.status, Answer { headers: head.headers, body }))
    }

    fn request(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.target.path.clone();
        *request.headers_mut() = self.target.headers.clone();
        for (name, value) in self.session.iter() {
            request.headers_mut().insert(name, value.clone());
        }
        request
    }

    /// The open connection, or a new one where the server closed it while it was idle.
    async fn link(&mut self) -> Result<&mut Link> {
        if let Some(link) = &mut self.link
            && link.is_over().await
        {
            self.link = None;
        }
        let link = match self.link.take() {
            Some(link) => link,
            None => Link::connect(self.target.address).await?,
        };
        Ok(self.link.insert(link))
    }
}

/// A session with its event stream held open.
pub struct OpenStream {
    _client: HttpClient,
    _response: Response<Incoming>,
}
