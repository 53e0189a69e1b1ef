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

    pub(crate) fn header(&mut self, name: &'static str, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    pub(crate) async fn post(&self, body: Bytes) -> Result<Response<Incoming>, OutboundError> {
        self.outbound.send(self.request(Method::POST, Full::new(body)), self.origin).await
    }

    pub(crate) async fn get_stream(&self) -> Result<Response<Incoming>, OutboundError> {
        let mut request = self.request(Method::GET, Full::default());
        request.headers_mut().insert(ACCEPT, STREAM);
        request.headers_mut().remove(CONTENT_TYPE);
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
