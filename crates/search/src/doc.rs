//! What is searched: a tool in words, and what an embedding model reads of it.

use crate::words::spaced;

/// The caller's number for a tool; nothing here looks into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocKey(pub u64);

/// One tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    pub key: DocKey,
    /// The tool's own name, without its server's.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// Names of arguments with their descriptions.
    pub arguments: Vec<(String, String)>,
}

/// What is embedded for a tool. Its hash is the key of the stored vector: another text here embeds every tool anew.
pub fn passage(doc: &Doc) -> String {
    let name = spaced(&doc.name);
    let title = doc.title.as_deref().map(spaced).filter(|title| !title.eq_ignore_ascii_case(&name));
    match title {
        Some(title) => format!("{name}, {title}: {}", doc.description),
        None => format!("{name}: {}", doc.description),
    }
}

/// What is embedded for a server: a server that is about the right thing lifts its tools.
pub fn server_passage(name: &str, about: &str) -> String {
    format!("{}: {about}", spaced(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, title: Option<&str>, expected: &str) {
        let doc = Doc {
            key: DocKey(1),
            name: name.to_owned(),
            title: title.map(str::to_owned),
            description: "Opens an issue.".to_owned(),
            arguments: vec![("repo".to_owned(), "Where to".to_owned())],
        };
        assert_eq!(passage(&doc), expected);
    }

    #[test]
    fn a_passage_has_the_words_of_the_name_and_a_title_that_says_more() {
        check("createIssue", None, "create Issue: Opens an issue.");
        check("create_issue", Some("Create Issue"), "create issue: Opens an issue.");
        check("create_issue", Some("New ticket"), "create issue, New ticket: Opens an issue.");
        assert_eq!(server_passage("my-github", "Code and issues"), "my github: Code and issues");
    }
}
