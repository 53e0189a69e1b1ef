//! From a URI to a connection: resolve once, check what came out, dial exactly that.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::{HeaderValue, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};

use crate::error::io_cause;
use crate::proxy::{ProxyTable, tunnel};
use crate::stream::{Peer, Stream};
use crate::tls::Tls;
use crate::{AddressPolicy, OutboundError};

/// How long an address may keep silent before the next one is tried beside it (RFC 8305 recommends 250 ms).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub(crate) struct Connector {
    inner: Arc<Inner>,
}

struct Inner {
    policy: AddressPolicy,
    connect_timeout: Duration,
    proxies: Arc<ProxyTable>,
    tls: Arc<Tls>,
}

#[derive(Clone, Copy)]
enum Scheme {
    Http,
    Https,
}

/// The place that a URI names.
struct Target<'a> {
    scheme: Scheme,
    /// As it stands in the URI, so an IPv6 address is in brackets.
    host: &'a str,
    port: u16,
}

impl Connector {
    pub(crate) fn new(
        policy: AddressPolicy,
        connect_timeout: Duration,
        proxies: Arc<ProxyTable>,
        tls: Arc<Tls>,
    ) -> Self {
        Self { inner: Arc::new(Inner { policy, connect_timeout, proxies, tls }) }
    }

    pub(crate) fn policy(&self) -> AddressPolicy {
        self.inner.policy
    }

    /// What a forwarding proxy wants to see in the request itself. A tunnel gets it in its CONNECT instead, and
    /// guarded requests only go through tunnels.
    pub(crate) fn proxy_authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        match self.inner.policy {
            AddressPolicy::Trusted => self.inner.proxies.forward_authorization(uri),
            AddressPolicy::Guarded { .. } => None,
        }
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = Stream;
    type Error = OutboundError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, OutboundError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OutboundError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let limit = inner.connect_timeout;
            // Dropping the attempt half-way closes its sockets; nothing of a request was written yet.
            tokio::time::timeout(limit, inner.connect(&uri))
                .await
                .unwrap_or_else(|_| Err(OutboundError::not_sent(format!("no connection within {limit:?}"))))
        })
    }
}

impl Inner {
    async fn connect(&self, uri: &Uri) -> Result<Stream, OutboundError> {
        let target = Target::parse(uri)?;
        let (tcp, peer) = self.reach(uri, &target).await?;
        match target.scheme {
            Scheme::Http => Ok(Stream::Plain(TokioIo::new(tcp), peer)),
            Scheme::Https => {
                let tls = self.tls.handshake(target.bare_host(), tcp).await?;
                Ok(Stream::Tls(Box::new(TokioIo::new(tls))))
            }
        }
    }

    /// A TCP connection that ends at the target, or at a proxy that forwards requests to it.
    async fn reach(&self, uri: &Uri, target: &Target<'_>) -> Result<(TcpStream, Peer), OutboundError> {
        let Some(proxy) = self.proxies.find(uri)? else {
            let addresses = self.resolve(target).await?;
            return Ok((dial(&addresses).await?, Peer::Server));
        };
        let place = match (self.policy, target.scheme) {
            (AddressPolicy::Trusted, Scheme::Http) => {
                return Ok((dial(&lookup(proxy.host(), proxy.port()).await?).await?, Peer::Proxy));
            }
            (AddressPolicy::Trusted, Scheme::Https) => target.place(),
            (AddressPolicy::Guarded { .. }, scheme) => {
                // The proxy would resolve the name for itself, so it is checked here first; a name that only
                // the proxy knows is refused.
                let addresses = self.resolve(target).await?;
                let is_here = addresses.iter().all(|address| address.ip().to_canonical().is_loopback());
                let first = addresses.first().filter(|_| !is_here);
                match (first, scheme) {
                    (None, _) => return Ok((dial(&addresses).await?, Peer::Server)),
                    // Nothing but the address ties a plain connection to what was checked.
                    (Some(address), Scheme::Http) => address.to_string(),
                    // The certificate ties it to the name, and proxies often allow by name.
                    (Some(_), Scheme::Https) => target.place(),
                }
            }
        };
        let to_proxy = dial(&lookup(proxy.host(), proxy.port()).await?).await?;
        Ok((tunnel(to_proxy, &place, proxy.authorization()).await?, Peer::Server))
    }

    /// Every address must pass: which of them gets dialled must not be a matter of luck.
    async fn resolve(&self, target: &Target<'_>) -> Result<Vec<SocketAddr>, OutboundError> {
        let addresses = lookup(target.bare_host(), target.port).await?;
        for address in &addresses {
            self.policy.check(address.ip())?;
        }
        Ok(addresses)
    }
}

impl<'a> Target<'a> {
    fn parse(uri: &'a Uri) -> Result<Self, OutboundError> {
        let (scheme, default_port) = match uri.scheme_str() {
            Some("http") => (Scheme::Http, 80),
            Some("https") => (Scheme::Https, 443),
            _ => return Err(OutboundError::not_sent("only http and https addresses can be called")),
        };
        let host = uri.host().filter(|host| !host.is_empty());
        let Some(host) = host else { return Err(OutboundError::not_sent("the address has no host")) };
        Ok(Self { scheme, host, port: uri.port_u16().unwrap_or(default_port) })
    }

    fn bare_host(&self) -> &'a str {
        bare(self.host)
    }

    fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// URIs write IPv6 addresses in brackets, resolvers and certificates do not.
pub(crate) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

async fn lookup(host: &str, port: u16) -> Result<Vec<SocketAddr>, OutboundError> {
    let found = tokio::net::lookup_host((host, port)).await;
    let addresses: Vec<_> = found
        .map_err(|failure| OutboundError::not_sent(format!("dns: {} ({host})", dns_cause(&failure))))?
        .collect();
    if addresses.is_empty() {
        return Err(OutboundError::not_sent(format!("dns: no such host ({host})")));
    }
    Ok(addresses)
}

/// std has no kind for it; the systems say "Name or service not known", "nodename nor servname provided, or not
/// known" and "No such host is known".
fn dns_cause(failure: &std::io::Error) -> String {
    let text = failure.to_string();
    if text.contains("not known") || text.contains("No such host") {
        return "no such host".to_owned();
    }
    text.trim_start_matches("failed to lookup address information: ").to_owned()
}

/// The first address that answers. The losers are dropped, which closes them.
async fn dial(addresses: &[SocketAddr]) -> Result<TcpStream, OutboundError> {
    let mut waiting = addresses.iter().copied();
    let mut attempts = FuturesUnordered::new();
    let mut last = OutboundError::not_sent("no address to connect to");
    loop {
        let next = waiting.next();
        let has_more = next.is_some();
        attempts.extend(next.map(dial_one));
        tokio::select! {
            attempt = attempts.next() => match attempt {
                Some(Ok(stream)) => return Ok(stream),
                Some(Err(failure)) => last = failure,
                None => return Err(last),
            },
            () = tokio::time::sleep(NEXT_ADDRESS_AFTER), if has_more => {}
        }
    }
}

async fn dial_one(address: SocketAddr) -> Result<TcpStream, OutboundError> {
    let stream = open(address).await;
    stream.map_err(|failure| OutboundError::not_sent(format!("{} ({address})", io_cause(&failure))))
}

async fn open(address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A stream that nobody writes to for hours must still notice that the other side is gone.
    socket.set_keepalive(true)?;
    // A request is one small write; waiting for more to fill a packet costs 40 ms a call.
    socket.set_nodelay(true)?;
    socket.connect(address).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_connection_is_dialled_without_delay() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = dial(&[listener.local_addr().unwrap()]).await.unwrap();
        assert!(stream.nodelay().unwrap());
    }

    #[tokio::test]
    async fn an_address_that_refuses_makes_room_for_the_next() {
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        assert_eq!(dial(&[closed, open]).await.unwrap().peer_addr().unwrap(), open);
    }
}
