//! The client against real sockets: servers, proxies and certificates that behave well and badly.

mod calls;
mod guard;
mod kit;
mod proxies;
mod stale;
mod tls;
