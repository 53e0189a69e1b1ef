//! What `Mcp-Name` and `Mcp-Param-*` carry: text as it is where a header can hold it, in base64 where it cannot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// What opens and closes a value in base64; in this case and in no other.
const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// What the parser of a header takes off both ends of its value.
const BLANKS: [char; 2] = [' ', '\t'];

/// The header's value for a text.
pub fn encode(value: &str) -> Cow<'_, str> {
    let is_edged = value.starts_with(BLANKS) || value.ends_with(BLANKS);
    if value.bytes().all(is_allowed) && !is_edged && !is_marked(value) {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{OPEN}{}{CLOSE}", STANDARD.encode(value)))
    }
}

/// The text that a header's value stands for, or `None` where it stands for none: bytes that no header may carry, or
/// base64 that is broken, not in the one form that [`encode`] gives, or of something else than UTF-8.
pub fn decode(header: &[u8]) -> Option<Cow<'_, str>> {
    if !header.iter().copied().all(is_allowed) {
        return None;
    }
    // Blanks around a value belong to the header's line, whether or not the parser took them off.
    let value = std::str::from_utf8(header).ok()?.trim_matches(BLANKS);
    if !is_marked(value) {
        return Some(Cow::Borrowed(value));
    }
    let inner = value.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    String::from_utf8(STANDARD.decode(inner).ok()?).ok().map(Cow::Owned)
}

/// Whether a value reads as one in base64. The marks share a `?` in `=?base64?=`: that counts too, so that no reader
/// can take it for anything but broken.
fn is_marked(value: &str) -> bool {
    value.starts_with(OPEN) && value.ends_with(CLOSE)
}

const fn is_allowed(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(value: &str, header: &str) {
        assert_eq!(encode(value), header);
        assert_eq!(decode(header.as_bytes()).as_deref(), Some(value));
    }

    #[test]
    fn what_a_header_can_hold_goes_as_it_is() {
        for value in ["us-west1", "us west 1", "a\tb", "", "file:///a%20b?c=d", "=?base64?open", "closed?="] {
            check(value, value);
            assert!(matches!(encode(value), Cow::Borrowed(_)), "{value}");
        }
    }

    #[test]
    fn what_a_header_would_lose_or_another_would_misread_goes_in_base64() {
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check(" us-west1", "=?base64?IHVzLXdlc3Qx?=");
        check("us-west1 ", "=?base64?dXMtd2VzdDEg?=");
        check("\tindented", "=?base64?CWluZGVudGVk?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?=");
        check("\u{7f}", "=?base64?fw==?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
        check("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?=");
    }

    #[test]
    fn the_marks_hold_in_their_own_case_and_together_only() {
        for literal in ["=?BASE64?SGVsbG8=?=", "=?base64?SGVsbG8=", "SGVsbG8=", "=?Base64?SGVsbG8=?="] {
            assert_eq!(decode(literal.as_bytes()).as_deref(), Some(literal));
        }
        assert_eq!(decode(b"=?base64??=").as_deref(), Some(""));
        assert_eq!(decode(b"\t us-west1 ").as_deref(), Some("us-west1"));
    }

    #[test]
    fn a_value_that_stands_for_no_text_is_none() {
        for broken in [
            &b"=?base64?SGVsbG8?="[..],
            b"=?base64?SGVs!!!bG8=?=",
            b"=?base64?SGVsbG9=?=",
            b"=?base64?_-8=?=",
            b"=?base64?/w==?=",
            b"=?base64?=",
            b"a\0b",
            b"a\r\nMcp-Name: b",
            b"\x7f",
            "é".as_bytes(),
        ] {
            assert_eq!(decode(broken), None, "{}", broken.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn every_text_round_trips_through_bytes_that_a_header_may_carry(
            value in "\\PC*|[\\x00-\\x7f]*|[ \\t]?[a-z]{0,3}[ \\t]?|=\\?base64\\?[a-zA-Z=?]{0,6}(\\?=)?",
        ) {
            let header = encode(&value);
            prop_assert!(header.bytes().all(is_allowed));
            prop_assert_eq!(header.trim(), &*header);
            let back = decode(header.as_bytes());
            prop_assert_eq!(back.as_deref(), Some(value.as_str()));
        }

        #[test]
        fn whatever_is_read_at_all_reads_the_same_once_written_anew(
            header in prop::collection::vec(prop_oneof![any::<u8>(), b' '..=b'~'], 0..40),
        ) {
            if let Some(value) = decode(&header) {
                let again = encode(&value);
                let back = decode(again.as_bytes());
                prop_assert_eq!(back.as_deref(), Some(&*value));
            }
        }
    }
}
