//! Results on their way between the era of handshakes and that of 2026-07-28.

use crate::json::{self, Members};
use crate::revision::Revision;
use std::borrow::Cow;

/// Members that only results of 2026-07-28 have.
const NEW: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Whether clients may keep a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It belongs to one call.
    Never,
    /// The revision wants a hint with it; a server that gave none has promised nothing.
    Hinted,
}

/// A result for a client of this revision, from a server of that one. Bytes pass as they are wherever they can.
pub fn result(result: &str, from: Revision, to: Revision, keeping: Keeping) -> Cow<'_, [u8]> {
    match (from.has_handshake(), to.has_handshake()) {
        (false, true) => without_new(result, to),
        (true, true) => crate::project::call_result(result, to),
        (false, false) if keeping == Keeping::Never => Cow::Borrowed(result.as_bytes()),
        (_, false) => with_new(result, keeping),
    }
}

fn without_new(result: &str, to: Revision) -> Cow<'_, [u8]> {
    let Ok(members) = Members::parse(result) else { return Cow::Borrowed(result.as_bytes()) };
    let is_kept = |key: &str, value: &str| {
        !NEW.contains(&key) && (key != "structuredContent" || to.has_free_output() || value.starts_with('{'))
    };
    if members.iter().all(|(key, value)| is_kept(key, value)) {
        return Cow::Borrowed(result.as_bytes());
    }
    let mut out = Vec::with_capacity(result.len());
    json::write_object(members.iter().filter(|(key, value)| is_kept(key, value)), &mut out);
    Cow::Owned(out)
}

fn with_new(result: &str, keeping: Keeping) -> Cow<'_, [u8]> {
    // A look at the bytes tells nearly always that nothing is there yet.
    let has = |key: &str| {
        memchr::memmem::find(result.as_bytes(), key.as_bytes()).is_some()
            && Members::parse(result).is_ok_and(|members| members.get(key).is_some())
    };
    let mut added = String::new();
    if !has("resultType") {
        added.push_str(r#""resultType":"complete","#);
    }
    if keeping == Keeping::Hinted {
        if !has("ttlMs") {
            added.push_str(r#""ttlMs":0,"#);
        }
        if !has("cacheScope") {
            added.push_str(r#""cacheScope":"private","#);
        }
    }
    let Some(rest) = result.trim_start().strip_prefix('{').filter(|_| !added.is_empty()) else {
        return Cow::Borrowed(result.as_bytes());
    };
    if rest.trim_start().starts_with('}') {
        added.pop();
    }
    Cow::Owned([b"{", added.as_bytes(), rest.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Revision::{V2025_06_18, V2025_11_25, V2026_07_28};

    #[track_caller]
    fn check(given: &str, from: Revision, to: Revision, expected: &str) {
        let keeping = if given.contains("contents") { Keeping::Hinted } else { Keeping::Never };
        assert_eq!(String::from_utf8_lossy(&result(given, from, to, keeping)), expected);
    }

    #[test]
    fn a_newer_client_is_told_that_a_result_is_complete() {
        check(
            r#"{"content":[ 1 ]}"#,
            V2025_11_25,
            V2026_07_28,
            r#"{"resultType":"complete","content":[ 1 ]}"#,
        );
        check("{}", V2025_11_25, V2026_07_28, r#"{"resultType":"complete"}"#);
        check(
            r#"{"contents":[]}"#,
            V2025_11_25,
            V2026_07_28,
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}"#,
        );
    }

    #[test]
    fn between_equals_bytes_pass() {
        for given in [r#"{"resultType":"complete", "x":1}"#, r#"{"resultType":"task","taskId":"1"}"#] {
            check(given, V2026_07_28, V2026_07_28, given);
        }
        check(r#"{"resultType": 3}"#, V2025_11_25, V2025_06_18, r#"{"resultType": 3}"#);
    }

    #[test]
    fn an_older_client_is_not_shown_what_is_new() {
        check(
            r#"{"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"public","x":1}"#,
            V2026_07_28,
            V2025_11_25,
            r#"{"contents":[],"x":1}"#,
        );
        check(
            r#"{"resultType":"complete","content":[],"structuredContent":[1]}"#,
            V2026_07_28,
            V2025_06_18,
            r#"{"content":[]}"#,
        );
    }
}
