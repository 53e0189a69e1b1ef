//! A web address as a setting: checked when it is read, masked when it is shown.

use crate::servers::is_web_address;
use portolan_model::mask_url;
use std::fmt;
use url::Url;

/// An http or https address. It may hold a password or a key, so it is never shown as it is.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(String);

impl HttpUrl {
    /// Characters that no address can hold are a slip of the pen, which `Url` would write as it thinks best.
    pub fn parse(text: &str) -> Option<Self> {
        let is_address =
            is_web_address(text) && text.bytes().all(|b| b.is_ascii_graphic()) && Url::parse(text).is_ok();
        is_address.then(|| Self(text.to_owned()))
    }

    /// The address itself, for the one place that dials it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether both lead to the same scheme, host and port.
    pub(crate) fn is_at(&self, other: &str) -> bool {
        let origin = |text| Url::parse(text).ok().map(|url| url.origin());
        origin(self.reveal()) == origin(other)
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask_url(&self.0))
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_taken() {
        for good in ["http://127.0.0.1:11434/v1", "https://api.openai.com", "HTTPS://[::1]/v1"] {
            assert_eq!(HttpUrl::parse(good).unwrap().reveal(), good);
        }
        for bad in [
            "",
            "127.0.0.1:11434/v1",
            "localhost",
            "ftp://host/",
            "http:host",
            "http://",
            "http:///v1",
            "http://a b/",
        ] {
            assert_eq!(HttpUrl::parse(bad), None, "{bad}");
        }
        for bad in ["http://host:99999/", "http://host/a b", "http://host/\n", "http://[::1/v1"] {
            assert_eq!(HttpUrl::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_address_never_shows_what_opens_doors() {
        let url = HttpUrl::parse("https://ann:hunter2@host/v1?key=hunter3").unwrap();
        assert_eq!(url.to_string(), "https://***@host/v1?key=***");
        assert_eq!(format!("{url:?}"), url.to_string());
    }

    #[test]
    fn two_addresses_are_at_one_place_by_scheme_host_and_port() {
        let is_at = |url: &str| HttpUrl::parse(url).unwrap().is_at("https://api.openai.com/v1");
        assert!(is_at("https://API.openai.com:443/v2"));
        for elsewhere in [
            "http://api.openai.com/v1",
            "https://api.openai.com.evil.example/v1",
            "https://api.openai.com@evil.example/v1",
            "https://api.openai.com:8443/v1",
        ] {
            assert!(!is_at(elsewhere), "{elsewhere}");
        }
    }
}
