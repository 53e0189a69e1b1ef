//! What Streamable HTTP and HTTP+SSE share: an address, its headers, and how an answer's head is judged.

use crate::error::{CallError, ConnectError};
use crate::inbox::Inbox;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use portolan_model::Secret;
use portolan_outbound::{Origin, Outbound, OutboundError};
use std::collections::BTreeMap;

/// A server's address and the headers that every request to it carries.
#[derive(Clone)]
pub(crate) struct Remote {
    outbound: Outbound,
    /// Who named the address: that decides which addresses may be dialled for it.
    origin: Origin,
    uri: Uri,
    headers: HeaderMap,
}

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const CALL: HeaderValue = HeaderValue::from_static("tools/call");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Remote {
    pub(crate) fn new(
        outbound: Outbound,
        origin: Origin,
        url: &Secret,
        configured: &BTreeMap<String, Secret>,
    ) -> Result<Self, ConnectError> {
        let bad = |what: String| ConnectError::Failed(what);
        let parsed =
            url::Url::parse(url.reveal()).map_err(|e| bad(format!("its url cannot be read: {e}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(bad(format!(
                "its url has the scheme {}: only http and https are spoken",
                parsed.scheme()
            )));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(bad("its url holds credentials: put them into `headers`".to_owned()));
        }
        let uri: Uri = parsed.as_str().parse().map_err(|e| bad(format!("its url cannot be used: {e}")))?;
        // Requests are mostly POSTs: what those carry is made once and copied.
        let mut headers = HeaderMap::from_iter([(ACCEPT, BOTH), (CONTENT_TYPE, JSON)]);
        for (name, value) in configured {
            let name: HeaderName =
                name.parse().map_err(|_| bad(format!("header name {name:?} is not usable")))?;
            let mut value: HeaderValue = value
                .reveal()
                .parse()
                .map_err(|_| bad(format!("the value of header {name} is not usable")))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self { outbound, origin, uri, headers })
    }

    /// The same server at another path, as it named it itself; another origin is refused, for the headers that go
    /// along may be credentials.
    pub(crate) fn at(&self, reference: &str) -> Result<Self, ConnectError> {
        let refuse = |why: String| ConnectError::Failed(format!("the endpoint that it named {why}"));
        let base =
            url::Url::parse(&self.uri.to_string()).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        let url = base.join(reference.trim()).map_err(|e| refuse(format!("cannot be read: {e}")))?;
        if url.origin() != base.origin() {
            return Err(refuse("is at another origin".to_owned()));
        }
        let uri = url.as_str().parse().map_err(|e| refuse(format!("cannot be used: {e}")))?;
        Ok(Self { uri, ..self.clone() })
    }

    /// Has the headers of every request begin with room for what most of them will say.
    pub(crate) fn make_room_for_labels(&mut self) {
        self.headers.insert(METHOD, CALL);
        self.headers.insert(NAME, CALL);
    }

    pub(crate) fn header(&mut self, name: &'static str, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    pub(crate) async fn post(&self, body: Bytes) -> Result<Response<Incoming>, OutboundError> {
        self.outbound.send(self.request(Method::POST, Full::new(body)), self.origin).await
    }

    /// A POST that repeats in its headers what its body says, as 2026-07-28 wants it.
    pub(crate) async fn post_labelled(
        &self,
        body: Bytes,
        labels: &Labels<'_>,
    ) -> Result<Response<Incoming>, OutboundError> {
        let mut request = self.request(Method::POST, Full::new(body));
        labels.write(request.headers_mut());
        self.outbound.send(request, self.origin).await
    }

    /// Opens the server's own stream, or one that broke where it broke.
    pub(crate) async fn get_stream(&self, after: Option<&str>) -> Result<Response<Incoming>, OutboundError> {
        let mut request = self.request(Method::GET, Full::default());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, STREAM);
        headers.remove(CONTENT_TYPE);
        if let Some(value) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert("last-event-id", value);
        }
        self.outbound.send(request, self.origin).await
    }

    pub(crate) async fn delete(&self) -> Result<Response<Incoming>, OutboundError> {
        self.outbound.send(self.request(Method::DELETE, Full::default()), self.origin).await
    }

    fn request(&self, method: Method, body: Full<Bytes>) -> Request<Full<Bytes>> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// What the headers of a request repeat of its body.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Labels<'a> {
    pub(crate) method: &'a str,
    /// The name or URI that is asked for.
    pub(crate) name: Option<&'a str>,
    /// Arguments that the tool wants mirrored: header names and values, ready to be sent.
    pub(crate) mirrored: &'a [(&'a str, String)],
}

impl Labels<'_> {
    fn write(&self, headers: &mut HeaderMap) {
        let mut set = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        if self.method.as_bytes() != CALL.as_bytes() {
            set(METHOD, self.method);
        }
        if let Some(name) = self.name {
            set(NAME, &portolan_wire::headers::encode(name));
        }
        for (name, value) in self.mirrored {
            if let Ok(name) = name.parse() {
                set(name, value);
            }
        }
        if self.name.is_none() {
            headers.remove(NAME);
        }
    }
}

/// What kind of body an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Stream,
    Other,
}

pub(crate) fn kind(response: &Response<Incoming>) -> Kind {
    let media = response.headers().get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is = |wanted: &str| {
        media.len() >= wanted.len() && media[..wanted.len()].eq_ignore_ascii_case(wanted.as_bytes())
    };
    if is("application/json") {
        Kind::Json
    } else if is("text/event-stream") {
        Kind::Stream
    } else {
        Kind::Other
    }
}

/// A failed way out, as the caller of this server sees it.
pub(crate) fn call_error(error: &OutboundError, inbox: &Inbox) -> CallError {
    match error {
        OutboundError::TooLarge { limit } => {
            CallError::TooLarge { server: inbox.server.clone(), limit: *limit }
        }
        OutboundError::Lost { reason } => inbox.lost(reason.clone()),
        OutboundError::NotSent { .. }
        | OutboundError::Refused { .. }
        | OutboundError::Misconfigured { .. } => inbox.unsent(error.to_string()),
    }
}

/// What a status that is no success means for a connection that is being opened.
pub(crate) fn refusal(status: StatusCode) -> ConnectError {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            ConnectError::Unauthorized { status: status.as_u16(), detail: String::new() }
        }
        status if status.is_redirection() => ConnectError::Failed(format!(
            "it redirects elsewhere ({status}): give the final address as its url"
        )),
        status => ConnectError::Failed(format!("it answered {status}")),
    }
}
