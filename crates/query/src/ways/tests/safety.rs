//! What is never called, whatever the query, the ranking and the settings say.

use super::*;

#[test]
fn what_may_change_something_is_never_a_way() {
    let text = json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    for name in [
        "create_issue",
        "delete_query",
        "get_or_create_page",
        "searchAndReplace",
        "send_search_results",
        "run_query",
        "execute",
        "set_query",
        "addQuery",
        "update_search",
        "git_commit",
        "write_query",
        "search_and_add",
        "echo",
        "think",
        "append_insight",
        "get_env",
        "read_secret",
        "post_message",
        "upload_and_search",
        "query_and_run",
    ] {
        assert!(plans(&one(name, &text), "tea", &[]).is_err(), "{name}");
    }
    for name in [
        "search",
        "list_updates",
        "brave_web_search",
        "getRuns",
        "find-settings",
        "query",
        "fetch_posts",
        "lookup_order",
        "get_created_items",
        "microsoft_docs_search",
        "show_comments",
    ] {
        assert!(plans(&one(name, &text), "tea", &[]).is_ok(), "{name}");
    }
}

#[test]
fn hints_go_before_names_but_do_not_make_a_change_safe() {
    #[track_caller]
    fn hinted(name: &str, hints: &Value, is_way: bool) {
        let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
        let tools = json!([{"name": name, "inputSchema": schema, "annotations": hints}]).to_string();
        assert_eq!(plans(&target(&tools), "tea", &[]).is_ok(), is_way, "{name} {hints}");
    }
    hinted("search", &json!({"readOnlyHint": false}), false);
    hinted("search", &json!({"destructiveHint": true}), false);
    hinted("search", &json!({"readOnlyHint": true, "destructiveHint": true}), false);
    hinted("ponder", &json!({"readOnlyHint": true}), true);
    hinted("ponder", &json!({}), false);
    hinted("delete_x", &json!({"readOnlyHint": true}), false);
    hinted("trigger_job", &json!({"readOnlyHint": true}), false);
    hinted("run_job", &json!({"readOnlyHint": true}), false);
}

#[test]
fn sql_is_executed_only_by_what_is_read_only_by_hint_or_by_name() {
    #[track_caller]
    fn sql(name: &str, hints: &Value, is_way: bool) {
        let schema =
            json!({"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]});
        let list = json!({"name": "list_tables", "inputSchema": {"type": "object"}});
        let tools = json!([{"name": name, "inputSchema": schema, "annotations": hints}, list]).to_string();
        let plans = plans(&target(&tools), "tea", &[]).unwrap();
        let reads = plans.iter().flatten().any(|plan| plan.tools().contains(&name));
        assert_eq!(reads, is_way, "{name} {hints}");
    }
    sql("query", &json!({}), false);
    sql("execute_sql", &json!({}), false);
    sql("execute_sql", &json!({"readOnlyHint": true}), true);
    sql("query", &json!({"readOnlyHint": true}), true);
    sql("read_query", &json!({}), true);
    sql("select_rows", &json!({}), true);
}

#[test]
fn no_way_through_a_real_server_leads_to_a_tool_that_may_change_something() {
    let reading = ["read_query", "list_tables", "describe_table"];
    let queries = [
        "delete /srv/x.md",
        "create a table of orders",
        "write https://x.example",
        "commit \"all\" now",
        "tea",
    ];
    for tools in [FILESYSTEM, MEMORY, GIT, SQLITE, FETCH, TIME, EVERYTHING, THINKING] {
        let mut server = target(tools);
        server.places = vec!["/srv".to_owned()];
        let definitions: Vec<Value> = serde_json::from_str(tools).unwrap();
        let is_safe = |name: &str| {
            let hint = definitions
                .iter()
                .find(|one| one["name"] == name)
                .map(|one| &one["annotations"]["readOnlyHint"]);
            hint == Some(&json!(true)) || reading.contains(&name)
        };
        for query in queries {
            // The ranking puts first what must not be called.
            let scores: Vec<(&str, f32)> = server
                .tools
                .iter()
                .map(|tool| (&*tool.name, f32::from(u8::from(!is_safe(&tool.name)))))
                .collect();
            for plan in plans(&server, query, &scores).unwrap_or_default().iter().flatten() {
                assert!(plan.tools().into_iter().all(is_safe), "{query}: {:?}", plan.tools());
                assert!(plan.tools().len() <= 3);
            }
        }
    }
}

#[test]
fn a_set_way_is_taken_unless_it_says_itself_that_it_changes_something() {
    let mut server = target(
        &json!([
            {"name": "ask", "inputSchema": {"type": "object", "required": ["about", "depth"],
                "properties": {"about": {"type": "string"}, "depth": {"type": "integer"}}}},
            {"name": "search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}},
            {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}}
        ])
        .to_string(),
    );
    let set = |tool: &str, argument: Option<&str>, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap();
        Some(WaySetting { tool: tool.to_owned(), argument: argument.map(str::to_owned), arguments })
    };
    server.setting = set("ask", Some("about"), json!({"depth": 2}));
    check_calls(&server, "tea", &[("ask", json!({"about": "tea", "depth": 2}))]);
    server.setting = set("ask", Some("about"), json!({}));
    check_refused(
        &server,
        "tea",
        "its portolan.query names ask, but it needs `depth`, which no question can fill",
    );
    server.setting = set("search", None, json!({"limit": 3}));
    check_calls(&server, "tea", &[("search", json!({"query": "tea", "limit": 3}))]);
    server.setting = set("wipe", None, json!({}));
    check_refused(&server, "tea", "its portolan.query names wipe, but it is marked as destructive");
    server.setting = set("gone", None, json!({}));
    check_refused(&server, "tea", "its portolan.query names gone, but it offers no such tool");
    server.setting = set("ask", Some("nothing"), json!({}));
    check_refused(&server, "tea", "its portolan.query names ask, but it has no such argument");
}
