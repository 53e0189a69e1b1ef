//! A part of everything that is offered, under a name of its own, and how it is shown.

use crate::ToolFilter;
use crate::name::{self, NameStyle};
use crate::pattern::matches;
use crate::server::ServerName;

/// How tools are shown to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exposure {
    /// Every tool with its definition.
    #[default]
    All,
    /// Only the tools that find and call the others, so that a model's context stays small.
    Search,
    /// Only the tools that ask servers in plain words: the agent of one, or many at once.
    Agents,
}

impl Exposure {
    pub const ALL: [Self; 3] = [Self::All, Self::Search, Self::Agents];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Search => "search",
            Self::Agents => "agents",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|exposure| exposure.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

/// What somebody is meant to work with. Its name is made like a server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub name: ServerName,
    /// Patterns of the servers; none means all of them.
    pub servers: Vec<String>,
    /// Patterns of the tools in the style `server.tool`.
    pub tools: ToolFilter,
    pub exposure: Exposure,
    /// The style of the names, where the client is not to decide.
    pub names: Option<NameStyle>,
}

impl Profile {
    pub fn new(name: ServerName) -> Self {
        Self { name, servers: Vec::new(), tools: ToolFilter::default(), exposure: Exposure::All, names: None }
    }

    pub fn admits_server(&self, server: &ServerName) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|pattern| matches(pattern, server.as_str()))
    }

    pub fn admits_tool(&self, server: &ServerName, tool: &str) -> bool {
        self.admits_server(server)
            && (self.has_all_tools() || self.tools.admits(&name::join(server, tool, '.')))
    }

    /// Whether it has every tool of its servers.
    pub fn has_all_tools(&self) -> bool {
        self.tools == ToolFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    #[test]
    fn a_profile_without_patterns_has_everything() {
        let profile = Profile::new(server("p"));
        assert!(profile.admits_server(&server("a")) && profile.admits_tool(&server("a"), "x.y"));
    }

    #[test]
    fn servers_and_tools_are_chosen_by_patterns_and_deny_wins() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let tools = ToolFilter { allow: texts(&["git.*", "files.read*"]), deny: texts(&["*.push"]) };
        let profile = Profile { servers: texts(&["git", "file?"]), tools, ..Profile::new(server("p")) };
        for (name, tool, expected) in [
            ("git", "log", true),
            ("git", "push", false),
            ("files", "read_file", true),
            ("files", "write_file", false),
            ("github", "log", false),
        ] {
            assert_eq!(profile.admits_tool(&server(name), tool), expected, "{name}.{tool}");
        }
        assert!(!profile.admits_server(&server("github")));
    }

    #[test]
    fn exposures_are_read_in_any_case() {
        for exposure in Exposure::ALL {
            assert_eq!(Exposure::parse(&exposure.as_str().to_uppercase()), Some(exposure));
        }
        assert_eq!(Exposure::parse(" Agents"), Some(Exposure::Agents));
        assert_eq!(Exposure::parse("some"), None);
    }
}
