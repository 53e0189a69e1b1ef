//! The public sets: tools with their servers, and queries with the tools that they need.

use anyhow::{Context, Result};
use portolan_search::{Doc, DocKey, Shard, passage, server_passage};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The sets with queries; one more has real tools alone and is what they are hidden in.
pub(crate) const SETS: [&str; 3] = ["stabletoolbench", "sealtools", "metatool"];
pub(crate) const HAYSTACK: &str = "toucan_mcp_corpus";

#[derive(Deserialize)]
struct Tool {
    id: String,
    server: String,
    #[serde(default)]
    server_description: Option<String>,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, rename = "inputSchema")]
    input_schema: Value,
}

#[derive(Deserialize)]
struct Asked {
    query: String,
    gold: Vec<Vec<String>>,
}

/// One query with the tools that it needs, each as those that would do.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) needs: Vec<Vec<DocKey>>,
}

/// A server with its tools, and what is embedded of them.
pub(crate) struct Server {
    pub(crate) name: Arc<str>,
    pub(crate) about: String,
    pub(crate) docs: Vec<Doc>,
}

impl Server {
    pub(crate) fn shard(&self) -> Shard {
        Shard::new(Arc::clone(&self.name), &self.about, &self.docs)
    }

    pub(crate) fn passage(&self) -> String {
        server_passage(&self.name, &self.about)
    }

    pub(crate) fn passages(&self) -> Vec<String> {
        self.docs.iter().map(passage).collect()
    }
}

pub(crate) struct Set {
    pub(crate) servers: Vec<Server>,
    pub(crate) questions: Vec<Question>,
}

/// Reads a set; its tools are numbered from `first` on.
pub(crate) fn read(folder: &Path, first: u64) -> Result<Set> {
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    let mut keys: HashMap<String, DocKey> = HashMap::new();
    for (number, tool) in (first..).zip(lines::<Tool>(&folder.join("tools.jsonl"))?) {
        let key = DocKey(number);
        keys.entry(tool.id.clone()).or_insert(key);
        let server = servers.entry(tool.server.clone()).or_insert_with(|| Server {
            name: tool.server.as_str().into(),
            about: tool.server_description.clone().unwrap_or_default(),
            docs: Vec::new(),
        });
        server.docs.push(doc(key, tool));
    }
    let asked = folder.join("queries.jsonl");
    let asked = if asked.exists() { lines::<Asked>(&asked)? } else { Vec::new() };
    let mut questions = Vec::with_capacity(asked.len());
    for Asked { query, gold } in asked {
        let known = |id: &String| keys.get(id).copied().with_context(|| format!("no tool is called {id}"));
        let needs = gold.iter().map(|ids| ids.iter().map(known).collect()).collect::<Result<_>>()?;
        questions.push(Question { text: query, needs });
    }
    Ok(Set { servers: servers.into_values().collect(), questions })
}

fn doc(key: DocKey, tool: Tool) -> Doc {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let argument = |(name, about): (&String, &Value)| {
        let about = about.get("description").and_then(Value::as_str).unwrap_or_default();
        (name.clone(), about.to_owned())
    };
    let arguments = properties.into_iter().flatten().map(argument).collect();
    Doc { key, name: tool.name, title: None, description: tool.description.unwrap_or_default(), arguments }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let parse = |(at, line)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), at + 1))
    };
    text.lines().enumerate().map(parse).collect()
}
