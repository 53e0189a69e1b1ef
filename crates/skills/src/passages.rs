//! What the embedding model reads of a tool and of a server.

use portolan_store::{ServerRecord, ToolRecord};

/// Whoever searches embeds tools as well, and the same text is embedded once: so the text is given from outside.
pub trait Passages: Send + Sync {
    fn tool(&self, tool: &ToolRecord) -> String;

    /// `None` for one that says nothing of itself.
    fn server(&self, server: &ServerRecord) -> Option<String>;
}

/// The words of the name and the description, a person's own if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainPassages;

impl Passages for PlainPassages {
    fn tool(&self, tool: &ToolRecord) -> String {
        format!("{}: {}", words(&tool.name), description(tool))
    }

    fn server(&self, server: &ServerRecord) -> Option<String> {
        let about = server.description.as_deref()?;
        Some(format!("{}: {about}", words(server.name.as_str())))
    }
}

pub(crate) fn description(tool: &ToolRecord) -> &str {
    let curated = tool.curation.description.as_deref();
    curated.or(tool.description.as_deref()).unwrap_or_default()
}

/// `createIssue`, `create_issue` and `HTTPServer` as words.
pub(crate) fn words(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 8);
    let chars: Vec<char> = name.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            spaced.push(' ');
            continue;
        }
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1);
        let begins = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if begins {
            spaced.push(' ');
        }
        spaced.push(c);
    }
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        assert_eq!(words(name), expected);
    }

    #[test]
    fn a_name_becomes_words() {
        check("create_issue", "create issue");
        check("createIssue", "create Issue");
        check("HTTPServer2", "HTTP Server2");
        check("get-API__v2.list", "get API v2 list");
        check("", "");
    }
}
