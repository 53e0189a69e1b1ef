//! The ways through servers that people really run, and around what must not be called.

mod arguments;
mod safety;

use super::*;
use crate::plan::Call;
use crate::reply::Reply;
use portolan_model::Item;
use serde_json::json;
use serde_json::value::RawValue;

const FILESYSTEM: &str = include_str!("../../tests/data/filesystem.json");
const MEMORY: &str = include_str!("../../tests/data/memory.json");
const GIT: &str = include_str!("../../tests/data/git.json");
const SQLITE: &str = include_str!("../../tests/data/sqlite.json");
const FETCH: &str = include_str!("../../tests/data/fetch.json");
const TIME: &str = include_str!("../../tests/data/time.json");
const EVERYTHING: &str = include_str!("../../tests/data/everything.json");
const THINKING: &str = include_str!("../../tests/data/thinking.json");

fn target(tools: &str) -> Target {
    let tools: Vec<Value> = serde_json::from_str(tools).unwrap();
    let tool = |definition: Value| Tool {
        name: definition["name"].as_str().unwrap().into(),
        definition: RawValue::from_string(definition.to_string()).unwrap(),
    };
    Target { tools: tools.into_iter().map(tool).map(Arc::new).collect(), ..Target::named("s") }
}

/// One tool without hints.
fn one(name: &str, schema: &Value) -> Target {
    target(&json!([{"name": name, "inputSchema": schema}]).to_string())
}

fn ranking(scores: &[(&str, f32)]) -> Ranking {
    let tools = scores.iter().map(|(tool, score)| ((*tool).to_owned(), *score)).collect();
    Ranking([("s".to_owned(), tools)].into())
}

fn plans(target: &Target, query: &str, scores: &[(&str, f32)]) -> Result<Vec<Option<Plan>>, String> {
    let ways = ways(target, query, &ranking(scores)).map_err(|reason| reason.to_string())?;
    Ok(ways
        .into_iter()
        .map(|way| match way {
            Way::Tool { plan, .. } => Some(*plan),
            Way::Resources => None,
        })
        .collect())
}

/// The tools of each way, in their order.
#[track_caller]
fn check(target: &Target, query: &str, scores: &[(&str, f32)], expected: &[&[&str]]) {
    let plans = plans(target, query, scores).unwrap();
    let found: Vec<Vec<&str>> =
        plans.iter().map(|plan| plan.as_ref().map_or(vec!["(resources)"], Plan::tools)).collect();
    assert_eq!(found, expected, "{query}");
}

/// The arguments of the first calls of the first way.
#[track_caller]
fn check_calls(target: &Target, query: &str, expected: &[(&str, Value)]) {
    let mut plan = plans(target, query, &[]).unwrap().remove(0).unwrap();
    let calls = plan.calls();
    let found: Vec<(&str, Value)> = calls
        .iter()
        .map(|Call { tool, arguments }| (tool.as_str(), Value::Object(arguments.clone())))
        .collect();
    assert_eq!(found, expected, "{query}");
}

#[track_caller]
fn check_refused(target: &Target, query: &str, expected: &str) {
    assert_eq!(plans(target, query, &[]).unwrap_err(), expected, "{query}");
}

#[test]
fn memory_is_searched_and_then_read_as_a_whole() {
    let memory = target(MEMORY);
    check(&memory, "What does Ada drink?", &[], &[&["search_nodes"], &["open_nodes"], &["read_graph"]]);
    check_calls(
        &memory,
        "What does Ada drink?",
        &[("search_nodes", json!({"query": "What does Ada drink?"}))],
    );
}

#[test]
fn a_filesystem_is_searched_in_the_places_that_it_tells_and_what_is_found_is_read() {
    let scores = [("directory_tree", 0.3), ("list_directory", 0.2)];
    check(
        &target(FILESYSTEM),
        "What does the budget say about travel?",
        &scores,
        &[
            &["list_allowed_directories", "search_files", "read_text_file"],
            &["list_allowed_directories", "directory_tree", "read_text_file"],
        ],
    );
    let named = "Read /srv/docs/plan.md please";
    let mut files = plans(&target(FILESYSTEM), named, &[("read_text_file", 0.9)]).unwrap().remove(0).unwrap();
    assert_eq!(
        files.calls(),
        [Call {
            tool: "read_text_file".to_owned(),
            arguments: json!({"path": "/srv/docs/plan.md"}).as_object().cloned().unwrap(),
        }]
    );
}

#[test]
fn git_is_asked_in_the_place_that_its_entry_names_and_not_without_one() {
    let mut git = target(GIT);
    check_refused(
        &git,
        "What changed lately?",
        "no safe way to ask it by any of its 12 tools: git_status: it needs a path, and nothing tells which there are",
    );
    git.places = vec!["/srv/repo".to_owned()];
    let scores = [("git_log", 0.6), ("git_status", 0.4), ("git_commit", 0.9), ("git_diff_staged", 0.1)];
    check(&git, "Which commits are about search?", &scores, &[&["git_log"], &["git_status"]]);
    let mut log = plans(&git, "commits", &scores).unwrap().remove(0).unwrap();
    let arguments = json!({"repo_path": "/srv/repo", "max_count": 50}).as_object().cloned().unwrap();
    assert_eq!(log.calls(), [Call { tool: "git_log".to_owned(), arguments }]);
}

#[test]
fn a_database_is_read_by_the_tables_that_it_tells_and_never_written() {
    check(
        &target(SQLITE),
        "Which customers live in Berlin?",
        &[("write_query", 0.9)],
        &[&["list_tables", "read_query"], &["list_tables", "describe_table"], &["list_tables"]],
    );
}

#[test]
fn what_only_a_certain_query_can_fill_is_asked_by_that_query_alone() {
    check_calls(
        &target(FETCH),
        "What does https://example.com/a say?",
        &[("fetch", json!({"url": "https://example.com/a"}))],
    );
    check_refused(
        &target(FETCH),
        "What is new?",
        "no safe way to ask it: fetch: it needs `url`, which no question can fill",
    );
    check_calls(
        &target(TIME),
        "What time is it in Europe/London?",
        &[("get_current_time", json!({"timezone": "Europe/London"}))],
    );
    check_refused(
        &target(TIME),
        "What time is it?",
        "no safe way to ask it by any of its 2 tools: get_current_time: it needs `timezone`, which no question can fill",
    );
    check_refused(
        &target(THINKING),
        "Think about it",
        "no safe way to ask it: sequentialthinking: it needs `nextThoughtNeeded`, which no question can fill",
    );
}

#[test]
fn the_everything_server_is_asked_for_what_it_lists_and_then_by_its_resources() {
    let mut everything = target(EVERYTHING);
    let definition = RawValue::from_string(r#"{"name": "features.md"}"#.to_owned()).unwrap();
    everything.resources = vec![Arc::new(Item { key: "demo://features.md".into(), definition })];
    check(&everything, "Which features are there?", &[], &[&["get-resource-links"], &["(resources)"]]);
}

#[test]
fn the_ranking_chooses_among_those_that_take_the_query() {
    let text = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    let search = |name: &str| json!({"name": name, "inputSchema": text});
    let list = json!({"name": "list_all", "inputSchema": {"type": "object"}});
    let tools = [search("search_users"), search("search_code"), search("search_issues"), list];
    let scores = [("list_all", 1.0), ("search_issues", 0.7), ("search_code", 0.4)];
    check(
        &target(&json!(tools).to_string()),
        "bugs",
        &scores,
        &[&["search_issues"], &["search_code"], &["search_users"]],
    );
}

#[test]
fn ten_thousand_tools_are_no_trouble_and_the_best_of_them_is_found() {
    let text = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    let tools: Vec<Value> =
        (0..10_000).map(|n| json!({"name": format!("search_{n}"), "inputSchema": text})).collect();
    let mut server = target(&json!(tools).to_string());
    let first = |server: &Target| {
        let plans = plans(server, "tea", &[("search_9999", 0.9)]).unwrap();
        plans[0].as_ref().unwrap().tools().concat()
    };
    assert_eq!(first(&server), "search_9999");
    server.setting = Some(WaySetting { tool: "search_5000".to_owned(), ..WaySetting::default() });
    assert_eq!(first(&server), "search_5000", "and the one that is set");
}

#[test]
fn a_plan_goes_on_with_what_it_was_told() {
    let mut plan = plans(&target(SQLITE), "Which customers live in Berlin?", &[]).unwrap().remove(0).unwrap();
    assert_eq!(plan.calls()[0].tool, "list_tables");
    let text = "[{'name': 'customers'}, {'name': 'orders'}, {'name': 'x'}, {'name': 'y'}]";
    plan.feed(&[Some(&Reply { structured: None, blocks: vec![json!({"type": "text", "text": text})] })]);
    let calls = plan.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].arguments["query"], "SELECT * FROM \"customers\" LIMIT 200");
}
