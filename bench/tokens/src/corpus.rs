//! Real servers out of a crawl, whole, in sets of a given number of tools that contain each other.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

#[derive(Deserialize)]
struct Line {
    server: String,
    name: String,
    description: Option<String>,
    #[serde(rename = "inputSchema")]
    input_schema: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Server {
    /// What the crawl calls it.
    pub(crate) id: String,
    /// What it is called in the configuration.
    pub(crate) name: String,
    /// Its definitions, as it lists them.
    pub(crate) tools: Vec<Value>,
}

/// The servers of a crawl that it has the schemas of: without them a list would look cheaper than it is.
pub(crate) fn read(path: &Path) -> Result<Vec<Server>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("{} is not as it should be", path.display()))
}

fn parse(text: &str) -> Result<Vec<Server>> {
    let mut servers: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line).with_context(|| format!("line {}", at + 1))?;
        servers.entry(line.server.clone()).or_default().push(line);
    }
    let has_schemas = |lines: &[Line]| lines.iter().all(|line| line.input_schema.is_some());
    let whole = servers.into_iter().filter(|(_, lines)| has_schemas(lines));
    let server = |(id, lines): (String, Vec<Line>)| Server {
        name: String::new(),
        id,
        tools: lines.into_iter().map(definition).collect(),
    };
    Ok(whole.map(server).collect())
}

fn definition(line: Line) -> Value {
    let mut tool = json!({ "name": line.name, "inputSchema": line.input_schema });
    if let Some(description) = line.description {
        tool["description"] = json!(description);
    }
    tool
}

/// Servers in an order of which some first ones have exactly as many tools as each of `sizes` says (see [`first`]).
/// They are taken by the hashes of their ids, which spreads them over the crawl; one that is too large for what is left
/// of a set is passed over until a later set.
pub(crate) fn choose(mut servers: Vec<Server>, sizes: &[usize]) -> Result<Vec<Server>> {
    servers.sort_by_cached_key(|server| Sha256::digest(&server.id).to_vec());
    let mut chosen: Vec<Server> = Vec::new();
    let mut count = 0;
    for &size in sizes {
        let mut left = Vec::new();
        for server in servers {
            if count + server.tools.len() <= size {
                count += server.tools.len();
                chosen.push(server);
            } else {
                left.push(server);
            }
        }
        servers = left;
        ensure!(count == size, "no choice of whole servers has {size} tools; the nearest has {count}");
    }
    give_names(&mut chosen)?;
    Ok(chosen)
}

/// The first servers that have so many tools together.
pub(crate) fn first(chosen: &[Server], tools: usize) -> &[Server] {
    let mut count = 0;
    let is_in = |server: &&Server| {
        count += server.tools.len();
        count <= tools
    };
    &chosen[..chosen.iter().take_while(is_in).count()]
}

/// As people would name them: `0136.@pinkpixel-dev_mcpollinations` is `mcpollinations`, and a second one `mcpollinations-2`.
fn give_names(servers: &mut [Server]) -> Result<()> {
    let mut taken = HashSet::new();
    for server in servers {
        let plain = plain_name(&server.id);
        ensure!(!plain.is_empty(), "nothing in {:?} can be the name of a server", server.id);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
        server.name = free.unwrap_or_default();
        taken.insert(server.name.clone());
    }
    Ok(())
}

/// What is left of an id without its rank and its author, in the letters that a server's name may have.
fn plain_name(id: &str) -> String {
    let slug = id.split_once('.').map_or(id, |(_, slug)| slug);
    let own = slug.split_once('_').map_or(slug, |(_, own)| own);
    let usable = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let name: String = own.chars().map(usable).collect();
    name.trim_start_matches(|c: char| !c.is_ascii_lowercase()).trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(id: &str, tools: usize) -> Server {
        let tools = (0..tools).map(|n| json!({ "name": format!("t{n}") })).collect();
        Server { id: id.to_owned(), name: String::new(), tools }
    }

    fn ids(servers: &[Server]) -> Vec<&str> {
        servers.iter().map(|server| server.id.as_str()).collect()
    }

    fn some() -> Vec<Server> {
        (0..40).map(|n| server(&format!("{n:04}.@a_server{n}"), n % 7 + 1)).collect()
    }

    #[test]
    fn sets_have_the_very_number_of_tools_and_contain_each_other() {
        let chosen = choose(some(), &[5, 20, 80]).unwrap();
        for size in [5, 20, 80] {
            let count: usize = first(&chosen, size).iter().map(|server| server.tools.len()).sum();
            assert_eq!(count, size);
        }
        assert_eq!(ids(first(&chosen, 5)), ids(first(first(&chosen, 20), 5)));
        assert_eq!(ids(&chosen).into_iter().collect::<HashSet<_>>().len(), chosen.len());
    }

    #[test]
    fn the_choice_does_not_depend_on_the_order_of_the_file() {
        let backwards = some().into_iter().rev().collect();
        assert_eq!(choose(some(), &[5, 80]).unwrap(), choose(backwards, &[5, 80]).unwrap());
    }

    #[test]
    fn what_cannot_be_chosen_is_said() {
        let error = choose(vec![server("1.a_x", 3), server("2.a_y", 4)], &[5]).unwrap_err().to_string();
        assert!(error.starts_with("no choice of whole servers has 5 tools"), "{error}");
    }

    #[test]
    fn servers_without_schemas_are_left_out_whole() {
        let text = r#"{"server": "1.a_x", "name": "one", "description": "One.", "inputSchema": {"type": "object"}}
{"server": "2.a_y", "name": "two", "description": "Two.", "inputSchema": null}
{"server": "2.a_y", "name": "three", "description": "Three.", "inputSchema": {"type": "object"}}"#;
        let servers = parse(text).unwrap();
        assert_eq!(ids(&servers), ["1.a_x"]);
        let tool = json!({ "name": "one", "description": "One.", "inputSchema": { "type": "object" } });
        assert_eq!(servers[0].tools, [tool]);
    }

    #[track_caller]
    fn check_name(id: &str, expected: &str) {
        assert_eq!(plain_name(id), expected, "{id}");
    }

    #[test]
    fn servers_are_named_as_people_would_name_them() {
        check_name("0001.exa_exa-search", "exa-search");
        check_name("tf_0466.@AlexKissiJr_unrealmcp", "unrealmcp");
        check_name("0007.@GongRzhe_Office-Word-MCP-Server", "office-word-mcp-server");
        check_name("0099.@a_2_tools.for.x!", "tools-for-x");
        let mut twins = [server("1.@a_notes", 1), server("2.@b_notes", 1)];
        give_names(&mut twins).unwrap();
        assert_eq!(twins.map(|server| server.name), ["notes", "notes-2"]);
    }
}
