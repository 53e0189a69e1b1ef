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
