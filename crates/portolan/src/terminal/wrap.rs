//! Texts in lines of a width, and no more of them than somebody wants to read.

use super::table::cut;
use unicode_width::UnicodeWidthStr as _;

/// The first of these lines, none wider than `width` and at most `most` of them; blank ones are left out, and a mark stands
/// where something is missing.
pub(crate) fn wrapped<'t>(
    lines: impl IntoIterator<Item = &'t str>,
    width: usize,
    most: usize,
) -> Vec<String> {
    let mut wrapped = Vec::new();
    for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
        let room = (most + 1).saturating_sub(wrapped.len());
        fold(line.trim_end(), width, room, &mut wrapped);
    }
    if wrapped.len() > most {
        wrapped.truncate(most);
        if let Some(last) = wrapped.last_mut() {
            *last = format!("{} …", cut(last, width.saturating_sub(2)).trim_end_matches('…').trim_end());
        }
    }
    wrapped
}

/// Breaks one line between its words into at most `room` of them; a word that is too wide is cut.
fn fold(line: &str, width: usize, room: usize, out: &mut Vec<String>) {
    let indent = &line[..line.len() - line.trim_start().len()];
    let mut current = String::new();
    let mut taken = 0;
    for word in line.split_whitespace() {
        if taken == room {
            return;
        }
        let lead = if current.is_empty() { indent } else { " " };
        if !current.is_empty() && current.width() + 1 + word.width() > width {
            out.push(std::mem::take(&mut current));
            taken += 1;
            current.push_str(indent);
        } else {
            current.push_str(lead);
        }
        current.push_str(&cut(word, width.saturating_sub(indent.width())));
    }
    if taken < room {
        out.push(current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, most: usize, expected: &[&str]) {
        let found = wrapped(text.lines(), width, most);
        assert_eq!(found, expected);
        assert!(found.iter().all(|line| line.width() <= width), "{found:?}");
    }

    #[test]
    fn lines_are_broken_between_words_and_blank_ones_left_out() {
        check("one two three\n\n  four five", 9, 9, &["one two", "three", "  four", "  five"]);
        check("exactly nine", 12, 1, &["exactly nine"]);
        check("", 9, 9, &[]);
    }

    #[test]
    fn what_is_missing_has_a_mark() {
        check("a\nb\nc", 9, 2, &["a", "b …"]);
        check("one two three four", 9, 1, &["one two …"]);
        check("a-word-that-is-too-wide", 9, 2, &["a-word-t…"]);
        check("12345678 12345678", 8, 1, &["12345 …"]);
        check("大阪大阪大阪", 5, 1, &["大阪…"]);
    }
}
