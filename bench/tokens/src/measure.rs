//! One set of tools: what a first request costs in each exposure, and what each task does.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;

use crate::conversation::{Conversation, Turn};
use crate::corpus::Server;
use crate::stage::{Exposure, Guest, Stage};
use crate::tasks::Task;
use crate::tokens::{Tokenizer, answer, call};

const SEARCH_TOOLS: &str = "search_tools";
const CALL_TOOL: &str = "call_tool";

/// What a set of tools came to.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) tools: usize,
    pub(crate) servers: usize,
    /// What the first request carries, in tokens.
    pub(crate) all: usize,
    pub(crate) search: usize,
    pub(crate) tried: Vec<Tried>,
}

/// A task, done in both exposures.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) task: Task,
    pub(crate) all: Conversation,
    pub(crate) search: Searched,
}

#[derive(Debug)]
pub(crate) enum Searched {
    /// The right tool stood at this place, counted from 1, among those that were shown, and was called.
    Found { place: usize, conversation: Conversation, structured: usize },
    /// These were shown, and it was not among them. What a model would do then is not known.
    Missed { shown: Vec<String> },
}

/// The servers of the set, what is asked of it, and with which gateway.
pub(crate) struct Plan<'a> {
    pub(crate) servers: &'a [Server],
    pub(crate) tasks: &'a [Task],
    pub(crate) gateway: Option<&'a Path>,
}

pub(crate) async fn measure(plan: &Plan<'_>, tokenizer: &Tokenizer) -> Result<Measured> {
    let stage = Stage::set(plan.servers, plan.gateway).await?;
    let (all, search) = (stage.connect(Exposure::All).await?, stage.connect(Exposure::Search).await?);
    let tools: usize = plan.servers.iter().map(|server| server.tools.len()).sum();
    ensure!(all.tools.len() == tools, "{} tools were listed, and not {tools}", all.tools.len());
    let bench = Bench { tokenizer, shown: (shown(&all, tokenizer), shown(&search, tokenizer)), all, search };
    let mut tried = Vec::new();
    for task in plan.tasks {
        // A task belongs to the sets that its tool is in.
        let Some(server) = plan.servers.iter().find(|server| server.id == task.server) else { continue };
        tried.push(bench.attempt(task, server).await.with_context(|| task.wish.clone())?);
    }
    let measured =
        Measured { tools, servers: plan.servers.len(), all: bench.shown.0, search: bench.shown.1, tried };
    drop(bench);
    stage.strike().await;
    Ok(measured)
}

/// What a model reads before anybody has said a word: the tools, and what a client is told of them.
fn shown(guest: &Guest, tokenizer: &Tokenizer) -> usize {
    tokenizer.count(&guest.instructions) + tokenizer.count_tools(&guest.tools)
}

struct Bench<'a> {
    tokenizer: &'a Tokenizer,
    /// What the first request carries in `all` and in `search`.
    shown: (usize, usize),
    all: Guest,
    search: Guest,
}

impl Bench<'_> {
    async fn attempt(&self, task: &Task, server: &Server) -> Result<Tried> {
        let name = listed_name(&self.all.tools, task, server)?;
        let turn = self.turn(&self.all, name, &task.arguments).await?.0;
        let all = Conversation { shown: self.shown.0, turns: vec![turn] };
        Ok(Tried { task: task.clone(), all, search: self.find_and_call(task, server).await? })
    }

    async fn find_and_call(&self, task: &Task, server: &Server) -> Result<Searched> {
        let (finding, found) = self.turn(&self.search, SEARCH_TOOLS, &json!({ "query": task.wish })).await?;
        let structured = &found["structuredContent"];
        ensure!(structured.get("words_only").is_none(), "words alone have decided: {structured}");
        let right = format!("{}.{}", server.name, task.tool);
        let names = names(structured);
        let Some(at) = names.iter().position(|name| *name == right) else {
            return Ok(Searched::Missed { shown: names });
        };
        let arguments = json!({ "name": right, "arguments": task.arguments });
        let (calling, _) = self.turn(&self.search, CALL_TOOL, &arguments).await?;
        Ok(Searched::Found {
            place: at + 1,
            conversation: Conversation { shown: self.shown.1, turns: vec![finding, calling] },
            structured: self.tokenizer.count(&structured.to_string()),
        })
    }

    /// Calls, and counts what a model writes for it and reads of it.
    async fn turn(&self, guest: &Guest, name: &str, arguments: &Value) -> Result<(Turn, Value)> {
        let result = guest.call(name, arguments).await?;
        let written = self.tokenizer.count(&call(name, arguments));
        let read = self.tokenizer.count(&answer(&result));
        Ok((Turn { call: written, answer: read }, result))
    }
}

/// The tools that a search has found, the best first.
fn names(structured: &Value) -> Vec<String> {
    let tools = structured["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

/// What the tool of a task is called where all are shown: the one of its server that says the same of itself.
fn listed_name<'t>(listed: &'t [Value], task: &Task, server: &Server) -> Result<&'t str> {
    let defined = server.tools.iter().find(|tool| tool["name"] == *task.tool);
    let defined = defined.with_context(|| format!("{} has no tool {}", task.server, task.tool))?;
    let prefix = format!("{}__", server.name);
    let is_it = |tool: &&Value| {
        let is_of_server = tool["name"].as_str().is_some_and(|name| name.starts_with(&prefix));
        is_of_server && ["description", "inputSchema"].iter().all(|key| tool[*key] == defined[*key])
    };
    let mut fitting = listed.iter().filter(is_it).filter_map(|tool| tool["name"].as_str());
    let name = fitting.next().with_context(|| format!("{} is not listed", task.tool))?;
    ensure!(fitting.next().is_none(), "several listed tools may be {}", task.tool);
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_in_the_order_in_which_it_was_shown() {
        let structured = json!({ "tools": [{ "name": "b.y" }, { "name": "a.x" }], "searched": 9 });
        assert_eq!(names(&structured), ["b.y", "a.x"]);
        assert!(names(&json!({})).is_empty());
    }

    #[test]
    fn a_listed_tool_is_known_by_its_server_and_by_what_it_says() {
        let tool = |name: &str| json!({ "name": name, "description": "Finds.", "inputSchema": {} });
        let listed = [tool("other__find_it"), tool("own__find_it")];
        let server = Server { id: "1.a_own".into(), name: "own".into(), tools: vec![tool("find it")] };
        let mut task = Task {
            server: "1.a_own".into(),
            tool: "find it".into(),
            wish: String::new(),
            arguments: json!({}),
        };
        assert_eq!(listed_name(&listed, &task, &server).unwrap(), "own__find_it");
        let twice = [tool("own__a"), tool("own__b")];
        assert!(listed_name(&twice, &task, &server).is_err());
        task.tool = "lose it".into();
        assert!(listed_name(&listed, &task, &server).is_err());
    }
}
