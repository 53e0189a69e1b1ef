//! Proxies between us and the servers: which request takes one, and the tunnel through it.

use std::fmt;
use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::OutboundError;
use crate::connector::bare;
use crate::error::io_cause;

/// The answer to a CONNECT is a status line and a few headers; what is longer is not a proxy.
const MAX_CONNECT_ANSWER: usize = 8 * 1024;

/// What `http_proxy`, `https_proxy` and `no_proxy` said; `crates/config` reads them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    pub http: Option<String>,
    pub https: Option<String>,
    pub no_proxy: Option<String>,
}

/// The addresses of proxies may hold passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masked = |proxy: &Option<String>| proxy.as_ref().map(|_| "***");
        f.debug_struct("Proxies")
            .field("http", &masked(&self.http))
            .field("https", &masked(&self.https))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

pub(crate) struct ProxyTable {
    matcher: Matcher,
    /// Only then must each request be looked at, so the usual call path does not.
    is_forwarding_with_password: bool,
}

/// The proxy that one target goes through.
pub(crate) struct Proxy {
    intercept: Intercept,
}

impl ProxyTable {
    /// Garbage is refused here: going direct where a proxy was meant would be worse. A kind of proxy that is
    /// merely not supported fails when it is used, so that it does not keep stdio servers from starting.
    pub(crate) fn new(proxies: &Proxies) -> Result<Self, OutboundError> {
        let http = parse("http", proxies.http.as_deref())?;
        parse("https", proxies.https.as_deref())?;
        let matcher = Matcher::builder()
            .http(proxies.http.as_deref().unwrap_or_default().trim())
            .https(proxies.https.as_deref().unwrap_or_default().trim())
            .no(proxies.no_proxy.as_deref().unwrap_or_default())
            .build();
        let is_forwarding_with_password = http.is_some_and(|proxy| proxy.basic_auth().is_some());
        Ok(Self { matcher, is_forwarding_with_password })
    }

    pub(crate) fn find(&self, uri: &Uri) -> Result<Option<Proxy>, OutboundError> {
        let Some(proxy) = self.intercept(uri).map(|intercept| Proxy { intercept }) else { return Ok(None) };
        match proxy.intercept.uri().scheme_str() {
            Some("http") => Ok(Some(proxy)),
            scheme => {
                let scheme = scheme.unwrap_or_default();
                Err(OutboundError::not_sent(format!("proxy: {scheme} proxies are not supported, only http")))
            }
        }
    }

    /// The header for a request that a proxy forwards in the plain.
    pub(crate) fn forward_authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        if !self.is_forwarding_with_password || uri.scheme_str() != Some("http") {
            return None;
        }
        self.intercept(uri)?.basic_auth().cloned()
    }

    /// A proxy cannot reach our own loopback, whatever the settings say.
    fn intercept(&self, uri: &Uri) -> Option<Intercept> {
        if is_loopback(uri.host()?) { None } else { self.matcher.intercept(uri) }
    }
}

impl Proxy {
    pub(crate) fn host(&self) -> &str {
        bare(self.intercept.uri().host().unwrap_or_default())
    }

    /// 80 is what curl takes for a proxy without a port once its scheme is written out.
    pub(crate) fn port(&self) -> u16 {
        self.intercept.uri().port_u16().unwrap_or(80)
    }

    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.intercept.basic_auth()
    }
}

/// The address itself stays out of the message: it may hold a password.
fn parse(scheme: &str, proxy: Option<&str>) -> Result<Option<Intercept>, OutboundError> {
    let Some(proxy) = proxy.map(str::trim).filter(|proxy| !proxy.is_empty()) else { return Ok(None) };
    let sample = Uri::from_static("http://sample.invalid/");
    let parsed = Matcher::builder().http(proxy).build().intercept(&sample);
    parsed.map(Some).ok_or_else(|| OutboundError::Misconfigured {
        reason: format!("the proxy for {scheme} is not an address like http://host:port"),
    })
}

fn is_loopback(host: &str) -> bool {
    let host = bare(host).trim_end_matches('.');
    if let Ok(address) = host.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    // Names under `localhost` are ours by RFC 6761.
    let last = host.rsplit('.').next().unwrap_or(host);
    last.eq_ignore_ascii_case("localhost")
}

/// Asks the proxy for a connection to `place` (host and port) and returns it when it stands.
pub(crate) async fn tunnel(
    mut proxy: TcpStream,
    place: &str,
    authorization: Option<&HeaderValue>,
) -> Result<TcpStream, OutboundError> {
    let broken = |failure: std::io::Error| OutboundError::not_sent(format!("proxy: {}", io_cause(&failure)));
    let mut ask = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n").into_bytes();
    if let Some(authorization) = authorization {
        ask.extend_from_slice(b"Proxy-Authorization: ");
        ask.extend_from_slice(authorization.as_bytes());
        ask.extend_from_slice(b"\r\n");
    }
    ask.extend_from_slice(b"\r\n");
    proxy.write_all(&ask).await.map_err(broken)?;

    let mut answer = Vec::with_capacity(512);
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        if answer.len() > MAX_CONNECT_ANSWER {
            return Err(OutboundError::not_sent("proxy: its answer to CONNECT does not end"));
        }
        if proxy.read_buf(&mut answer).await.map_err(broken)? == 0 {
            return Err(OutboundError::not_sent("proxy: closed the connection instead of answering CONNECT"));
        }
    }
    match status(&answer) {
        // Both TLS and HTTP let us speak first, so bytes after the head are not from the server.
        Some(200..=299) if answer.ends_with(b"\r\n\r\n") => Ok(proxy),
        Some(407) => Err(OutboundError::not_sent("proxy: wants other credentials (407)")),
        Some(status) => Err(OutboundError::not_sent(format!("proxy: refused the tunnel ({status})"))),
        None => Err(OutboundError::not_sent("proxy: its answer to CONNECT is not HTTP")),
    }
}

fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?;
    std::str::from_utf8(rest.get(2..5)?).ok()?.parse().ok()
}
