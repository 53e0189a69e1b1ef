//! Our own cursors: where a page ended, as a text that nobody but us can make.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use portolan_model::{Kind, ServerName};
use sha2::Sha256;
use std::sync::LazyLock;

/// Half of the hash is more than anyone can guess.
const TAG_LEN: usize = 16;

/// Made anew by each process: a cursor is of no use after a restart. `None` where the system gives no randomness.
static SEAL: LazyLock<Option<Hmac<Sha256>>> = LazyLock::new(|| {
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .inspect_err(|error| tracing::warn!(%error, "no randomness: lists have one page"))
        .ok()?;
    Hmac::new_from_slice(&key).ok()
});

/// The last thing that a page showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub server: ServerName,
    /// The key by which its server knows it.
    pub key: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown cursor: it is not of this list, or from before a restart; start without one")]
pub struct BadCursor;

/// Whether there can be cursors at all.
pub(crate) fn can_be_made() -> bool {
    SEAL.is_some()
}

/// The cursor that goes on after a place in the list of a kind.
pub(crate) fn seal(kind: Kind, place: &Place) -> Option<String> {
    // No server's name holds a zero, so the first one ends it.
    let mut bytes = [place.server.as_str().as_bytes(), &[0], place.key.as_bytes()].concat();
    let tag = mac(kind, &bytes)?.finalize().into_bytes();
    bytes.extend_from_slice(&tag[..TAG_LEN]);
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// The place that a cursor means, if we have made it ourselves and for a list of this kind.
pub fn open(kind: Kind, cursor: &str) -> Result<Place, BadCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| BadCursor)?;
    let (place, tag) = bytes.split_last_chunk::<TAG_LEN>().ok_or(BadCursor)?;
    mac(kind, place).ok_or(BadCursor)?.verify_truncated_left(tag).map_err(|_| BadCursor)?;
    let place = std::str::from_utf8(place).map_err(|_| BadCursor)?;
    let (server, key) = place.split_once('\0').ok_or(BadCursor)?;
    let server = ServerName::parse(server).map_err(|_| BadCursor)?;
    Ok(Place { server, key: key.to_owned() })
}

fn mac(kind: Kind, place: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = SEAL.clone()?;
    mac.update(kind.method().as_bytes());
    mac.update(&[0]);
    mac.update(place);
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(key: &str) -> Place {
        Place { server: ServerName::parse("a-server").unwrap(), key: key.to_owned() }
    }

    #[test]
    fn a_cursor_of_ours_opens_to_the_place_that_it_was_made_for() {
        for key in ["", "plain", "with\0zero", "ü \"{}\n", &"x".repeat(5000)] {
            let cursor = seal(Kind::Tools, &place(key)).unwrap();
            assert_eq!(open(Kind::Tools, &cursor), Ok(place(key)));
        }
    }

    #[test]
    fn a_cursor_that_is_made_up_changed_or_of_another_list_is_refused() {
        let good = seal(Kind::Tools, &place("x")).unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(&good).unwrap();
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_eq!(open(Kind::Tools, &URL_SAFE_NO_PAD.encode(&bytes)), Err(BadCursor), "{at}");
            bytes[at] ^= 1;
        }
        assert_eq!(open(Kind::Prompts, &good), Err(BadCursor));
        for text in ["", "x", "not base64!", &good[1..], &good[..good.len() - 1], &format!("{good}AA")] {
            assert_eq!(open(Kind::Tools, text), Err(BadCursor), "{text}");
        }
    }
}
