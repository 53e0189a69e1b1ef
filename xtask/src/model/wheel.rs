//! One file out of a wheel, which is a ZIP archive: as much of the format as wheels use.

use anyhow::{Context, Result, bail};

/// What the entry at the end of the archive, and each entry of its list of members, begins with.
const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";

const STORED: usize = 0;
const DEFLATED: usize = 8;

/// The contents of the member called `name`.
pub(super) fn member(archive: &[u8], name: &str) -> Result<Vec<u8>> {
    let end = archive.windows(END.len()).rposition(|bytes| bytes == END).context("this is no ZIP archive")?;
    let mut at = number(archive, end + 16, 4)?;
    for _ in 0..number(archive, end + 10, 2)? {
        if part(archive, at, 4)? != ENTRY {
            bail!("the list of the archive's members is damaged");
        }
        let [name_length, extra, comment] = [28, 30, 32].map(|field| number(archive, at + field, 2));
        let (name_length, after) = (name_length?, extra? + comment?);
        if part(archive, at + 46, name_length)? == name.as_bytes() {
            return contents(archive, at).with_context(|| format!("could not unpack {name}"));
        }
        at += 46 + name_length + after;
    }
    bail!("there is no {name} in the archive")
}

/// What the member has whose entry lies at `entry`.
fn contents(archive: &[u8], entry: usize) -> Result<Vec<u8>> {
    let [packed, length, local] = [20, 24, 42].map(|field| number(archive, entry + field, 4));
    let (packed, length, local) = (packed?, length?, local?);
    // The member repeats its name and its extra fields before its contents, and these may differ in length.
    let start = local + 30 + number(archive, local + 26, 2)? + number(archive, local + 28, 2)?;
    let packed = part(archive, start, packed)?;
    let contents = match number(archive, entry + 10, 2)? {
        STORED => packed.to_vec(),
        DEFLATED => miniz_oxide::inflate::decompress_to_vec_with_limit(packed, length)
            .map_err(|error| anyhow::anyhow!("it cannot be inflated: {error}"))?,
        other => bail!("it is packed by method {other}"),
    };
    if contents.len() != length {
        bail!("it has {} bytes and should have {length}", contents.len());
    }
    Ok(contents)
}

fn part(archive: &[u8], start: usize, length: usize) -> Result<&[u8]> {
    archive.get(start..).and_then(|rest| rest.get(..length)).context("the archive is cut")
}

/// A little-endian number of `length` bytes.
fn number(archive: &[u8], start: usize, length: usize) -> Result<usize> {
    Ok(part(archive, start, length)?.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of one member, as `zip` would write it.
    fn archive(name: &str, method: u8, packed: &[u8], length: u8) -> Vec<u8> {
        let sizes = [&[u8::try_from(packed.len()).unwrap(), 0, 0, 0][..], &[length, 0, 0, 0]].concat();
        let names = [u8::try_from(name.len()).unwrap(), 0, 0, 0];
        let mut bytes = [b"PK\x03\x04\x14\0\0\0", &[method, 0][..], &[0; 8], &sizes, &names].concat();
        bytes.extend(name.bytes());
        bytes.extend(packed);
        let list = u8::try_from(bytes.len()).unwrap();
        bytes.extend(
            [b"PK\x01\x02\x14\0\x14\0\0\0", &[method, 0][..], &[0; 8], &sizes, &names, &[0; 14]].concat(),
        );
        bytes.extend(name.bytes());
        bytes.extend([b"PK\x05\x06\0\0\0\0", &[1, 0, 1, 0, 0, 0, 0, 0, list, 0, 0, 0, 0, 0][..]].concat());
        bytes
    }

    #[test]
    fn a_member_is_found_stored_or_deflated() {
        assert_eq!(member(&archive("a/b", 0, b"chart", 5), "a/b").unwrap(), b"chart");
        let packed = miniz_oxide::deflate::compress_to_vec(&[b'x'; 200], 6);
        assert_eq!(member(&archive("a/b", 8, &packed, 200), "a/b").unwrap(), [b'x'; 200]);
    }

    #[test]
    fn what_is_no_archive_or_is_damaged_is_refused() {
        let whole = archive("a/b", 0, b"chart", 5);
        for (bytes, expected) in [
            (&whole[..20], "this is no ZIP archive"),
            (&archive("a/c", 0, b"chart", 5), "there is no a/b in the archive"),
            (&archive("a/b", 0, b"chart", 6), "could not unpack a/b: it has 5 bytes and should have 6"),
            (&archive("a/b", 9, b"chart", 5), "could not unpack a/b: it is packed by method 9"),
        ] {
            assert_eq!(format!("{:#}", member(bytes, "a/b").unwrap_err()), expected);
        }
    }
}
