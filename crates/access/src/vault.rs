//! Seals what must not lie about in plain: AES-256-GCM under one key, each value bound to the place it is for.

mod key;

pub use key::{BadKey, Key};

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// What a sealed value starts with, so that another way to seal can come one day and this one still be read.
const VERSION: u8 = 1;
const NONCE_LEN: usize = 12;

/// Why nothing was sealed, opened or loaded. It never holds a value or a key.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("the key file {} cannot be read: {reason}; check its path and its owner", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    #[error(
        "the key file {} cannot be made: {reason}; let Portolan write to its folder, set `secrets.key_file` to a file \
         elsewhere, or put a key into PORTOLAN_SECRET_KEY",
        path.display()
    )]
    Unwritable { path: PathBuf, reason: io::Error },
    #[error(
        "the key file {} holds no key: {reason}. Restore it from a backup; if it is lost, move it away and set every \
         secret anew",
        path.display()
    )]
    Malformed { path: PathBuf, reason: BadKey },
    #[error(
        "the key file {path} is open to others than its owner (mode {mode:o}): run `chmod 600 {path}`",
        path = path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(getrandom::Error),
    #[error("the value is too long to be sealed")]
    TooLong,
    #[error("the sealed value cannot be opened: the key is another one, or the value was damaged or moved")]
    Unopened,
    #[error(
        "the sealed value is of version {0}, which this Portolan does not know: use the one that sealed it"
    )]
    UnknownVersion(u8),
}

/// Seals and opens with one key.
pub struct Vault {
    cipher: Aes256Gcm,
}

impl Vault {
    pub fn new(key: &Key) -> Self {
        Self { cipher: Aes256Gcm::new(key.bytes().into()) }
    }

    /// `purpose` names the one place the value is for: what was sealed for another cannot be opened there, so that
    /// whoever can write to the database cannot have one server be sent another's token.
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(VaultError::NoRandomness)?;
        let payload = Payload { msg: plain, aad: &bound_to(purpose) };
        let hidden = self.cipher.encrypt(&nonce.into(), payload).map_err(|_| VaultError::TooLong)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_LEN + hidden.len());
        sealed.push(VERSION);
        sealed.extend(nonce);
        sealed.extend(hidden);
        Ok(sealed)
    }

    pub fn unseal(&self, purpose: &str, sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let (&version, rest) = sealed.split_first().ok_or(VaultError::Unopened)?;
        if version != VERSION {
            return Err(VaultError::UnknownVersion(version));
        }
        let (nonce, hidden) = rest.split_first_chunk::<NONCE_LEN>().ok_or(VaultError::Unopened)?;
        let payload = Payload { msg: hidden, aad: &bound_to(purpose) };
        self.cipher.decrypt(nonce.into(), payload).map_err(|_| VaultError::Unopened)
    }
}

/// What is not hidden but cannot be changed either.
fn bound_to(purpose: &str) -> Vec<u8> {
    [&[VERSION], purpose.as_bytes()].concat()
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vault(seed: u8) -> Vault {
        Vault::new(&Key::from_text(&format!("{seed:02x}").repeat(32)).unwrap())
    }

    #[test]
    fn a_sealed_value_holds_nothing_of_the_plain_one_and_never_looks_the_same() {
        let one = vault(1).seal("p", b"hunter2").unwrap();
        let other = vault(1).seal("p", b"hunter2").unwrap();
        assert!(!one.windows(7).any(|window| window == b"hunter2"));
        assert_ne!(one, other);
        assert_eq!(one.len(), 1 + 12 + 7 + 16);
    }

    #[test]
    fn a_value_of_another_version_says_so() {
        let mut sealed = vault(1).seal("p", b"x").unwrap();
        sealed[0] = 2;
        assert!(matches!(vault(1).unseal("p", &sealed), Err(VaultError::UnknownVersion(2))));
    }

    /// Made with another implementation of AES-256-GCM. What lies in databases must be readable for ever.
    #[test]
    fn what_version_1_looks_like_never_changes() {
        let sealed: [u8; 36] = [
            1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0xd3, 0xd3, 0xfb, 0x52, 0x45, 0x8c, 0x34, 0x76, 0x34,
            0x3d, 0xa8, 0x2d, 0x04, 0xd6, 0x38, 0xd6, 0x37, 0xda, 0x8f, 0xce, 0x07, 0x02, 0x4f,
        ];
        assert_eq!(vault(1).unseal("server/1/env", &sealed).unwrap(), b"hunter2");
    }

    #[test]
    fn no_error_holds_a_value() {
        let sealed = vault(1).seal("p", b"hunter2").unwrap();
        let error = vault(2).unseal("p", &sealed).unwrap_err();
        assert!(!format!("{error} {error:?} {:?}", vault(1)).contains("hunter2"));
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_again(purpose in "\\PC{0,20}", plain: Vec<u8>) {
            let sealed = vault(1).seal(&purpose, &plain).unwrap();
            prop_assert_eq!(vault(1).unseal(&purpose, &sealed).unwrap(), plain);
        }

        #[test]
        fn one_changed_bit_anywhere_is_noticed(plain: Vec<u8>, at: prop::sample::Index, bit in 0..8_u32) {
            let mut sealed = vault(1).seal("p", &plain).unwrap();
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(vault(1).unseal("p", &sealed).is_err());
        }

        #[test]
        fn a_value_that_was_cut_is_noticed(plain: Vec<u8>, at: prop::sample::Index) {
            let sealed = vault(1).seal("p", &plain).unwrap();
            prop_assert!(vault(1).unseal("p", &sealed[..at.index(sealed.len())]).is_err());
        }

        #[test]
        fn neither_another_purpose_nor_another_key_opens_it(plain: Vec<u8>, one in "[ab/]{0,3}", other in "[ab/]{0,3}") {
            let sealed = vault(1).seal(&one, &plain).unwrap();
            prop_assert_eq!(vault(1).unseal(&other, &sealed).is_ok(), one == other);
            prop_assert!(vault(2).unseal(&one, &sealed).is_err());
        }

        #[test]
        fn nothing_that_nobody_sealed_opens(bytes: Vec<u8>) {
            prop_assert!(vault(1).unseal("p", &bytes).is_err());
        }
    }
}
