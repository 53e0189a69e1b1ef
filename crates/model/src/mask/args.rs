//! The arguments of a program as people may see them.

use super::looks::{is_credential, is_secret_name};
use super::reference::{Piece, pieces, shape, show};
use super::url::mask_url;
use super::{MASK, SCHEMES, mask_value, split_scheme};

/// Shorter than this, and a text of letters and digits is a name.
const SHORTEST_RANDOM: usize = 24;

/// Flags whose value is a header.
const HEADER_FLAGS: [&str; 3] = ["--header", "--headers", "-H"];

/// The arguments with everything masked that is a credential by its name, by its place or by its looks. References,
/// paths and the names of packages stay.
pub fn mask_args<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut expected = Expected::Anything;
    let mask = |arg| {
        let (shown, next) = mask_arg(arg, expected);
        expected = next;
        shown
    };
    args.into_iter().map(mask).collect()
}

/// The arguments to store when `new` was sent for what is `old` so far. A masked one keeps the old one that it shows,
/// that in its place before others, so that arguments can be added and removed around it.
pub fn keep_masked_args<'a>(new: &[String], old: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let old: Vec<&str> = old.into_iter().collect();
    let mut shown: Vec<Option<String>> = mask_args(old.iter().copied()).into_iter().map(Some).collect();
    let mut kept: Vec<Option<&str>> = vec![None; new.len()];
    let take = |at: usize, shown: &mut Vec<Option<String>>| shown[at].take().map(|_| old[at]);
    for (at, arg) in new.iter().enumerate() {
        if shown.get(at).is_some_and(|shown| shown.as_ref() == Some(arg)) {
            kept[at] = take(at, &mut shown);
        }
    }
    for (kept, arg) in kept.iter_mut().zip(new).filter(|(kept, arg)| kept.is_none() && arg.contains(MASK)) {
        if let Some(at) = shown.iter().position(|shown| shown.as_ref() == Some(arg)) {
            *kept = take(at, &mut shown);
        }
    }
    kept.into_iter().zip(new).map(|(kept, arg)| kept.unwrap_or(arg).to_owned()).collect()
}

/// What an argument must be, by the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Anything,
    Secret,
    Header,
}

fn mask_arg(arg: &str, expected: Expected) -> (String, Expected) {
    if let Some(next) = flag(arg) {
        return (show(arg), next);
    }
    let shown = match expected {
        Expected::Anything => mask_text(arg),
        Expected::Secret => mask_value(arg),
        Expected::Header => mask_header(arg),
    };
    (shown, Expected::Anything)
}

/// For a flag that stands by itself, what follows it.
fn flag(arg: &str) -> Option<Expected> {
    let name = arg.trim_start_matches('-');
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let is_long = arg.starts_with("--") && !name.is_empty();
    // Programs in Go write their long flags with one dash. Anything else after it may be a value.
    let is_short = arg.starts_with('-') && (arg.len() <= 3 || is_secret_name(name));
    if !(is_long || is_short) || !name.bytes().all(is_part) || is_credential(name, SHORTEST_RANDOM) {
        return None;
    }
    Some(match name {
        _ if HEADER_FLAGS.contains(&arg) => Expected::Header,
        _ if is_secret_name(name) => Expected::Secret,
        _ => Expected::Anything,
    })
}

/// A text of which nothing is known: `--flag=value`, `KEY=value` or a value alone. The value may be an assignment
/// again, as in `--env=KEY=value`.
pub(super) fn mask_text(text: &str) -> String {
    let (before, bare, after) = unquoted(text);
    let shape = shape(bare);
    let mut start = 0;
    while let Some(at) = shape[start..].find('=').map(|found| start + found) {
        let (name, value) = (&bare[start..at], &bare[at + 1..]);
        if !is_assigned(name) || value.trim_matches('=').is_empty() {
            break;
        }
        let mask = match name {
            _ if HEADER_FLAGS.contains(&name) => mask_header,
            _ if is_secret_name(name) || name.ends_with("_KEY") => mask_value,
            _ => {
                start = at + 1;
                continue;
            }
        };
        return format!("{before}{}{}{after}", show(&bare[..=at]), mask(value));
    }
    format!("{before}{}{}{after}", show(&bare[..start]), mask_plain(&bare[start..]))
}

/// Whether something of this name can be given a value. The rest of a key in base64 is no name.
fn is_assigned(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@' | '/');
    let is_name = !name.is_empty() && name.chars().all(is_part) && !name.contains("://");
    is_name && !is_credential(name, SHORTEST_RANDOM)
}

/// A value that no name says anything of.
fn mask_plain(text: &str) -> String {
    let header = text.split_once(':').filter(|(name, _)| is_header_name(name) && is_secret_name(name));
    if split_scheme(text).is_some() {
        mask_value(text)
    } else if header.is_some() {
        mask_header(text)
    } else if is_json_with_secrets(text) {
        MASK.to_owned()
    } else if text.contains(char::is_whitespace) {
        mask_words(text)
    } else {
        mask_word(text)
    }
}

/// `Authorization: Bearer …`: the name stays. Some programs want `=` there.
fn mask_header(text: &str) -> String {
    let Some(at) = shape(text).find([':', '=']) else { return mask_value(text) };
    let (name, value) = (&text[..at], text[at + 1..].trim_start());
    let value_at = text.len() - value.len();
    if is_header_name(name) {
        format!("{}{}", &text[..value_at], mask_value(value))
    } else {
        mask_value(text)
    }
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// A whole configuration as one argument.
fn is_json_with_secrets(text: &str) -> bool {
    let is_json = text.starts_with(['{', '[']) && text.contains('"');
    let is_mark = |c: char| !(c.is_ascii_alphanumeric() || "_-+/=".contains(c));
    let is_hidden = |word: &str| is_secret_name(word) || is_credential(word, SHORTEST_RANDOM);
    is_json && (text.split(is_mark).any(is_hidden) || text.contains("://"))
}

/// A line for a shell: each word as if it were an argument.
fn mask_words(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut expected = Expected::Anything;
    for piece in text.split_inclusive(char::is_whitespace) {
        let (before, bare, after) = unquoted(piece);
        if bare.is_empty() {
            shown.push_str(piece);
            continue;
        }
        let (masked, next) = mask_arg(bare, expected);
        expected = match bare.strip_suffix(':') {
            Some(name) if is_header_name(name) && is_secret_name(name) => Expected::Secret,
            // The scheme is no secret, and what follows it is.
            _ if SCHEMES.contains(&bare) => Expected::Secret,
            Some(_) | None => next,
        };
        let masked = if SCHEMES.contains(&bare) { bare.to_owned() } else { masked };
        shown.extend([before, &masked, after]);
    }
    shown
}

/// A word without what a shell needs around it, and that.
fn unquoted(word: &str) -> (&str, &str, &str) {
    let is_mark = |c: char| matches!(c, '"' | '\'' | ';' | '(' | ')') || c.is_whitespace();
    let after_mark = word.trim_start_matches(is_mark);
    let (before, rest) = word.split_at(word.len() - after_mark.len());
    let (bare, after) = rest.split_at(rest.trim_end_matches(is_mark).len());
    (before, bare, after)
}

fn mask_word(word: &str) -> String {
    let is_hidden = |piece: &Piece<'_>| match piece {
        Piece::Literal(literal) => is_credential(literal, SHORTEST_RANDOM),
        Piece::Reference(_) => false,
    };
    if shape(word).contains("://") {
        mask_url(word)
    } else if pieces(word).iter().any(is_hidden) {
        MASK.to_owned()
    } else {
        show(word)
    }
}

#[cfg(test)]
mod tests;
