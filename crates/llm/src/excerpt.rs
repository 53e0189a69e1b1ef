//! A few words of somebody else's text, fit for one line of an error or a log.

use portolan_model::{MASK, Secret};

/// Enough to recognise an answer by, too little to fill a log with.
const MAX_CHARS: usize = 400;

/// The beginning of `text` on one line, without control characters.
pub(crate) fn excerpt(text: &str) -> String {
    let mut words = String::new();
    for (at, c) in text.trim().chars().enumerate() {
        if at == MAX_CHARS {
            words.push('…');
            break;
        }
        words.push(if c.is_control() { ' ' } else { c });
    }
    words
}

/// The same without the key, which some servers repeat when they refuse it.
pub(crate) fn keyless_excerpt(text: &str, key: Option<&Secret>) -> String {
    match key.map(Secret::reveal).filter(|key| !key.is_empty()) {
        Some(key) => excerpt(&text.replace(key, MASK)),
        None => excerpt(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("  a\nb\u{1b}[31mc "), "a b [31mc");
        assert_eq!(excerpt(&"ä".repeat(500)).chars().count(), MAX_CHARS + 1);
        assert_eq!(excerpt(&"ä".repeat(MAX_CHARS)).chars().count(), MAX_CHARS);
    }

    #[test]
    fn t22_a_key_that_is_repeated_is_masked_before_anything_is_cut() {
        let key = Secret::new("sk-canary");
        let long = format!("{} sk-canary", "x".repeat(MAX_CHARS - 4));
        assert_eq!(keyless_excerpt("bad key sk-canary!", Some(&key)), "bad key ***!");
        assert!(!keyless_excerpt(&long, Some(&key)).contains("sk-"));
        assert_eq!(keyless_excerpt("abc", Some(&Secret::new(""))), "abc");
    }
}
