//! The tools of a query: what a model is shown of them, under names that every provider takes, and the way back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use portolan_llm::ToolSpec;
use portolan_model::{Tool, fingerprint};
use portolan_search::{Doc, DocKey, Index, Query, Shard};
use portolan_wire::json::Members;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::risk::{Hints, Risk};
use crate::shorten::beginning;

/// What providers take at most in a name, and in a description.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1000;
/// What a model is shown at most: providers refuse more than 128 tools, and models choose badly long before.
const MOST_SHOWN: usize = 64;
const MOST_BYTES: usize = 128 * 1024;
/// What a schema may have; a larger one is replaced by one that takes anything.
const LARGEST_SCHEMA: usize = 32 * 1024;

/// Everything that may be called in one query.
#[derive(Debug)]
pub(crate) struct Toolbox {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

/// One tool, ready to be shown and called.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<Tool>,
    /// The name that the model knows it by.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Box<RawValue>,
    pub(crate) risk: Risk,
}

/// What a model is shown, and how many tools it is not.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) left_out: usize,
}

impl Toolbox {
    /// Of two tools of one name the last one holds.
    pub(crate) fn new(tools: Vec<Arc<Tool>>) -> Self {
        let mut latest: HashMap<Box<str>, usize> = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            latest.insert(tool.name.clone(), at);
        }
        let is_latest = |at: usize, tool: &Tool| latest.get(&tool.name) == Some(&at);
        let kept = tools.into_iter().enumerate().filter(|(at, tool)| is_latest(*at, tool));
        let tools: Vec<Arc<Tool>> = kept.map(|(_, tool)| tool).collect();
        let names = safe_names(&tools);
        let entries: Vec<Entry> =
            tools.into_iter().zip(names).map(|(tool, name)| Entry::new(tool, name)).collect();
        let by_name = entries.iter().enumerate().map(|(at, entry)| (entry.name.clone(), at)).collect();
        Self { entries, by_name }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// By the name that the model was shown; some remember a tool's own name from its description.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        match self.by_name.get(name) {
            Some(at) => self.entries.get(*at),
            None => self.entries.iter().find(|entry| &*entry.tool.name == name),
        }
    }

    /// All tools in their order, or where that is too many, those that fit the query best.
    pub(crate) fn shown(&self, query: &str) -> Shown {
        let bytes: usize = self.entries.iter().map(Entry::bytes).sum();
        let fitting = if self.len() <= MOST_SHOWN && bytes <= MOST_BYTES {
            (0..self.len()).collect()
        } else {
            self.best(query)
        };
        let tools: Vec<ToolSpec> = fitting.iter().map(|at| self.entries[*at].spec()).collect();
        Shown { left_out: self.len() - tools.len(), tools }
    }

    /// The best for the query first chosen, then put back into the server's own order.
    fn best(&self, query: &str) -> Vec<usize> {
        let docs: Vec<Doc> =
            (0_u64..).zip(&self.entries).map(|(key, entry)| entry.doc(DocKey(key))).collect();
        let index = Index::build([Shard::new("server".into(), "", &docs)]);
        let asked = Query { text: query, clauses: &[], vectors: None, limit: MOST_SHOWN, only: None };
        let hits = index.search(&asked).into_iter().filter_map(|hit| usize::try_from(hit.key.0).ok());
        let mut seen = HashSet::new();
        let ranked = hits.chain(0..self.len()).filter(|at| seen.insert(*at));
        let mut bytes = 0;
        let mut chosen: Vec<usize> = Vec::new();
        for at in ranked.take(MOST_SHOWN) {
            bytes += self.entries[at].bytes();
            if bytes > MOST_BYTES {
                break;
            }
            chosen.push(at);
        }
        chosen.sort_unstable();
        chosen
    }
}

impl Entry {
    fn new(tool: Arc<Tool>, name: String) -> Self {
        let members = Members::parse(tool.definition.get()).unwrap_or_default();
        let text = |key: &str| members.get(key).and_then(|json| serde_json::from_str::<String>(json).ok());
        let described = text("description").or_else(|| text("title")).unwrap_or_default();
        let description = beginning(described.trim(), LONGEST_DESCRIPTION).into_owned();
        let schema = members.get("inputSchema").filter(|json| json.len() <= LARGEST_SCHEMA);
        let schema = schema.filter(|json| json.starts_with('{')).unwrap_or(r#"{"type":"object"}"#);
        let schema = RawValue::from_string(schema.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        // Hints that cannot be read are none.
        let hints = members.get("annotations").and_then(|json| serde_json::from_str::<Hints>(json).ok());
        let risk = Risk::of(&tool.name, hints.unwrap_or_default());
        Self { tool, name, description, schema, risk }
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.get().len()
    }

    fn spec(&self) -> ToolSpec {
        let description = if self.description.is_empty() {
            // Some providers refuse a tool without one.
            format!("The tool {}.", self.tool.name)
        } else {
            self.description.clone()
        };
        ToolSpec { name: self.name.clone(), description, parameters: self.schema.clone() }
    }

    fn doc(&self, key: DocKey) -> Doc {
        let schema: Value = serde_json::from_str(self.schema.get()).unwrap_or_default();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let argument = |(name, about): (&String, &Value)| {
            (name.clone(), about["description"].as_str().unwrap_or_default().to_owned())
        };
        Doc {
            key,
            name: self.tool.name.to_string(),
            title: None,
            description: self.description.clone(),
            arguments: properties.map(argument).collect(),
        }
    }
}

/// Names within `[A-Za-z0-9_-]{1,64}`, each once, in the order of the tools and depending only on the set of them. A name
/// that fits as it is stays; one that is too long, or that another one becomes as well, ends in a hash.
fn safe_names(tools: &[Arc<Tool>]) -> Vec<String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain = |name: &str| name.chars().map(|c| if is_fine(c) { c } else { '_' }).collect::<String>();
    let plains: Vec<String> = tools.iter().map(|tool| plain(&tool.name)).collect();
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for name in &plains {
        *wanted.entry(name).or_default() += 1;
    }
    let named = |tool: &Arc<Tool>, name: &String| {
        let is_wanted_once = wanted[name.as_str()] == 1;
        let is_exact = *name == *tool.name;
        if (1..=LONGEST_NAME).contains(&name.len()) && (is_wanted_once || is_exact) {
            return name.clone();
        }
        let hash = fingerprint([tool.name.as_bytes()]);
        let hashed = |digits: usize| {
            let kept = name.len().min(LONGEST_NAME - 1 - digits);
            format!("{}_{}", &name[..kept], &hash[..digits])
        };
        // A longer hash steps aside for a name that somebody wants; the longest cannot be made to collide.
        [8, 16, 32]
            .into_iter()
            .map(hashed)
            .find(|name| !wanted.contains_key(name.as_str()))
            .unwrap_or_else(|| hashed(48))
    };
    tools.iter().zip(&plains).map(|(tool, name)| named(tool, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    fn tool(name: &str, rest: &Value) -> Arc<Tool> {
        Arc::new(Tool { name: name.into(), definition: to_raw_value(rest).unwrap() })
    }

    fn bare(names: &[&str]) -> Toolbox {
        Toolbox::new(names.iter().map(|name| tool(name, &json!({}))).collect())
    }

    #[track_caller]
    fn check_names(tools: &[&str], expected: &[&str]) {
        let toolbox = bare(tools);
        let names: Vec<&str> = toolbox.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, expected);
        for (tool, name) in tools.iter().zip(names) {
            assert_eq!(&*toolbox.find(name).unwrap().tool.name, *tool);
        }
    }

    #[test]
    fn f43_names_are_made_safe_and_lead_back() {
        check_names(&["create_issue", "a.b", "日本"], &["create_issue", "a_b", "__"]);
        check_names(&["a.b", "a_b", "a:b"], &["a_b_b3dcef57", "a_b", "a_b_cfc849f6"]);
        check_names(&[""], &["_6e340b9c"]);
    }

    #[test]
    fn f42_of_two_tools_of_one_name_the_last_holds() {
        let two = [tool("a", &json!({ "description": "old" })), tool("a", &json!({ "description": "new" }))];
        let toolbox = Toolbox::new(two.to_vec());
        assert_eq!((toolbox.len(), toolbox.entries[0].description.as_str()), (1, "new"));
    }

    #[test]
    fn f44_a_definition_that_cannot_be_read_takes_anything() {
        for odd in [json!(1), json!({ "inputSchema": null, "annotations": 1 }), json!({ "inputSchema": [] })]
        {
            let toolbox = Toolbox::new(vec![tool("odd", &odd)]);
            let shown = toolbox.shown("q").tools.remove(0);
            assert_eq!(
                (shown.parameters.get(), shown.description.as_str()),
                (r#"{"type":"object"}"#, "The tool odd.")
            );
            assert_eq!(toolbox.entries[0].risk, Risk::Unmarked);
        }
    }

    #[test]
    fn of_too_many_tools_those_that_fit_the_query_are_shown() {
        let filler = (0..200).map(|n| tool(&format!("other_{n}"), &json!({ "description": "Does things." })));
        let wanted = tool("find_invoice", &json!({ "description": "Finds an invoice by its number." }));
        let toolbox = Toolbox::new(filler.chain([wanted]).collect());
        let shown = toolbox.shown("which invoice has number 7");
        assert_eq!((shown.tools.len(), shown.left_out), (MOST_SHOWN, 201 - MOST_SHOWN));
        assert_eq!(shown.tools.last().unwrap().name, "find_invoice");
        // What is not shown can be called all the same.
        assert!(toolbox.find("other_199").is_some());
    }

    #[test]
    fn schemas_beyond_all_measure_do_not_crowd_out_the_rest() {
        let wide = |name: String| tool(&name, &json!({ "inputSchema": { "x": "y".repeat(30_000) } }));
        let toolbox = Toolbox::new((0..20).map(|n| wide(format!("t{n}"))).collect());
        let shown = toolbox.shown("t");
        let bytes: usize = shown.tools.iter().map(|tool| tool.parameters.get().len()).sum();
        assert!(bytes <= MOST_BYTES && !shown.tools.is_empty());
    }

    proptest! {
        #[test]
        fn f43_whatever_the_names_are_no_two_become_one(names in prop::collection::hash_set("[a-c._é]{0,3}|x{60,70}", 0..30)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let toolbox = bare(&names);
            prop_assert_eq!(toolbox.by_name.len(), names.len());
            for entry in &toolbox.entries {
                prop_assert!((1..=64).contains(&entry.name.len()), "{}", entry.name);
                prop_assert!(entry.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
            }
        }
    }
}
