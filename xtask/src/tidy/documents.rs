//! Generated documents must be what the program would write today.

use super::Violation;
use crate::docs::GENERATED;
use std::fs;
use std::path::Path;

pub(super) fn check(root: &Path) -> Vec<Violation> {
    let stale = |path: &str, text: &str| fs::read_to_string(root.join(path)).ok().as_deref() != Some(text);
    let of = |path: &str| Violation {
        path: path.to_owned(),
        line: 1,
        rule: "stale-document",
        advice: "run `cargo xtask docs` and commit what it writes".to_owned(),
    };
    GENERATED.iter().filter(|document| stale(document.path, &(document.text)())).map(|d| of(d.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xtask_docs_wrote_is_fresh_until_it_is_touched_or_lost() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(check(root.path()).len(), GENERATED.len());
        crate::docs::write(root.path()).unwrap();
        assert_eq!(check(root.path()), []);
        let first = GENERATED[0].path;
        fs::write(root.path().join(first), "by hand").unwrap();
        assert_eq!(
            check(root.path())[0].to_string(),
            format!("{first}:1: stale-document: run `cargo xtask docs` and commit what it writes")
        );
    }
}
