//! Who may knock at all: the Host and the Origin of every request, checked before any route.

use http::header::{HOST, HeaderMap, ORIGIN};
use std::net::SocketAddr;

/// What a request may call us and where a page that calls us may come from. A page elsewhere that had its name
/// re-bound to our address would send another Host or Origin.
#[derive(Debug, Clone)]
pub struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Host,
    Origin,
}

impl Guard {
    /// Loopback names, the address we listen on, and what the settings add.
    pub fn new(listen: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let mut all: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec();
        if !listen.ip().is_unspecified() {
            all.push(if listen.is_ipv6() { format!("[{}]", listen.ip()) } else { listen.ip().to_string() });
        }
        all.extend(hosts.iter().map(|host| host.to_ascii_lowercase()));
        Self {
            hosts: all,
            origins: origins.iter().map(|o| o.trim_end_matches('/').to_ascii_lowercase()).collect(),
        }
    }

    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        match (hosts.next().map(|h| h.to_str()), hosts.next()) {
            (Some(Ok(host)), None) if self.is_own(host) => {}
            _ => return Err(Refusal::Host),
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next().map(|o| o.to_str()), origins.next()) {
            (None, _) => Ok(()),
            (Some(Ok(origin)), None) if self.is_friendly(origin) => Ok(()),
            _ => Err(Refusal::Origin),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty() => name,
            _ => host,
        };
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name) || own.eq_ignore_ascii_case(host))
    }

    fn is_friendly(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| !authority.contains('/') && self.is_own(authority))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: Result<(), Refusal>) {
        let guard = Guard::new(
            "127.0.0.1:7777".parse().unwrap(),
            &["Gate.example".into()],
            &["https://app.example/".into()],
        );
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
        }
        assert_eq!(guard.check(&map), expected, "{headers:?}");
    }

    #[test]
    fn t04_only_our_own_names_and_friendly_origins_pass() {
        for host in
            ["localhost", "localhost:7777", "127.0.0.1:1", "[::1]:7777", "LOCALHOST", "gate.example:443"]
        {
            check(&[("host", host)], Ok(()));
        }
        for host in [
            "evil.example",
            "evil.example:7777",
            "127.0.0.1.evil.example",
            "localhost.evil:80",
            "",
            "192.168.0.1",
        ] {
            check(&[("host", host)], Err(Refusal::Host));
        }
        check(&[], Err(Refusal::Host));
        check(&[("host", "localhost"), ("host", "evil.example")], Err(Refusal::Host));
        let own = ("host", "localhost:7777");
        for origin in ["http://localhost:3000", "http://127.0.0.1:7777", "https://app.example"] {
            check(&[own, ("origin", origin)], Ok(()));
        }
        for origin in
            ["http://evil.example", "null", "", "http://localhost.evil.example", "file://", "ftp://localhost"]
        {
            check(&[own, ("origin", origin)], Err(Refusal::Origin));
        }
        check(&[own, ("origin", "http://localhost"), ("origin", "http://localhost")], Err(Refusal::Origin));
    }
}
