//! `$VAR`, `${VAR}`, `${VAR:-default}` and `$$` in a text become what they stand for.

/// The variables that a text needs and nobody set, in the order of their first use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Missing environment variables: {}", .0.join(", "))]
pub struct Missing(pub Vec<String>);

/// One pass from left to right: a value is put in as it is and never expanded itself, so a `$` in a password
/// does no harm. Whatever is no reference (a lone `$`, `$lower`, an unclosed `${`, `${}`) stays as written.
pub fn expand(template: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Missing> {
    let mut expanded = String::with_capacity(template.len());
    let mut missing: Vec<String> = Vec::new();
    for part in parts(template) {
        match part {
            Part::Plain(text) => expanded.push_str(text),
            Part::Dollar => expanded.push('$'),
            Part::Variable { name, default } => {
                let value = lookup(name).filter(|value| default.is_none() || !value.is_empty());
                match value.or_else(|| default.map(str::to_owned)) {
                    Some(value) => expanded.push_str(&value),
                    None if missing.iter().any(|known| known == name) => {}
                    None => missing.push(name.to_owned()),
                }
            }
        }
    }
    if missing.is_empty() { Ok(expanded) } else { Err(Missing(missing)) }
}

/// A name that texts refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) name: &'a str,
    pub(crate) has_default: bool,
}

/// Every name that the text refers to, in the order of the text, as often as it does.
pub(crate) fn references_in(text: &str) -> impl Iterator<Item = Reference<'_>> {
    parts(text).filter_map(|part| match part {
        Part::Variable { name, default } => Some(Reference { name, has_default: default.is_some() }),
        Part::Plain(_) | Part::Dollar => None,
    })
}

enum Part<'a> {
    Plain(&'a str),
    Dollar,
    Variable { name: &'a str, default: Option<&'a str> },
}

fn parts(mut rest: &str) -> impl Iterator<Item = Part<'_>> {
    std::iter::from_fn(move || {
        let (next, length) = match rest.find('$') {
            None if rest.is_empty() => return None,
            None => (Part::Plain(rest), rest.len()),
            Some(0) => part(rest),
            Some(at) => (Part::Plain(&rest[..at]), at),
        };
        rest = &rest[length..];
        Some(next)
    })
}

/// What begins at the `$` that `text` starts with, and how many bytes of it that takes.
fn part(text: &str) -> (Part<'_>, usize) {
    let after = &text[1..];
    if after.starts_with('$') {
        return (Part::Dollar, 2);
    }
    if let Some(body) = after.strip_prefix('{') {
        let Some(end) = body.find('}') else { return (Part::Dollar, 1) };
        let (name, default) = match body[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&body[..end], None),
        };
        let length = "${}".len() + end;
        return if name.is_empty() { (Part::Dollar, 1) } else { (Part::Variable { name, default }, length) };
    }
    let is_start = |b: u8| b.is_ascii_uppercase() || b == b'_';
    let length = after.bytes().take_while(|&b| is_start(b) || b.is_ascii_digit()).count();
    let name = &after[..length];
    if name.bytes().next().is_some_and(is_start) {
        (Part::Variable { name, default: None }, 1 + length)
    } else {
        (Part::Dollar, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lookup(name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/ada",
            "EMPTY" => "",
            "TRICKY" => "$HOME and ${HOME}",
            "lower" => "found",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        assert_eq!(expand(template, &lookup).as_deref(), Ok(expected), "{template}");
    }

    #[track_caller]
    fn check_missing(template: &str, expected: &[&str]) {
        let names = expected.iter().map(ToString::to_string).collect();
        assert_eq!(expand(template, &lookup), Err(Missing(names)), "{template}");
    }

    #[test]
    fn variables_are_replaced_in_both_forms() {
        check("$HOME", "/home/ada");
        check("${HOME}", "/home/ada");
        check("a${HOME}b$HOME/c", "a/home/adab/home/ada/c");
        check("${lower}", "found");
        check("[$EMPTY]", "[]");
        check("é$HOME→", "é/home/ada→");
    }

    #[test]
    fn a_default_stands_in_for_what_is_unset_or_empty() {
        check("${NONE:-x}", "x");
        check("${EMPTY:-x}", "x");
        check("${HOME:-x}", "/home/ada");
        check("${NONE:-}", "");
        check("${NONE:-$HOME:-{}", "$HOME:-{");
    }

    #[test]
    fn two_dollars_are_one_and_hide_what_follows() {
        check("$$", "$");
        check("$$HOME", "$HOME");
        check("$${HOME}", "${HOME}");
        check("$$$HOME", "$/home/ada");
    }

    #[test]
    fn what_is_no_reference_stays_as_it_is() {
        for text in ["$", "a$", "$lower", "$1", "$ HOME", "${HOME", "${}", "${:-x}", "{HOME}", "cost: 5$."] {
            check(text, text);
        }
        check("${ $HOME", "${ /home/ada");
    }

    #[test]
    fn a_value_is_never_expanded_again() {
        check("$TRICKY", "$HOME and ${HOME}");
        check("${NONE:-$HOME}", "$HOME");
    }

    #[test]
    fn all_missing_variables_are_named_once_each() {
        check_missing("$A ${B} $HOME $A", &["A", "B"]);
        check_missing("${not a name}", &["not a name"]);
    }

    #[test]
    fn references_are_what_expansion_would_look_up() {
        let names: Vec<(&str, bool)> =
            references_in("$A-${b:-$C}$$D ${A} $e ${").map(|found| (found.name, found.has_default)).collect();
        assert_eq!(names, [("A", false), ("b", true), ("A", false)]);
    }

    proptest! {
        #[test]
        fn every_reference_is_looked_up_and_nothing_else(text in "[${}:A-C_a -]{0,40}") {
            let looked_up = std::cell::RefCell::new(Vec::new());
            let _ = expand(&text, &|name| {
                looked_up.borrow_mut().push(name.to_owned());
                None
            });
            let named: Vec<String> = references_in(&text).map(|found| found.name.to_owned()).collect();
            prop_assert_eq!(looked_up.into_inner(), named);
        }

        /// The mask has a stricter notion of a name, and must have no other notion of where one is.
        #[test]
        fn a_value_that_is_shown_unmasked_is_made_of_references_alone(text in "[${}:A-C_a -]{0,20}") {
            if portolan_model::mask_value(&text) == text {
                let expanded = expand(&text, &|_| Some(String::new()));
                prop_assert!(expanded.is_ok_and(|expanded| expanded.trim().is_empty()), "{}", text);
            }
        }

        #[test]
        fn text_without_a_dollar_is_unchanged(text in "[^$]*") {
            prop_assert_eq!(expand(&text, &lookup), Ok(text));
        }

        #[test]
        fn nothing_makes_it_panic(text in "[${}:A-C_a\u{e9}-]{0,40}") {
            let _ = expand(&text, &lookup);
        }

        #[test]
        fn every_text_survives_with_its_dollars_doubled(text in "[${}:A-Z_a-z -]{0,40}") {
            prop_assert_eq!(expand(&text.replace('$', "$$"), &lookup), Ok(text));
        }
    }
}
