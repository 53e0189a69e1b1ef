//! Which tool a name means, judged on one snapshot: pure.

use portolan_catalog::{Snapshot, View};
use portolan_model::{ServerName, ToolName, name};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error("Unknown tool: {name}")]
    Unknown { name: String },
    #[error("Tool name {name} is ambiguous: say which of {}", .candidates.join(", "))]
    Ambiguous { name: String, candidates: Vec<String> },
    /// The name belongs to a server that offers nothing right now; only its state can say why.
    #[error("server {server} offers no tools right now")]
    Absent { server: ServerName, tool: String },
}

/// Takes every style on every call, whatever the client was shown: `server.tool`, `server:tool`, the safe name, and
/// the bare name where exactly one server has it. In the view of one server its own names come first.
pub fn resolve(snapshot: &Snapshot, view: &View, name: &str) -> Result<ToolName, Unresolved> {
    if let View::Server(server) = view {
        return resolve_in(snapshot, server, name);
    }
    let mut absent = None;
    if let Some((server, tool)) = name::split(name)
        && let Some(entry) = snapshot.servers().get(&server)
    {
        if entry.has_tool(tool) {
            return Ok(ToolName { server, tool: tool.to_owned() });
        }
        if entry.offer().is_none() {
            absent = Some(Unresolved::Absent { server, tool: tool.to_owned() });
        }
    }
    if let Some(tool) = snapshot.by_safe_name(name) {
        return Ok(tool.clone());
    }
    // Portolan's own tools carry no prefix, and nobody else's tool is meant by their names.
    if name::BUILT_IN.contains(&name) {
        return Err(unknown(name));
    }
    let owners: Vec<&ServerName> = snapshot
        .servers()
        .iter()
        .filter(|(_, entry)| entry.has_tool(name))
        .map(|(server, _)| server)
        .collect();
    match owners[..] {
        [] => Err(absent.or_else(|| absent_by_safe_name(snapshot, name)).unwrap_or_else(|| unknown(name))),
        [server] => Ok(ToolName { server: server.clone(), tool: name.to_owned() }),
        _ => Err(Unresolved::Ambiguous {
            name: name.to_owned(),
            candidates: owners.iter().map(|server| name::join(server, name, '.')).collect(),
        }),
    }
}

fn resolve_in(snapshot: &Snapshot, server: &ServerName, name: &str) -> Result<ToolName, Unresolved> {
    let Some(entry) = snapshot.servers().get(server) else { return Err(unknown(name)) };
    if entry.offer().is_none() {
        return Err(Unresolved::Absent { server: server.clone(), tool: name.to_owned() });
    }
    let own = |tool: &str| ToolName { server: server.clone(), tool: tool.to_owned() };
    if entry.has_tool(name) {
        return Ok(own(name));
    }
    if let Some((prefix, tool)) = name::split(name)
        && prefix == *server
        && entry.has_tool(tool)
    {
        return Ok(own(tool));
    }
    match snapshot.by_safe_name(name) {
        Some(tool) if tool.server == *server => Ok(tool.clone()),
        _ => Err(unknown(name)),
    }
}

/// A safe name whose server offers nothing right now: the longest server name that it starts with.
fn absent_by_safe_name(snapshot: &Snapshot, name: &str) -> Option<Unresolved> {
    let fits =
        |server: &&ServerName| name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with("__"));
    let absent =
        snapshot.servers().iter().filter(|(_, entry)| entry.offer().is_none()).map(|(server, _)| server);
    let server = absent.filter(fits).max_by_key(|server| server.as_str().len())?;
    let tool = name[server.as_str().len() + 2..].to_owned();
    Some(Unresolved::Absent { server: server.clone(), tool })
}

fn unknown(name: &str) -> Unresolved {
    Unresolved::Unknown { name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_catalog::{Catalog, Filing};
    use portolan_model::{Offer, Tool};
    use serde_json::value::RawValue;
    use std::sync::Arc;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    fn catalog(servers: &[(&str, &[&str])]) -> Catalog {
        let catalog = Catalog::default();
        for (name, tools) in servers {
            let definition = RawValue::from_string(r#"{"inputSchema":{"type":"object"}}"#.into()).unwrap();
            let tools = tools
                .iter()
                .map(|t| Arc::new(Tool { name: (*t).into(), definition: definition.clone() }))
                .collect();
            catalog
                .file(Filing::Offered { server: server(name), offer: Offer { tools, ..Offer::default() } });
        }
        catalog
    }

    #[track_caller]
    fn check(catalog: &Catalog, view: &View, name: &str, expected: &str) {
        let got = match resolve(&catalog.snapshot(), view, name) {
            Ok(tool) => format!("{}/{}", tool.server, tool.tool),
            Err(Unresolved::Unknown { .. }) => "unknown".to_owned(),
            Err(Unresolved::Ambiguous { candidates, .. }) => candidates.join("|"),
            Err(Unresolved::Absent { server, tool }) => format!("absent {server}/{tool}"),
        };
        assert_eq!(got, expected, "{name}");
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
        check(&catalog, &all, "search_tools", "unknown");
        check(&catalog, &all, "a.search_tools", "a/search_tools");
        check(&catalog, &all, "read", "a.read|b.read");
        check(&catalog, &all, "a.nothing", "unknown");
        check(&catalog, &all, "nothing", "unknown");
        check(&catalog, &all, "gone.tool", "absent gone/tool");
        check(&catalog, &all, "gone__tool", "absent gone/tool");
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
}
