//! The name of a tool or a prompt in the styles that clients are shown, and back.

use crate::fingerprint::fingerprint;
use crate::server::ServerName;
use std::collections::{HashMap, HashSet};
use std::str::FromStr;

/// Names of Portolan's own tools. A server's tool never takes one of these over.
pub const BUILT_IN: [&str; 4] =
    ["search_tools", "call_tool", "mcp__proxy__aggregator__query", "query_mcp_connector"];

/// What model APIs take at most in a tool's name.
const SAFE_LEN: usize = 64;

/// What a client calls: a tool, or a prompt, which is named like one. Split at the *first* separator: a server's name
/// cannot hold one, a tool's can.
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
pub fn safe_names<'a>(tools: impl Iterator<Item = (&'a ServerName, &'a str)>) -> Vec<String> {
    let tools: Vec<Wish<'_>> = tools.map(|(server, tool)| Wish::new(server, tool)).collect();
    let mut claims: HashMap<&str, Claims> = HashMap::new();
    for wish in &tools {
        let claim = claims.entry(&wish.plain).or_default();
        claim.all += 1;
        claim.exact += usize::from(wish.is_exact);
    }
    let mut names: Vec<Option<String>> =
        tools.iter().map(|wish| wish.wins(claims[wish.plain.as_str()]).then(|| wish.plain.clone())).collect();
    // A longer hash steps aside for names that are taken or wished for; the longest cannot be made to collide.
    for digits in [8, 12, 16, 40] {
        let open: Vec<usize> = (0..names.len()).filter(|&at| names[at].is_none()).collect();
        let hashed: Vec<String> = open.iter().map(|&at| tools[at].hashed(digits)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in &hashed {
            *counts.entry(name).or_default() += 1;
        }
        let taken: HashSet<String> = names.iter().flatten().cloned().collect();
        for (at, name) in open.into_iter().zip(&hashed) {
            if counts[name.as_str()] == 1 && !claims.contains_key(name.as_str()) && !taken.contains(name) {
                names[at] = Some(name.clone());
            }
        }
    }
    tools.iter().zip(names).map(|(wish, name)| name.unwrap_or_else(|| wish.hashed(40))).collect()
}

/// The `safe` name of something that only some clients are shown. It follows from itself and from the names that everybody
/// is shown, and from nothing else: what others are shown beside it changes no name.
pub fn safe_name_beside(server: &ServerName, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let wish = Wish::new(server, tool);
    // A plain name that splits back into its parts is nobody else's.
    let is_own = wish.is_exact && wish.plain.split_once("__") == Some((server.as_str(), tool));
    let is_fit = wish.wins(Claims { all: 1, exact: 1 }) && !is_taken(&wish.plain);
    if is_own && is_fit {
        return wish.plain;
    }
    let hashed = [8, 12, 16].into_iter().map(|digits| wish.hashed(digits)).find(|name| !is_taken(name));
    hashed.unwrap_or_else(|| wish.hashed(40))
}

/// How many tools would have a plain name, and how many of them without a character replaced.
#[derive(Default, Clone, Copy)]
struct Claims {
    all: usize,
    exact: usize,
}

struct Wish<'a> {
    server: &'a ServerName,
    tool: &'a str,
    /// `server__tool` with every other character replaced.
    plain: String,
    is_exact: bool,
}

impl<'a> Wish<'a> {
    fn new(server: &'a ServerName, tool: &'a str) -> Self {
        let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let replaced: String = tool.chars().map(|c| if is_fine(c) { c } else { '_' }).collect();
        Self { server, tool, plain: format!("{server}__{replaced}"), is_exact: tool.chars().all(is_fine) }
    }

    /// Whether it may have its plain name: nobody else wants it, or it alone wants it without a change.
    fn wins(&self, claims: Claims) -> bool {
        self.plain.len() <= SAFE_LEN
            && !BUILT_IN.contains(&self.plain.as_str())
            && (claims.all == 1 || (self.is_exact && claims.exact == 1))
    }

    /// Cut short and ended with a hash of the tool's identity.
    fn hashed(&self, digits: usize) -> String {
        let hash = fingerprint([self.server.as_str().as_bytes(), self.tool.as_bytes()]);
        let keep = self.plain.len().min(SAFE_LEN - 1 - digits);
        format!("{}_{}", &self.plain[..keep], &hash[..digits])
    }
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
        assert_eq!(
            safe(&[("github", "create_issue"), ("fs", "read.file")]),
            ["github__create_issue", "fs__read_file"]
        );
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
    fn a_name_that_only_some_are_shown_steps_aside_for_those_that_all_are() {
        let beside = |name: &str, tool: &str, taken: &[&str]| {
            safe_name_beside(&server(name), tool, |one| taken.contains(&one))
        };
        assert_eq!(beside("fs", "read_file", &[]), "fs__read_file");
        let hashed = beside("fs", "read_file", &["fs__read_file"]);
        assert!(hashed.starts_with("fs__read_file_") && hashed.len() == 22, "{hashed}");
        let longer = beside("fs", "read_file", &["fs__read_file", &hashed]);
        assert!(longer.starts_with(&hashed) && longer.len() == 26, "{longer}");
        // Whatever could be another's plain name too has a hash from the start.
        for (name, tool) in
            [("fs", "read.file"), ("a_", "b"), ("a__b", "c"), ("mcp", "proxy__aggregator__query")]
        {
            assert_ne!(beside(name, tool, &[]), Wish::new(&server(name), tool).plain, "{name} {tool}");
        }
        assert_eq!(beside("a", &"x".repeat(300), &[]).len(), 64);
    }

    #[test]
    fn long_names_are_cut_to_64_and_stay_distinct() {
        let long = "x".repeat(300);
        let names = safe(&[("a", &long), ("a", &format!("{long}y"))]);
        assert!(names.iter().all(|n| n.len() == 64));
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn tools_that_were_made_to_collide_in_a_short_hash_still_differ() {
        // The reproducer of a collision in an earlier, weaker hash.
        let names = safe(&[("a", "..:,...;;"), ("a", "..,.,,,.;")]);
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
