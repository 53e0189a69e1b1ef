//! `search_tools`: the few tools that matter, each in one line.

use crate::signature::signature;
use crate::{Builtins, CALL_TOOL, complaint, result};
use portolan_finder::{Found, FoundTool, Strategy, Wish};
use portolan_model::{ServerName, SkillId, Tool, name};
use portolan_router::{OwnAnswer, OwnCall, RouteError};
use serde::Deserialize;
use serde_json::{Value, json};

const FEW: usize = 5;
const MOST: usize = 50;
/// What one line says of a tool.
const ONE_LINE: usize = 160;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    limit: Option<usize>,
    #[serde(default)]
    servers: Vec<String>,
    #[serde(default)]
    skills: Vec<String>,
    #[serde(default)]
    include_schemas: bool,
}

impl Builtins {
    pub(crate) async fn search_tools(&self, call: &OwnCall<'_>) -> Result<OwnAnswer, RouteError> {
        let given = call.params.get("arguments").unwrap_or("{}");
        let arguments: Arguments = match serde_json::from_str(given) {
            Ok(arguments) => arguments,
            Err(error) => {
                return Ok(complaint(&format!(
                    "search_tools needs {{\"query\": \"what is to be done\"}}: {error}"
                )));
            }
        };
        let servers: Vec<ServerName> =
            arguments.servers.iter().filter_map(|server| ServerName::parse(server).ok()).collect();
        if servers.len() < arguments.servers.len() {
            return Ok(complaint(&format!(
                "there is no server among {} that is called so",
                arguments.servers.join(", ")
            )));
        }
        let skills: Vec<SkillId> =
            arguments.skills.iter().filter_map(|skill| SkillId::parse(skill).ok()).collect();
        let unknown = skills.iter().filter(|skill| !self.finder.knows_skill(skill));
        if skills.len() < arguments.skills.len() || unknown.count() > 0 {
            return Ok(complaint(&format!(
                "there is a skill among {} that is not known; search without skills tells those that fit",
                arguments.skills.join(", ")
            )));
        }
        let wish = Wish {
            query: &arguments.query,
            limit: arguments.limit.unwrap_or(FEW).clamp(1, MOST),
            view: call.view,
            servers: &servers,
            skills: &skills,
            strategy: Strategy::Hybrid,
        };
        let found = self.finder.find(&wish).await;
        let snapshot = self.catalog.snapshot();
        let tools: Vec<Value> = found
            .tools
            .iter()
            .filter_map(|tool| {
                let definition = snapshot.servers().get(&tool.name.server)?.tool(&tool.name.tool)?;
                Some(shown(tool, definition, arguments.include_schemas))
            })
            .collect();
        Ok(result(&text(&tools, &found), &structured(&tools, &found)))
    }
}

fn shown(found: &FoundTool, tool: &Tool, with_schema: bool) -> Value {
    let definition: Value = serde_json::from_str(tool.definition.get()).unwrap_or_default();
    let mut shown = json!({
        "name": name::join(&found.name.server, &found.name.tool, '.'),
        "server": found.name.server.as_str(),
        "signature": signature(&definition["inputSchema"]),
        "description": one_line(definition["description"].as_str().unwrap_or_default()),
        "score": f64::from((found.score * 1000.0).round()) / 1000.0,
    });
    if !found.skills.is_empty() {
        shown["skills"] = found.skills.iter().map(SkillId::as_str).collect();
    }
    if with_schema {
        shown["input_schema"] = definition["inputSchema"].clone();
    }
    shown
}

/// The first sentence, or as much of it as fits.
fn one_line(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = flat.find(". ").map_or(flat.len(), |at| at + 1);
    let cut = flat.floor_char_boundary(end.min(ONE_LINE));
    let mark = if cut < end { "…" } else { "" };
    format!("{}{mark}", &flat[..cut])
}

fn text(tools: &[Value], found: &Found) -> String {
    if tools.is_empty() {
        return format!(
            "No tool was found among {}. Say it in other words, or more generally.",
            found.searched
        );
    }
    let line = |tool: &Value| {
        let part = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let schema = tool.get("input_schema").map(|schema| format!("\n  {schema}")).unwrap_or_default();
        format!("{}{}\n  {}{schema}", part("name"), part("signature"), part("description"))
    };
    let lines: Vec<String> = tools.iter().map(line).collect();
    format!("{}\n\nCall one with {CALL_TOOL}.", lines.join("\n"))
}

fn structured(tools: &[Value], found: &Found) -> Value {
    let mut all = json!({"tools": tools, "searched": found.searched});
    if !found.skills.is_empty() {
        all["skills"] = found.skills.iter().map(|skill| skill.id.as_str()).collect();
    }
    if let Some(why) = &found.words_only {
        all["words_only"] = json!(why);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_one_sentence_and_short() {
        assert_eq!(one_line("Opens an\n  issue. Then it waits."), "Opens an issue.");
        assert_eq!(one_line(""), "");
        let long = one_line(&"é".repeat(400));
        assert!(long.ends_with('…') && long.len() <= ONE_LINE + 3, "{}", long.len());
    }
}
