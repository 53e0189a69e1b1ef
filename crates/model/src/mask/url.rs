//! Addresses as people may see them: host and path stay, what opens doors does not.

use super::looks::is_credential;
use super::reference::{Piece, pieces, shape, show};
use super::{MASK, mask_value, only_references};

/// In an address something random is rarely a name.
const SHORTEST_RANDOM: usize = 20;

/// The address without user information, without the values of its query, without segments that look like
/// credentials, and without its fragment. What is no address at all is masked, its references apart.
pub fn mask_url(url: &str) -> String {
    let shape = shape(url);
    let end = shape.find('#').unwrap_or(shape.len());
    let (url, shape) = (&url[..end], &shape[..end]);
    match shape.find("://") {
        Some(at) if is_scheme(&shape[..at]) => {
            let start = at + "://".len();
            show(&url[..start]) + &mask_after_scheme(&url[start..], &shape[start..])
        }
        Some(_) | None if matches!(pieces(url).first(), Some(Piece::Reference(_))) => {
            mask_after_scheme(url, shape)
        }
        Some(_) | None => mask_literals(url),
    }
}

/// The address to store when `new` was sent for what is `old` so far.
pub fn keep_masked_url(new: &str, old: Option<&str>) -> String {
    match old {
        Some(old) if new == MASK || new == mask_url(old) => old.to_owned(),
        Some(_) | None => new.to_owned(),
    }
}

/// `jdbc:postgresql` and `git+https` are schemes too.
fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.:".contains(&b))
}

/// Takes the text and its shape side by side: marks are looked for in the one, and cut from the other.
fn mask_after_scheme(text: &str, shape: &str) -> String {
    let query_at = shape.find('?').unwrap_or(shape.len());
    let path_at = shape[..query_at].find('/').unwrap_or(query_at);
    let authority = mask_authority(&text[..path_at], &shape[..path_at]);
    let path: Vec<String> =
        parts(&text[path_at..query_at], &shape[path_at..query_at], '/').map(mask_segment).collect();
    let path = path.join("/");
    if query_at == shape.len() {
        return authority + &path;
    }
    let query = parts(&text[query_at + 1..], &shape[query_at + 1..], '&').map(mask_pair);
    format!("{authority}{path}?{}", query.collect::<Vec<_>>().join("&"))
}

/// The parts of the text between the marks of its shape.
fn parts<'a>(text: &'a str, shape: &'a str, mark: char) -> impl Iterator<Item = &'a str> {
    let mut start = 0;
    shape.split(mark).map(move |part| {
        let from = start;
        start += part.len() + mark.len_utf8();
        &text[from..from + part.len()]
    })
}

fn mask_authority(text: &str, shape: &str) -> String {
    let (user, host_at) = match shape.rfind('@') {
        Some(at) => (Some(&text[..at]), at + 1),
        None => (None, 0),
    };
    let host = if is_host(&shape[host_at..]) { show(&text[host_at..]) } else { MASK.to_owned() };
    match user {
        Some(user) => format!("{}@{host}", mask_user(user)),
        None => host,
    }
}

fn mask_user(user: &str) -> String {
    let halves: Option<Vec<String>> = parts(user, &shape(user), ':')
        .map(|half| only_references(half).filter(|shown| !shown.is_empty()))
        .collect();
    halves.map_or_else(|| MASK.to_owned(), |halves| halves.join(":"))
}

/// What does not look like a host and a port may be the first half of a password with a slash in it.
fn is_host(shape: &str) -> bool {
    let (name, port) = match shape.rfind(']') {
        Some(at) => (&shape[..=at], shape[at + 1..].strip_prefix(':')),
        None => shape.rsplit_once(':').map_or((shape, None), |(name, port)| (name, Some(port))),
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_address = name.starts_with('[') && name.ends_with(']');
    let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit()) || port.bytes().all(|b| b == b'R');
    (is_address || name.chars().all(is_part)) && port.is_none_or(is_port)
}

fn mask_segment(segment: &str) -> String {
    let is_hidden = |piece: &Piece<'_>| match piece {
        Piece::Literal(literal) => literal_holds_credential(literal),
        Piece::Reference(_) => false,
    };
    if pieces(segment).iter().any(is_hidden) {
        return MASK.to_owned();
    }
    match shape(segment).find('=') {
        Some(at) => format!("{}={}", show(&segment[..at]), mask_value(&segment[at + 1..])),
        None => show(segment),
    }
}

/// As a whole, or in one of the parts that colons and the like make of it: `bot1234:AbC…`.
fn literal_holds_credential(literal: &str) -> bool {
    let is_mark = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '='));
    is_credential(literal, SHORTEST_RANDOM)
        || literal.split(is_mark).any(|part| is_credential(part, SHORTEST_RANDOM))
}

/// A key stays and its value goes; what has no value may be one itself.
fn mask_pair(pair: &str) -> String {
    match shape(pair).find('=') {
        Some(at) => format!("{}={}", mask_segment(&pair[..at]), mask_value(&pair[at + 1..])),
        None => mask_value(pair),
    }
}

fn mask_literals(text: &str) -> String {
    let shown = |piece| match piece {
        Piece::Literal(_) => MASK.to_owned(),
        Piece::Reference(reference) => reference.shown(),
    };
    pieces(text).into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        assert_eq!(mask_url(url), expected, "{url}");
    }

    #[test]
    fn an_address_without_secrets_is_shown_as_it_is() {
        for url in [
            "https://api.githubcopilot.com/mcp/",
            "http://127.0.0.1:3000/sse",
            "http://[::1]:8080/mcp",
            "https://example.com",
            "https://mcp.example.com/v1beta1/projects/my-project-2024/mcp",
            "https://${HOST}:${PORT}/mcp",
            "${BASE_URL}/mcp",
            "$BASE/mcp",
            "https://x.org/${TENANT}/mcp?key=${KEY}&other=$OTHER",
            "${BASE:-https://x.org/mcp}",
            "https://${USER}:${PASS}@x.org/",
            "",
        ] {
            check(url, url);
        }
    }

    #[test]
    fn user_information_and_the_values_of_the_query_are_hidden() {
        check("https://ann:hunter2@x.org/mcp", "https://***@x.org/mcp");
        check(
            "postgres://ann:hunter2@db:5432/app?password=hunter2",
            "postgres://***@db:5432/app?password=***",
        );
        check("https://x.org/mcp?api_key=hunter2&debug=1&v=", "https://x.org/mcp?api_key=***&debug=***&v=");
        check("https://x.org/mcp?hunter2", "https://x.org/mcp?***");
        check("https://${USER}:hunter2@x.org", "https://***@x.org");
        check("https://x.org/mcp;token=hunter2", "https://x.org/mcp;token=***");
        check("https://x.org?k=${K}x", "https://x.org?k=***");
        check("https://x.org/#access_token=hunter2", "https://x.org/");
        check("https://ann:p@x:hunter2@x.org/", "https://***@x.org/");
        check("https://ann:hunt/er2", "https://***/er2");
    }

    #[test]
    fn segments_that_look_like_credentials_are_hidden() {
        check("https://x.org/s/NzVmMzA1YmQ0ZTk4Zg9xMzI1/mcp", "https://x.org/s/***/mcp");
        check("https://x.org/550e8400-e29b-41d4-a716-446655440000/sse", "https://x.org/***/sse");
        check("https://x.org/bot123456:AAF3x9K2mQ7vLp0Rz8TtYw1/send", "https://x.org/***/send");
        check("https://x.org/ghp_1234567890abcdef", "https://x.org/***");
    }

    #[test]
    fn what_is_no_address_is_hidden_but_for_its_references() {
        check("hunter2", MASK);
        check("hunter2${X}", "***${X}");
        check("${BASE}/s/4f3a9b2c8d1e7f6a5b4c3d2e?k=v", "${BASE}/s/***?k=***");
        check("${USER}:hunter2@x.org/mcp", "***@x.org/mcp");
    }

    #[test]
    fn a_default_is_shown_if_it_would_be_by_itself() {
        check("${BASE:-https://a:b@x.org}/mcp?x=1", "${BASE:-***}/mcp?x=***");
        check("https://x.org/?k=${K:-hunter2}", "https://x.org/?k=${K:-***}");
    }

    #[test]
    fn an_address_that_is_sent_back_keeps_its_secrets() {
        let old = "https://x.org/mcp?api_key=hunter2";
        assert_eq!(keep_masked_url("https://x.org/mcp?api_key=***", Some(old)), old);
        assert_eq!(keep_masked_url("***", Some(old)), old);
        assert_eq!(
            keep_masked_url("https://y.org/mcp?api_key=***", Some(old)),
            "https://y.org/mcp?api_key=***"
        );
        assert_eq!(keep_masked_url("https://y.org/", None), "https://y.org/");
    }

    proptest! {
        #[test]
        fn no_secret_is_shown_wherever_it_stands(
            secret in "[a-z]{6}[0-9]{2}",
            place in "https://u:S@h/p\\?a=b|https://S@h|https://h/p\\?a=S&b=c|https://h/\\?S|https://h/p#S|https://h/;k=S|S|S\\$X",
        ) {
            let shown = mask_url(&place.replace('S', &secret));
            prop_assert!(!shown.contains(&secret), "{}", shown);
        }

        #[test]
        fn nothing_makes_it_panic(url in "(https?://)?[${}:/?#@&=\\[\\]A-Za-z\u{e9}.-]{0,40}") {
            let _ = mask_url(&url);
        }

        #[test]
        fn what_is_shown_is_shown_the_same_again(url in "https://[a-z:@./?&=${}A-C#]{0,30}") {
            let shown = mask_url(&url);
            prop_assert_eq!(mask_url(&shown), shown);
        }
    }
}
