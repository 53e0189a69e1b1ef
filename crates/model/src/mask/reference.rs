//! Where the references are in a text; everything else in it may be a credential.

use super::MASK;
use super::args::mask_text;
use super::looks::is_secret_name;

#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'a> {
    Literal(&'a str),
    Reference(Reference<'a>),
}

/// `$NAME`, `${NAME}` or `${NAME:-default}`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference<'a> {
    text: &'a str,
    name: &'a str,
    default: Option<&'a str>,
}

impl Reference<'_> {
    /// For places where every value is a secret.
    pub(super) fn with_masked_default(&self) -> String {
        match self.default {
            None | Some("") => self.text.to_owned(),
            Some(_) => format!("${{{}:-{MASK}}}", self.name),
        }
    }

    /// For places where only some values are: the default is shown if it would be by itself.
    pub(super) fn shown(&self) -> String {
        match self.default {
            Some(default) if !is_secret_name(self.name) && mask_text(default) == default => {
                self.text.to_owned()
            }
            Some(_) | None => self.with_masked_default(),
        }
    }
}

/// The text in pieces. A name is only taken for one if it looks like one, though expansion is less strict: what is
/// shown must not be a password that happens to have a dollar in it.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('$') {
        at += found;
        // Two dollars are a plain one, and what follows them is plain text.
        if text[at..].starts_with("$$") {
            at += 2;
        } else if let Some(reference) = reference(&text[at..]) {
            pieces.extend((start < at).then(|| Piece::Literal(&text[start..at])));
            pieces.push(Piece::Reference(reference));
            at += reference.text.len();
            start = at;
        } else {
            at += 1;
        }
    }
    pieces.extend((start < text.len()).then(|| Piece::Literal(&text[start..])));
    pieces
}

/// The reference that begins at the `$` that `text` starts with.
fn reference(text: &str) -> Option<Reference<'_>> {
    let after = &text[1..];
    if let Some(body) = after.strip_prefix('{') {
        let end = body.find('}')?;
        let (name, default) = match body[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&body[..end], None),
        };
        let plain = name.strip_prefix("env:").or_else(|| name.strip_prefix("input:")).unwrap_or(name);
        let text = &text[..end + "${}".len()];
        return is_name(plain).then_some(Reference { text, name, default });
    }
    let is_part = |b: u8| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit();
    let name = &after[..after.bytes().take_while(|&b| is_part(b)).count()];
    is_name(name).then(|| Reference { text: &text[..=name.len()], name, default: None })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The text with every byte of a reference made a plain letter: its marks are then those of the text itself, at the
/// same places, and a `?` within a default is none.
pub(super) fn shape(text: &str) -> String {
    let plain = |piece| match piece {
        Piece::Literal(literal) => literal.to_owned(),
        Piece::Reference(Reference { text, .. }) => "R".repeat(text.len()),
    };
    pieces(text).into_iter().map(plain).collect()
}

/// The text with its literal parts as they are.
pub(super) fn show(text: &str) -> String {
    let shown = |piece| match piece {
        Piece::Literal(literal) => literal.to_owned(),
        Piece::Reference(reference) => reference.shown(),
    };
    pieces(text).into_iter().map(shown).collect()
}
