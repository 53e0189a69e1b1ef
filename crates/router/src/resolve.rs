//! Which tool or prompt a name means, judged on one snapshot: pure.

use portolan_catalog::{Entry, Snapshot, View};
use portolan_model::{Kind, ServerName, ToolName, name};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error("Unknown {}: {name}", .kind.noun())]
    Unknown { kind: Kind, name: String },
    #[error("{} name {name} is ambiguous: say which of {}", heading(*.kind), .candidates.join(", "))]
    Ambiguous { kind: Kind, name: String, candidates: Vec<String> },
    /// The name belongs to a server that offers nothing right now; only its state can say why.
    #[error("server {server} offers no {}s right now", .kind.noun())]
    Absent { kind: Kind, server: ServerName, name: String },
}

/// A kind at the beginning of a sentence.
const fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Tools => "Tool",
        Kind::Prompts => "Prompt",
        Kind::Resources => "Resource",
        Kind::Templates => "Resource template",
    }
}

impl Unresolved {
    pub fn unknown(kind: Kind, name: &str) -> Self {
        Self::Unknown { kind, name: name.to_owned() }
    }
}

/// Takes every style on every call, whatever the client was shown: `server.tool`, `server:tool`, the safe name, and
/// the bare name where exactly one server has it. In the view of one server its own names come first.
pub fn resolve_tool(snapshot: &Snapshot, view: &View, name: &str) -> Result<ToolName, Unresolved> {
    resolve(&Names { snapshot, view, kind: Kind::Tools }, name)
}

/// The same for prompts, which are named like tools and apart from them.
pub fn resolve_prompt(snapshot: &Snapshot, view: &View, name: &str) -> Result<ToolName, Unresolved> {
    resolve(&Names { snapshot, view, kind: Kind::Prompts }, name)
}

/// The names of one kind at one moment, as far as a client sees them.
struct Names<'s> {
    snapshot: &'s Snapshot,
    view: &'s View,
    kind: Kind,
}

fn resolve(names: &Names<'_>, name: &str) -> Result<ToolName, Unresolved> {
    match names.view.alone() {
        None => names.among_all(name),
        Some(server) => names.of_one(server, name),
    }
}

impl Names<'_> {
    fn among_all(&self, name: &str) -> Result<ToolName, Unresolved> {
        let servers = self.snapshot.servers();
        let mut absent = None;
        if let Some((server, own)) = name::split(name)
            && let Some(entry) = servers.get(&server)
            && self.view.has(self.kind, &server, own)
        {
            if entry.has(self.kind, own) {
                return Ok(ToolName { server, tool: own.to_owned() });
            }
            if entry.offer().is_none() {
                absent = Some(self.absent(server, own));
            }
        }
        let is_seen = |found: &&ToolName| self.view.has(self.kind, &found.server, &found.tool);
        if let Some(found) = self.snapshot.by_safe_name(self.kind, name).filter(is_seen) {
            return Ok(found.clone());
        }
        // Portolan's own tools carry no prefix, and nobody else's tool is meant by their names.
        if self.kind == Kind::Tools && name::BUILT_IN.contains(&name) {
            return Err(self.unknown(name));
        }
        let owners = self.owners(name);
        match owners[..] {
            [] => {
                Err(absent.or_else(|| self.absent_by_safe_name(name)).unwrap_or_else(|| self.unknown(name)))
            }
            [server] => Ok(ToolName { server: server.clone(), tool: name.to_owned() }),
            _ => Err(Unresolved::Ambiguous {
                kind: self.kind,
                name: name.to_owned(),
                candidates: owners.iter().map(|server| name::join(server, name, '.')).collect(),
            }),
        }
    }

    /// The servers that have something of this name. What only some clients are shown is meant where nobody else has it.
    fn owners(&self, name: &str) -> Vec<&ServerName> {
        let having = |is_so: &dyn Fn(&Entry) -> bool| -> Vec<&ServerName> {
            let those = self.snapshot.servers().iter().filter(|(_, entry)| is_so(entry));
            those.map(|(server, _)| server).filter(|server| self.view.has(self.kind, server, name)).collect()
        };
        let of_all = having(&|entry| entry.has_for_all(self.kind, name));
        if of_all.is_empty() { having(&|entry| entry.has(self.kind, name)) } else { of_all }
    }

    fn of_one(&self, server: &ServerName, name: &str) -> Result<ToolName, Unresolved> {
        let Some(entry) = self.snapshot.servers().get(server) else { return Err(self.unknown(name)) };
        if entry.offer().is_none() {
            return Err(self.absent(server.clone(), name));
        }
        let own = |tool: &str| ToolName { server: server.clone(), tool: tool.to_owned() };
        if entry.has(self.kind, name) {
            return Ok(own(name));
        }
        if let Some((prefix, rest)) = name::split(name)
            && prefix == *server
            && entry.has(self.kind, rest)
        {
            return Ok(own(rest));
        }
        match self.snapshot.by_safe_name(self.kind, name) {
            Some(found) if found.server == *server => Ok(found.clone()),
            _ => Err(self.unknown(name)),
        }
    }

    /// A safe name whose server offers nothing right now: the longest server name that it starts with.
    fn absent_by_safe_name(&self, name: &str) -> Option<Unresolved> {
        let fits = |server: &&ServerName| {
            name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"))
        };
        let seen = self.snapshot.servers().iter().filter(|(server, _)| self.view.has_server(server));
        let absent = seen.filter(|(_, entry)| entry.offer().is_none());
        let server =
            absent.map(|(server, _)| server).filter(fits).max_by_key(|server| server.as_str().len())?;
        Some(self.absent(server.clone(), &name[server.as_str().len() + 2..]))
    }

    fn absent(&self, server: ServerName, name: &str) -> Unresolved {
        Unresolved::Absent { kind: self.kind, server, name: name.to_owned() }
    }

    fn unknown(&self, name: &str) -> Unresolved {
        Unresolved::unknown(self.kind, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_catalog::{Catalog, Filing};
    use portolan_model::{Item, Kinds, Offer, Tool};
    use serde_json::value::RawValue;
    use std::sync::Arc;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    /// Servers that have the same names for their tools and their prompts.
    fn catalog(servers: &[(&str, &[&str])]) -> Catalog {
        let catalog = Catalog::default();
        let definition = RawValue::from_string(r#"{"inputSchema":{"type":"object"}}"#.into()).unwrap();
        for (name, names) in servers {
            let tool = |name: &&str| Arc::new(Tool { name: (*name).into(), definition: definition.clone() });
            let prompt = |name: &&str| Arc::new(Item { key: (*name).into(), definition: definition.clone() });
            let tools = names.iter().map(tool).collect();
            let prompts = names.iter().map(prompt).collect();
            let offer = Offer { tools, prompts, ..Offer::default() };
            catalog.file(Filing::Offered { server: server(name), offer, announced: Kinds::NONE });
        }
        catalog
    }

    type Resolve = fn(&Snapshot, &View, &str) -> Result<ToolName, Unresolved>;

    fn found(catalog: &Catalog, view: &View, name: &str, resolve: Resolve) -> String {
        match resolve(&catalog.snapshot(), view, name) {
            Ok(found) => format!("{}/{}", found.server, found.tool),
            Err(Unresolved::Unknown { .. }) => "unknown".to_owned(),
            Err(Unresolved::Ambiguous { candidates, .. }) => candidates.join("|"),
            Err(Unresolved::Absent { server, name, .. }) => format!("absent {server}/{name}"),
        }
    }

    /// Tools and prompts go by the same rules.
    #[track_caller]
    fn check(catalog: &Catalog, view: &View, name: &str, expected: &str) {
        assert_eq!(found(catalog, view, name, resolve_tool), expected, "{name}");
        assert_eq!(found(catalog, view, name, resolve_prompt), expected, "{name}");
    }

    #[test]
    fn br_005_br_009_every_style_reaches_the_right_server() {
        let catalog = catalog(&[
            ("a", &["read", "x.y", "only", "search_tools"]),
            ("b", &["read", "x_y"]),
            ("gone", &[]),
        ]);
        catalog.file(Filing::Withdrawn { server: server("gone") });
        let all = View::All;
        for name in ["a.read", "a:read", "a__read"] {
            check(&catalog, &all, name, "a/read");
        }
        check(&catalog, &all, "a.x.y", "a/x.y");
        check(&catalog, &all, "a__x_y", "a/x.y");
        check(&catalog, &all, "only", "a/only");
        assert_eq!(found(&catalog, &all, "search_tools", resolve_tool), "unknown");
        assert_eq!(found(&catalog, &all, "search_tools", resolve_prompt), "a/search_tools");
        check(&catalog, &all, "a.search_tools", "a/search_tools");
        check(&catalog, &all, "read", "a.read|b.read");
        check(&catalog, &all, "a.nothing", "unknown");
        check(&catalog, &all, "nothing", "unknown");
        check(&catalog, &all, "gone.tool", "absent gone/tool");
        check(&catalog, &all, "gone__tool", "absent gone/tool");
    }

    #[test]
    fn what_only_some_are_shown_is_found_by_every_name_and_takes_none_from_the_others() {
        let catalog = catalog(&[("a", &["read"]), ("b", &["write"])]);
        let definition = RawValue::from_string(r#"{"inputSchema":{"type":"object"}}"#.into()).unwrap();
        let names = ["read", "write", "ask"];
        let tools = names.map(|name| Arc::new(Tool { name: name.into(), definition: definition.clone() }));
        let prompts = names.map(|name| Arc::new(Item { key: name.into(), definition: definition.clone() }));
        let offer = Offer { tools: tools.to_vec(), prompts: prompts.to_vec(), ..Offer::default() };
        let abilities = portolan_wire::Abilities::parse(r#"{"elicitation":{}}"#);
        catalog.file(Filing::Seen { server: server("a"), abilities, offer });
        for name in ["a.ask", "a:ask", "a__ask", "ask"] {
            check(&catalog, &View::All, name, "a/ask");
            check(&catalog, &View::Server(server("a")), name, "a/ask");
        }
        check(&catalog, &View::All, "write", "b/write");
        check(&catalog, &View::All, "a.write", "a/write");
        check(&catalog, &View::All, "b.ask", "unknown");
    }

    #[test]
    fn one_server_by_itself_answers_to_its_own_names_and_to_no_other_servers() {
        let catalog = catalog(&[("a", &["read", "a.read"]), ("b", &["write"])]);
        let view = View::Server(server("a"));
        check(&catalog, &view, "read", "a/read");
        check(&catalog, &view, "a.read", "a/a.read");
        check(&catalog, &view, "a:read", "a/read");
        check(&catalog, &view, "b.write", "unknown");
        check(&catalog, &view, "write", "unknown");
    }

    #[test]
    fn a_tool_is_no_prompt_and_what_is_missing_is_called_by_its_kind() {
        let prompt = Arc::new(Item { key: "p".into(), definition: RawValue::NULL.to_owned() });
        let catalog = Catalog::default();
        let offer = Offer { prompts: vec![prompt], ..Offer::default() };
        catalog.file(Filing::Offered { server: server("a"), offer, announced: Kinds::NONE });
        catalog.file(Filing::Offered {
            server: server("b"),
            offer: Offer::default(),
            announced: Kinds::NONE,
        });
        for name in ["a.p", "a__p", "p"] {
            assert_eq!(found(&catalog, &View::All, name, resolve_prompt), "a/p");
            let error = resolve_tool(&catalog.snapshot(), &View::All, name).unwrap_err();
            assert_eq!(error.to_string(), format!("Unknown tool: {name}"));
        }
        let error = resolve_prompt(&catalog.snapshot(), &View::All, "b.p").unwrap_err();
        assert_eq!(error.to_string(), "Unknown prompt: b.p");
        catalog.file(Filing::Withdrawn { server: server("b") });
        let error = resolve_prompt(&catalog.snapshot(), &View::All, "b.p").unwrap_err();
        assert_eq!(error.to_string(), "server b offers no prompts right now");
    }
}
