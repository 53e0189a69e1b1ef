//! Which tools of a server are offered: allow and deny patterns with `*` and `?`.

use serde::Deserialize;

/// `deny` wins over `allow`; no `allow` means everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ToolFilter {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl ToolFilter {
    pub fn admits(&self, tool: &str) -> bool {
        let hit = |patterns: &[String]| patterns.iter().any(|p| matches(p, tool));
        !hit(&self.deny) && (self.allow.is_empty() || hit(&self.allow))
    }
}

/// `*` stands for any run of characters, `?` for one; everything else for itself.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when the text after the last star does not fit: one character further on.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The pattern that says most about a text: one without `*` and `?`, else the one with the most characters besides them.
pub fn best<'p>(patterns: impl IntoIterator<Item = &'p str>, text: &str) -> Option<&'p str> {
    let said = |pattern: &str| {
        let literal = pattern.chars().filter(|c| !matches!(c, '*' | '?')).count();
        (literal, literal == pattern.chars().count())
    };
    // The last rank is there for patterns that say as much as each other: it must not matter in which order they come.
    patterns
        .into_iter()
        .filter(|pattern| matches(pattern, text))
        .max_by_key(|pattern| (said(pattern), *pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
    }

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        check("*", "", true);
        check("read_*", "read_file", true);
        check("read_*", "unread_file", false);
        check("*_file", "read_text_file", true);
        check("*a*b*c", "xxaxxbxxbxc", true);
        check("get_?", "get_x", true);
        check("get_?", "get_xy", false);
        check("exact", "exact", true);
        check("", "x", false);
    }

    #[test]
    fn the_best_pattern_is_the_text_itself_else_the_one_that_says_most() {
        let patterns = ["git*", "git", "*", "web-?", "*hub", "gi*t"];
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(best(patterns, text), expected, "{text}");
            assert_eq!(best(patterns.into_iter().rev(), text), expected, "{text}");
        };
        check("git", Some("git"));
        check("gitlab", Some("git*"));
        check("github", Some("git*"));
        check("dockerhub", Some("*hub"));
        check("web-1", Some("web-?"));
        check("files", Some("*"));
        assert_eq!(best(["a*"], "b"), None);
    }

    #[test]
    fn deny_wins_over_allow_and_no_allow_means_all() {
        let filter = |allow: &[&str], deny: &[&str]| ToolFilter {
            allow: allow.iter().map(ToString::to_string).collect(),
            deny: deny.iter().map(ToString::to_string).collect(),
        };
        assert!(filter(&[], &[]).admits("x"));
        assert!(!filter(&[], &["x*"]).admits("xy"));
        assert!(!filter(&["x*"], &["xy"]).admits("xy"));
        assert!(!filter(&["x*"], &[]).admits("y"));
    }
}
