//! What people are shown of values that may hold credentials: references and structure stay, the rest is `***`.

mod args;
mod looks;
mod reference;
mod url;

pub use args::{keep_masked_args, mask_args};
pub use url::{keep_masked_url, mask_url};

use reference::{Piece, pieces};

/// What stands in the place of a value that is not shown.
pub const MASK: &str = "***";

/// Words before a credential that are none themselves.
const SCHEMES: [&str; 3] = ["Bearer", "Basic", "Token"];

/// A header's or a variable's value: references are shown, also after a word such as `Bearer`; anything else is not.
pub fn mask_value(value: &str) -> String {
    let (scheme, rest) = split_scheme(value).unwrap_or(("", value));
    match only_references(rest) {
        Some(shown) => format!("{scheme}{shown}"),
        None => MASK.to_owned(),
    }
}

/// The value to store when `new` was sent for what is `old` so far: whoever sends back what they were shown means to
/// keep it.
pub fn keep_masked(new: &str, old: Option<&str>) -> String {
    match old {
        Some(old) if new == MASK || new == mask_value(old) => old.to_owned(),
        Some(_) | None => new.to_owned(),
    }
}

/// Whether a text still holds something masked. To store that would lose the value in silence, so whoever keeps what
/// was sent back refuses what holds a mask after that.
pub fn holds_mask(text: &str) -> bool {
    text.contains(MASK)
}

/// `Bearer ` and what follows it, the space going with the word.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let end = text.find(char::is_whitespace)?;
    let is_scheme = SCHEMES.iter().any(|scheme| text[..end].eq_ignore_ascii_case(scheme));
    let rest = text[end..].trim_start();
    is_scheme.then(|| text.split_at(text.len() - rest.len()))
}

/// The text as it may be shown, if there is nothing in it but references and space. A default is as secret as the
/// value that it stands in for.
fn only_references(text: &str) -> Option<String> {
    let shown = |piece| match piece {
        Piece::Reference(reference) => Some(reference.with_masked_default()),
        Piece::Literal(literal) => literal.trim().is_empty().then(|| literal.to_owned()),
    };
    pieces(text).into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(value: &str, expected: &str) {
        assert_eq!(mask_value(value), expected, "{value}");
    }

    #[test]
    fn references_are_shown_also_after_the_word_for_a_scheme() {
        for shown in [
            "",
            "${TOKEN}",
            "$TOKEN",
            "Bearer ${TOKEN}",
            "bearer $T",
            "Basic ${A}",
            "Token  ${lower_2}",
            "${A}$B ${C}",
        ] {
            check(shown, shown);
        }
        check("${env:TOKEN}", "${env:TOKEN}");
    }

    #[test]
    fn anything_else_is_not_shown() {
        for hidden in [
            "hunter2",
            "Bearer hunter2",
            "Bearer",
            "Digest ${TOKEN}",
            "${TOKEN}x",
            "x $TOKEN",
            "$lower",
            "$$TOKEN",
            "$${TOKEN}",
            "${not a name}",
            "${hunter2",
            "${}",
            "$",
            "***",
        ] {
            check(hidden, MASK);
        }
    }

    #[test]
    fn a_default_is_hidden_where_its_name_is_not() {
        check("${TOKEN:-hunter2}", "${TOKEN:-***}");
        check("Bearer ${TOKEN:-}", "Bearer ${TOKEN:-}");
    }

    #[test]
    fn what_was_shown_and_is_sent_back_keeps_the_value() {
        assert_eq!(keep_masked("***", Some("hunter2")), "hunter2");
        assert_eq!(keep_masked("${T:-***}", Some("${T:-hunter2}")), "${T:-hunter2}");
        assert_eq!(keep_masked("new", Some("hunter2")), "new");
        assert_eq!(keep_masked("", Some("hunter2")), "");
        assert!(holds_mask(&keep_masked("***", None)));
        assert!(holds_mask(&keep_masked("${U:-***}", Some("${T:-hunter2}"))));
    }

    proptest! {
        #[test]
        fn a_value_always_survives_being_shown_and_sent_back(value in "[${}:A-Za-z_ -]{0,30}") {
            prop_assert_eq!(keep_masked(&mask_value(&value), Some(&value)), value);
        }

        #[test]
        fn no_letter_of_a_value_without_references_is_shown(value in "[^$]{1,30}") {
            let shown = mask_value(&value);
            prop_assert!(shown == MASK || value.trim().is_empty() || split_scheme(&value).is_some(), "{}", shown);
        }
    }
}
