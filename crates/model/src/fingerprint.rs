//! Short stable names for longer things, which nobody can make collide.

use crate::hex::hex;
use sha2::{Digest as _, Sha256};

/// The hash of some parts, in hexadecimal digits; where one part ends and the next begins matters.
pub fn fingerprint<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(fingerprint([&b"ab"[..], b"c"]), fingerprint([&b"a"[..], b"bc"]));
        assert_eq!(fingerprint([&b"a"[..]]).len(), 64);
    }
}
