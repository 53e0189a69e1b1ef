//! A tool's name in the styles that clients are shown, and back.

use crate::server::ServerName;
use std::collections::HashMap;
use std::hash::Hasher;
use std::str::FromStr;

/// Names of Portolan's own tools. A server's tool never takes one of these over.
pub const BUILT_IN: [&str; 4] =
    ["search_tools", "call_tool", "mcp__proxy__aggregator__query", "query_mcp_connector"];

/// What model APIs take at most in a tool's name.
const SAFE_LEN: usize = 64;

/// What a client calls. Split at the *first* separator: a server's name cannot hold one, a tool's can.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName {
    pub server: ServerName,
    pub tool: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameStyle {
    /// `github.create_issue`
    Dot,
    /// `github:create_issue`
    Colon,
    /// `github__create_issue`, within `^[A-Za-z0-9_-]{1,64}$`
    Safe,
    /// `create_issue`, where a single server is shown by itself
    Bare,
}

impl FromStr for NameStyle {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "dot" => Ok(Self::Dot),
            "colon" => Ok(Self::Colon),
            "safe" => Ok(Self::Safe),
            "bare" => Ok(Self::Bare),
            _ => Err(()),
        }
    }
}

/// The parts before and after the first dot or colon, if the first part can be a server's name.
pub fn split(full: &str) -> Option<(ServerName, &str)> {
    let at = full.find(['.', ':'])?;
    let server = ServerName::parse(&full[..at]).ok()?;
    Some((server, &full[at + 1..]))
}

/// The name of a tool in a style that needs no look at the other tools.
pub fn join(server: &ServerName, tool: &str, separator: char) -> String {
    let mut full = String::with_capacity(server.as_str().len() + 1 + tool.len());
    full.push_str(server.as_str());
    full.push(separator);
    full.push_str(tool);
    full
}

/// `safe` names for a whole catalog, in the order of `tools`. No two are the same, none is a built-in's, and each
/// depends only on the set of tools, never on their order.
pub fn safe_names<'a>(tools: impl Iterator<Item = (&'a ServerName, &'a str)> + Clone) -> Vec<String> {
    let mut wishes: HashMap<String, Wish> = HashMap::new();
    for (server, tool) in tools.clone() {
        let (plain, is_exact) = plain_safe(server, tool);
        let wish = wishes.entry(plain).or_default();
        wish.all += 1;
        wish.exact += usize::from(is_exact);
    }
    let wins = |plain: &str, is_exact: bool, wishes: &HashMap<String, Wish>| {
        let wish = wishes.get(plain).copied().unwrap_or_default();
        plain.len() <= SAFE_LEN
            && !BUILT_IN.contains(&plain)
            && (wish.all == 1 || (is_exact && wish.exact == 1))
    };
    tools
        .map(|(server, tool)| {
            let (plain, is_exact) = plain_safe(server, tool);
            if wins(&plain, is_exact, &wishes) { plain } else { hashed(server, tool, &plain, &wishes) }
        })
        .collect()
}

#[derive(Default, Clone, Copy)]
struct Wish {
    all: usize,
    exact: usize,
}

/// `server__tool` with every other character replaced, and whether nothing had to be.
fn plain_safe(server: &ServerName, tool: &str) -> (String, bool) {
    let mut is_exact = true;
    let mut plain = format!("{server}__");
    for c in tool.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            plain.push(c);
        } else {
            is_exact = false;
            plain.push('_');
        }
    }
    (plain, is_exact)
}

/// Cut short and ended with a hash of the tool's identity; longer hashes step aside for names that are taken.
fn hashed(server: &ServerName, tool: &str, plain: &str, wishes: &HashMap<String, Wish>) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(server.as_str().as_bytes());
    hasher.write_u8(0);
    hasher.write(tool.as_bytes());
    let hash = format!("{:016x}", hasher.finish());
    let with = |len: usize| {
        let keep = plain.len().min(SAFE_LEN - 1 - len);
        format!("{}_{}", &plain[..keep], &hash[..len])
    };
    let taken = |name: &String| wishes.contains_key(name);
    [8, 12, 16].into_iter().map(with).find(|name| !taken(name)).unwrap_or_else(|| with(16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    fn safe(tools: &[(&str, &str)]) -> Vec<String> {
        let servers: Vec<ServerName> = tools.iter().map(|(s, _)| server(s)).collect();
        safe_names(servers.iter().zip(tools).map(|(s, (_, t))| (s, *t)))
    }

    #[test]
    fn ec_002_only_the_first_separator_splits() {
        assert_eq!(split("github.repo.create"), Some((server("github"), "repo.create")));
        assert_eq!(split("github:repo.create"), Some((server("github"), "repo.create")));
        assert_eq!(split("github.a:b"), Some((server("github"), "a:b")));
        assert_eq!(split("plain"), None);
        assert_eq!(split("Not-A-Server.x"), None);
        assert_eq!(split("."), None);
    }

    #[test]
    fn safe_names_are_plain_where_they_can_be() {
        assert_eq!(safe(&[("github", "create_issue"), ("fs", "read.file")]), ["github__create_issue", "fs__read_file"]);
    }

    #[test]
    fn an_exact_name_keeps_its_place_and_the_replaced_one_gets_a_hash() {
        let names = safe(&[("fs", "read.file"), ("fs", "read_file")]);
        assert_eq!(names[1], "fs__read_file");
        assert!(names[0].starts_with("fs__read_file_") && names[0].len() == 22, "{}", names[0]);
    }

    #[test]
    fn servers_whose_names_run_into_their_tools_do_not_collide() {
        let names = safe(&[("a", "_b"), ("a_", "b")]);
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn a_built_in_name_is_never_taken() {
        let names = safe(&[("mcp", "proxy__aggregator__query")]);
        assert!(names[0].starts_with("mcp__proxy__aggregator__query_"), "{}", names[0]);
    }

    #[test]
    fn long_names_are_cut_to_64_and_stay_distinct() {
        let long = "x".repeat(300);
        let names = safe(&[("a", &long), ("a", &format!("{long}y"))]);
        assert!(names.iter().all(|n| n.len() == 64));
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn safe_names_are_unique_and_within_the_alphabet(
            tools in prop::collection::btree_set(("[a-c][a-c_]{0,3}", "[a-c_.: \u{e9}]{0,6}"), 1..40)
        ) {
            let list: Vec<(&str, &str)> = tools.iter().map(|(s, t)| (s.as_str(), t.as_str())).collect();
            let names = safe(&list);
            prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), list.len());
            for name in &names {
                prop_assert!(name.len() <= 64 && !name.is_empty());
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            }
        }

        #[test]
        fn join_and_split_are_inverse(name in "[a-z][a-z0-9_-]{0,20}", tool in "\\PC{0,40}", dot: bool) {
            let full = join(&server(&name), &tool, if dot { '.' } else { ':' });
            prop_assert_eq!(split(&full), Some((server(&name), tool.as_str())));
        }
    }
}
