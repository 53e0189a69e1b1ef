//! JSON for people: the same text, spread over lines. No number and no order of keys changes on the way.

use super::screen::is_steering;
use std::fmt::Write as _;

const INDENT: &str = "  ";

/// Spreads one JSON text over lines.
pub(crate) fn pretty(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0;
    let mut rest = text.trim_ascii();
    while let Some(c) = rest.chars().next() {
        let token = if c == '"' { &rest[..end_of_text(rest)] } else { &rest[..c.len_utf8()] };
        rest = rest[token.len()..].trim_ascii_start();
        let is_empty = rest.starts_with(['}', ']']);
        match c {
            // What is empty stays on one line.
            '{' | '[' if is_empty => out.push(c),
            '{' | '[' => {
                depth += 1;
                out.push(c);
                new_line(&mut out, depth);
            }
            '}' | ']' if out.ends_with(['{', '[']) => out.push(c),
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(INDENT, depth));
}

/// Where the text that `json` starts with ends, its closing quote included.
fn end_of_text(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

/// The same JSON without a character that could steer a terminal; line breaks between its parts stay.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_steering(c) && c != '\n' {
            // Writing to a String cannot fail. All such characters lie below U+10000.
            write!(out, "\\u{:04x}", u32::from(c)).unwrap_or_default();
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = pretty(text);
        assert_eq!(shown, expected, "\n{shown}");
    }

    #[test]
    fn json_is_spread_over_lines_and_nothing_else_changes() {
        check(
            r#"{"b":1.0,"a":[1,{"c":"x, {y}: \"z\""},[],{}]}"#,
            "{\n  \"b\": 1.0,\n  \"a\": [\n    1,\n    {\n      \"c\": \"x, {y}: \\\"z\\\"\"\n    },\n    [],\n    {}\n  ]\n}",
        );
        check("[ ]", "[]");
        check(" 18446744073709551616 ", "18446744073709551616");
        check("\"\\\\\"", "\"\\\\\"");
    }

    #[test]
    fn what_could_steer_a_terminal_is_written_as_an_escape() {
        assert_eq!(escaped("{\n\"a\u{9b}\u{202e}\"}"), "{\n\"a\\u009b\\u202e\"}");
    }
}
