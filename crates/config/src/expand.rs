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
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let (part, length) = part(&rest[at..]);
        rest = &rest[at + length..];
        match part {
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
    expanded.push_str(rest);
    if missing.is_empty() { Ok(expanded) } else { Err(Missing(missing)) }
}

enum Part<'a> {
    Dollar,
    Variable { name: &'a str, default: Option<&'a str> },
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

    proptest! {
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
