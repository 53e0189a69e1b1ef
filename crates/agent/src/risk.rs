//! Whether a tool may destroy something: what its server marks, and where it marks nothing, what its name plainly says.

use serde::Deserialize;

/// What calling a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Risk {
    /// The server says that it changes nothing.
    ReadOnly,
    /// The server says nothing, and the name nothing bad.
    Unmarked,
    /// The server says that it changes something, and not that it destroys.
    Changing,
    /// Called only if the caller or a person allows it.
    Destructive(Sign),
}

/// What a tool is taken to be destructive by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Marked,
    Name,
}

impl Sign {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Marked => "its server marks it as destructive",
            Self::Name => "its name says so, and its server does not say otherwise",
        }
    }
}

/// What a server says of a tool. Every hint may be absent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Hints {
    pub(crate) read_only_hint: Option<bool>,
    pub(crate) destructive_hint: Option<bool>,
}

/// Words that no tool has in its name which leaves things as they were.
const DESTROYING: &[&str] = &[
    "delete",
    "remove",
    "drop",
    "destroy",
    "erase",
    "purge",
    "truncate",
    "wipe",
    "kill",
    "terminate",
    "uninstall",
    "revoke",
    "unlink",
    "rm",
    "rmdir",
    "overwrite",
    "prune",
    "discard",
    "shutdown",
    "exec",
    "eval",
    "shell",
];
/// A tool that runs whatever it is given is as destructive as what it is given.
const RUNNING: &[&str] = &["run", "execute", "write"];
const GIVEN: &[&str] =
    &["command", "commands", "code", "script", "sql", "query", "statement", "statements", "bash"];

impl Risk {
    /// MCP would have every tool count as destructive that says nothing, which would leave agents of most servers without
    /// hands. So what is marked counts, and where nothing is marked, the name.
    pub(crate) fn of(name: &str, hints: Hints) -> Self {
        match (hints.read_only_hint, hints.destructive_hint) {
            (Some(true), _) => Self::ReadOnly,
            (_, Some(true)) => Self::Destructive(Sign::Marked),
            (Some(false) | None, None) if is_destroying(name) => Self::Destructive(Sign::Name),
            (Some(false), Some(false) | None) | (None, Some(false)) => Self::Changing,
            (None, None) => Self::Unmarked,
        }
    }
}

fn is_destroying(name: &str) -> bool {
    let words = words(name);
    let has = |some: &[&str]| words.iter().any(|word| some.contains(&word.as_str()));
    has(DESTROYING) || (has(RUNNING) && has(GIVEN))
}

/// The words of an identifier in lower case: `deleteFile`, `delete_file` and `HTTPDelete` each have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = name.chars().collect();
    for (at, c) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(at + 1);
        let is_hump = c.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || after.is_some_and(|c| c.is_lowercase()));
        if (is_hump || !c.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, read_only_hint: Option<bool>, destructive_hint: Option<bool>, expected: Risk) {
        assert_eq!(Risk::of(name, Hints { read_only_hint, destructive_hint }), expected, "{name}");
    }

    #[test]
    fn what_a_server_marks_counts_before_the_name() {
        check("write_file", Some(false), Some(true), Risk::Destructive(Sign::Marked));
        check("write_file", None, Some(true), Risk::Destructive(Sign::Marked));
        check("delete_draft", None, Some(false), Risk::Changing);
        check("list_deleted", Some(true), None, Risk::ReadOnly);
        check("odd", Some(true), Some(true), Risk::ReadOnly);
        check("create_issue", Some(false), None, Risk::Changing);
    }

    #[test]
    fn where_nothing_is_marked_the_name_counts() {
        let plain = Risk::Destructive(Sign::Name);
        let destroying = [
            "delete_repo",
            "deleteRepo",
            "DROP-table",
            "fs.rm",
            "removeAllItems",
            "run_command",
            "executeSQL",
            "write_query",
            "shell",
            "HTTPDelete",
            "kill",
        ];
        for name in destroying {
            check(name, None, None, plain);
            check(name, Some(false), None, plain);
        }
        for name in [
            "read_query",
            "create_issue",
            "list_items",
            "dropdown_values",
            "undeleted",
            "run_tests",
            "",
            "ÄÖ",
        ] {
            check(name, None, None, Risk::Unmarked);
        }
    }
}
