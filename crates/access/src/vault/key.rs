//! The key that seals: as text, and in a file that only its owner can read.

use super::VaultError;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use portolan_model::hex;
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const KEY_LEN: usize = 32;

/// No key is longer as text; what is longer is another file.
const LONGEST_FILE: u64 = 1024;

/// People paste keys with and without the signs at their end.
const BASE64: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, BASE64);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, BASE64);

/// 32 bytes that are wiped when nobody needs them any more, and never shown.
#[derive(Clone)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub struct Key(Zeroizing<[u8; KEY_LEN]>);

/// A text that is no key; it does not say which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is 32 bytes, written as base64 or as 64 hexadecimal digits")]
pub struct BadKey;

impl Key {
    pub fn random() -> Result<Self, VaultError> {
        let mut bytes = Zeroizing::new([0; KEY_LEN]);
        getrandom::fill(bytes.as_mut_slice()).map_err(VaultError::NoRandomness)?;
        Ok(Self(bytes))
    }

    /// Takes base64, in either alphabet, or 64 hexadecimal digits; space around them does no harm.
    pub fn from_text(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        let decode = |engine: &GeneralPurpose| engine.decode(text).ok();
        let bytes = from_hex(text).or_else(|| decode(&STANDARD)).or_else(|| decode(&URL_SAFE));
        let bytes = Zeroizing::new(bytes.ok_or(BadKey)?);
        let key = <[u8; KEY_LEN]>::try_from(bytes.as_slice()).map_err(|_| BadKey)?;
        Ok(Self(Zeroizing::new(key)))
    }

    /// The key in this file; where there is no file, a new key that is written to it. Whoever starts at the same
    /// time gets the same key.
    pub fn load_or_create(path: &Path) -> Result<Self, VaultError> {
        let unreadable = |reason| VaultError::Unreadable { path: path.to_owned(), reason };
        match File::open(path) {
            Ok(file) => return load(path, file),
            Err(reason) if reason.kind() == ErrorKind::NotFound => {}
            Err(reason) => return Err(unreadable(reason)),
        }
        let key = Self::random()?;
        match create(path, &key.to_text()) {
            Ok(Place::Filled) => {
                tracing::info!(path = %path.display(), "made a new key for secrets: keep a copy of it in a safe place");
                Ok(key)
            }
            Ok(Place::Taken) => load(path, File::open(path).map_err(unreadable)?),
            Err(reason) => Err(VaultError::Unwritable { path: path.to_owned(), reason }),
        }
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.as_slice()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let of_key = pairs.len() == KEY_LEN;
    of_key.then(|| pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect())?
}

fn load(path: &Path, file: File) -> Result<Key, VaultError> {
    refuse_exposed(path, &file)?;
    let mut text = Zeroizing::new(String::new());
    let malformed = || VaultError::Malformed { path: path.to_owned(), reason: BadKey };
    match file.take(LONGEST_FILE).read_to_string(&mut text) {
        Ok(_) => Key::from_text(&text).map_err(|_| malformed()),
        Err(reason) if reason.kind() == ErrorKind::InvalidData => Err(malformed()),
        Err(reason) => Err(VaultError::Unreadable { path: path.to_owned(), reason }),
    }
}

/// What group and others may do.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Asks the open file and not its path, which may have become another's in between.
#[cfg(unix)]
fn refuse_exposed(path: &Path, file: &File) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata =
        file.metadata().map_err(|reason| VaultError::Unreadable { path: path.to_owned(), reason })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 { Ok(()) } else { Err(VaultError::Exposed { path: path.to_owned(), mode }) }
}

/// Elsewhere the folder decides who can read what is in it.
#[cfg(not(unix))]
fn refuse_exposed(_: &Path, _: &File) -> Result<(), VaultError> {
    Ok(())
}

/// What became of the place for the key.
enum Place {
    Filled,
    /// Somebody was faster; theirs is the key that counts.
    Taken,
}

/// Writes the whole file under a name of its own first, and then gives it the right one, which fails where that is
/// taken: nobody ever reads half a key, and of two that start at once only one can win.
fn create(path: &Path, text: &str) -> io::Result<Place> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let unfinished = Unfinished(folder.join(unfinished_name()?));
    let mut file = owner_only().write(true).create_new(true).open(&unfinished.0)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    match std::fs::hard_link(&unfinished.0, path) {
        Ok(()) => sync_folder(folder).map(|()| Place::Filled),
        Err(reason) if reason.kind() == ErrorKind::AlreadyExists => Ok(Place::Taken),
        Err(reason) => Err(reason),
    }
}

/// A file that is not to stay, however its making ends.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // One that stays behind holds a key that nothing was sealed with.
        std::fs::remove_file(&self.0).ok();
    }
}

fn unfinished_name() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|reason| io::Error::other(reason.to_string()))?;
    Ok(format!(".portolan-key-{}", hex(&random)))
}

#[cfg(unix)]
fn owner_only() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn owner_only() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

/// Without this, a key that something is sealed with already could be gone after a power cut.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
