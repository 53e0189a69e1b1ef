//! A resource under the name of its server: `portolan://{server}/{the server's own uri, percent-encoded}`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use portolan_model::ServerName;

/// No server's uri is shown as it is under this: it is ours, and what stands under it cannot be taken over.
const OURS: &str = "portolan://";

/// All but what stands for itself in every part of a uri.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) fn is_ours(uri: &str) -> bool {
    uri.starts_with(OURS)
}

pub(crate) fn seal(server: &ServerName, uri: &str) -> String {
    format!("{OURS}{server}/{}", utf8_percent_encode(uri, ENCODED))
}

/// The server and its own uri. Clients may encode less than we do, so what is not encoded is taken as it is.
pub(crate) fn open(shown: &str) -> Option<(ServerName, String)> {
    let (server, uri) = shown.strip_prefix(OURS)?.split_once('/')?;
    let uri = percent_decode_str(uri).decode_utf8().ok()?;
    Some((ServerName::parse(server).ok()?, uri.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    #[test]
    fn the_uri_of_another_server_is_one_segment_and_comes_back_whole() {
        let uri = "file:///a b/ü%20?q=1&r={x}#f";
        let shown = seal(&server("fs"), uri);
        assert_eq!(shown, "portolan://fs/file%3A%2F%2F%2Fa%20b%2F%C3%BC%2520%3Fq%3D1%26r%3D%7Bx%7D%23f");
        assert_eq!(open(&shown), Some((server("fs"), uri.to_owned())));
    }

    #[test]
    fn what_a_client_encoded_less_is_taken_as_it_is() {
        assert_eq!(open("portolan://fs/file:///a"), Some((server("fs"), "file:///a".to_owned())));
        assert_eq!(open("portolan://fs/100%"), Some((server("fs"), "100%".to_owned())));
    }

    #[test]
    fn what_is_not_of_this_form_is_nobodys() {
        for uri in
            ["portolan://fs", "portolan://Not/x", "portolan:///x", "file:///a", "portolan://fs/%FF", ""]
        {
            assert_eq!(open(uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn any_uri_comes_back(name in "[a-z][a-z0-9_-]{0,9}", uri in "\\PC{0,60}|[\\x00-\\x7f]{0,60}") {
            let shown = seal(&server(&name), &uri);
            prop_assert!(shown.bytes().all(|b| b.is_ascii_graphic()));
            prop_assert_eq!(open(&shown), Some((server(&name), uri)));
        }
    }
}
