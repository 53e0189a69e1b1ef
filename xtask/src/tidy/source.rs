//! What holds for every Rust file: its length, its first line, and words that do not stay.

use super::Violation;
use super::files::File;

/// About 400 is the goal; past this a file tells two stories.
const MAX_LINES: usize = 500;

/// Stands within the first lines of a file that is one long table, or generated, and may be as long as it is.
const TABLE_MARK: &str = "// tidy: table";
const TABLE_MARK_WITHIN: usize = 5;

/// What may stand in nobody's commit, and what to do instead. Spelled in two parts, so that this file passes.
const BANNED: [(&str, &str); 6] = [
    (concat!("FIX", "ME"), "mend it, or open an issue and say here what holds today"),
    (concat!("XX", "X"), "mend it, or open an issue and say here what holds today"),
    (concat!("todo", "!"), "write it, or leave the variant out"),
    (concat!("unimplemented", "!"), "write it, or leave the variant out"),
    (concat!("dbg", "!"), "log it with tracing, or take it out"),
    (concat!("#[", "ignore"), "a test that does not run proves nothing: mend it or take it out"),
];

pub(super) fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    if file.path.ends_with("/mod.rs") {
        violations.push(file.violation(1, "mod-rs", "name it foo.rs, beside the folder foo/"));
    }
    if !file.text.starts_with("//! ") {
        violations.push(file.violation(
            1,
            "first-line",
            "open with one `//!` sentence: what this file is for",
        ));
    }
    let is_table = file.text.lines().take(TABLE_MARK_WITHIN).any(|line| line.starts_with(TABLE_MARK));
    let lines = file.text.lines().count();
    if lines > MAX_LINES && !is_table {
        let advice =
            format!("{lines} lines: split it by what it talks about (400 is the goal, {MAX_LINES} the end)");
        violations.push(file.violation(MAX_LINES + 1, "file-length", advice));
    }
    for (at, line) in file.text.lines().enumerate() {
        for (word, advice) in BANNED {
            if holds_word(line, word) {
                violations.push(file.violation(at + 1, "banned-word", format!("`{word}`: {advice}")));
            }
        }
    }
    violations
}

/// Whether `word` stands in `line` by itself, not as a part of a longer one.
fn holds_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rules(path: &str, text: &str, expected: &[(usize, &str)]) {
        let found = check(&File { path: path.to_owned(), text: text.to_owned() });
        let found: Vec<(usize, &str)> =
            found.iter().map(|violation| (violation.line, violation.rule)).collect();
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_file_opens_with_a_sentence_and_is_no_mod_rs() {
        check_rules("a/b.rs", "//! What b is for.\n", &[]);
        check_rules("a/b.rs", "// no\n", &[(1, "first-line")]);
        check_rules("a/b.rs", "//!\n", &[(1, "first-line")]);
        check_rules("a/mod.rs", "//! What a is for.\n", &[(1, "mod-rs")]);
    }

    #[test]
    fn a_file_ends_at_500_lines_unless_it_is_a_table() {
        let long = |first: &str, lines: usize| format!("//! Long.\n{first}\n{}", "x\n".repeat(lines - 2));
        check_rules("a.rs", &long("", 500), &[]);
        check_rules("a.rs", &long("", 501), &[(501, "file-length")]);
        check_rules("a.rs", &long("// tidy: table", 2000), &[]);
    }

    #[test]
    fn banned_words_are_found_by_themselves_and_not_in_others() {
        for (word, _) in BANNED {
            check_rules("a.rs", &format!("//! A.\n    {word} later\n"), &[(2, "banned-word")]);
            check_rules("a.rs", &format!("//! A.\nlet my_{}s_ = 1;\n", word.trim_start_matches("#[")), &[]);
        }
    }
}
