//! The one HTTP client of the program: pooled, bounded, guarded against being sent where it must not go.
//!
//! It stands on hyper-util's pooled client with a connector of our own. A request on a warm connection passes
//! through here without being parsed, copied or boxed by us; everything that costs (names, TLS, proxies, the
//! check of addresses) happens once a connection.

mod body;
mod connector;
mod error;
mod policy;
mod proxy;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

pub use crate::body::read_body;
use crate::connector::Connector;
pub use crate::error::OutboundError;
pub use crate::policy::{AddressPolicy, PrivateAddresses};
pub use crate::proxy::Proxies;
use crate::proxy::ProxyTable;
use crate::tls::Tls;
pub use portolan_model::Origin;

/// Long enough for a far server with a lost packet or two, short enough that a black hole is noticed as one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Below the two minutes after which common servers and balancers drop an idle connection without a word.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// As many calls to one server as one client may have in flight: a full burst finds its connections again.
const POOL_IDLE_PER_HOST: usize = 256;

/// How the client reaches out; the same for the life of the program.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bounds the whole way to a usable connection: name, TCP, proxy and TLS together.
    pub connect_timeout: Duration,
    /// What holds for addresses that came over REST; those of the local file are trusted.
    pub policy: AddressPolicy,
    pub proxies: Proxies,
    /// A PEM file of certificate authorities that hold besides those of the machine.
    pub extra_ca: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: CONNECT_TIMEOUT,
            policy: AddressPolicy::default(),
            proxies: Proxies::default(),
            extra_ca: None,
        }
    }
}

/// The handle that everybody shares; a clone is one counter.
#[derive(Clone)]
pub struct Outbound {
    lanes: Arc<Lanes>,
}

/// One pool for each origin: a connection that was dialled for a trusted address must never be handed to a
/// request that stands under the policy.
struct Lanes {
    file: Lane,
    registered: Lane,
}

struct Lane {
    client: Client<Connector, Full<Bytes>>,
    connector: Connector,
}

impl Outbound {
    pub fn new(options: Options) -> Result<Self, OutboundError> {
        let Options { connect_timeout, policy, proxies, extra_ca } = options;
        let proxies = Arc::new(ProxyTable::new(&proxies)?);
        let tls = Arc::new(Tls::new(extra_ca.as_deref())?);
        let lane = |policy| {
            Lane::new(Connector::new(policy, connect_timeout, Arc::clone(&proxies), Arc::clone(&tls)))
        };
        let lanes = Lanes { file: lane(AddressPolicy::Trusted), registered: lane(policy) };
        Ok(Self { lanes: Arc::new(lanes) })
    }

    /// Why an address of the REST surface would never be dialled, as far as it shows without asking for names.
    pub fn refusal(&self, url: &str) -> Option<OutboundError> {
        let uri: http::Uri = url.parse().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']);
        let address = host.parse().ok()?;
        self.lanes.registered.connector.policy().check(address).err()
    }

    /// Sends a request with an absolute URI and returns when the head of the answer is there.
    ///
    /// There is no deadline here beyond that of connecting: callers have theirs. Redirects come back as they
    /// are, so that no credential travels to a place that nobody named. Dropping the future gives the request
    /// up; what was written of it by then stays written.
    pub async fn send(
        &self,
        mut request: http::Request<Full<Bytes>>,
        origin: Origin,
    ) -> Result<http::Response<Incoming>, OutboundError> {
        let lane = match origin {
            Origin::File => &self.lanes.file,
            Origin::Registered => &self.lanes.registered,
        };
        if let Some(authorization) = lane.connector.proxy_authorization(request.uri()) {
            request.headers_mut().insert(http::header::PROXY_AUTHORIZATION, authorization);
        }
        lane.client.request(request).await.map_err(|failure| OutboundError::from_client(&failure))
    }
}

impl Lane {
    fn new(connector: Connector) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_max_idle_per_host(POOL_IDLE_PER_HOST)
            // Without a timer idle connections are only found dead when they are next looked at.
            .pool_timer(TokioTimer::new())
            // Only requests that hyper hands back unwritten are tried again, on another connection.
            .retry_canceled_requests(true)
            .build(connector.clone());
        Self { client, connector }
    }
}
