//! Finding the right tools: over REST, at a terminal, and for models that are shown only what finds and calls the others.

use crate::kit::{listed, refused, tool_error};
use crate::terminal::Person;
use portolan_testkit::model_server::{Nobody, Reply};
use portolan_testkit::{
    Client, DEADLINE, Gateway, GatewayBuilder, HttpClient, ModelServer, ModernClient, Profile, Rest, bin,
};
use serde_json::{Value, json};
use std::time::Duration;

/// What a client is shown that is not shown the servers' tools.
const OURS: [&str; 4] = ["search_tools", "call_tool", "mcp__proxy__aggregator__query", "query_mcp_connector"];
const POLL: Duration = Duration::from_millis(20);

/// The example servers: notes that are kept, and units that are converted.
fn desk() -> GatewayBuilder {
    let entry = |name: &str| json!({ "command": bin(&format!("portolan-example-{name}")) });
    let builder = Gateway::builder().server("notes", entry("notes")).server("units", entry("units"));
    builder.env("PORTOLAN_SEARCH_EMBEDDINGS", "builtin")
}

/// Waits until it is known of every tool what it means.
async fn indexed(rest: &Rest, tools: u64) {
    let wait = async {
        loop {
            let state = rest.get("/aggregator/state").await.json(200);
            let health = rest.get("/aggregator/health").await.json(200);
            let is_there = state["connected_servers"] == state["total_servers"];
            if is_there
                && health["search"]["waiting"] == 0
                && state["total_tools"] == tools
                && state["unindexed_tools"] == 0
            {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, wait).await.is_ok(), "the tools are not embedded");
}

fn names(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn tools_are_found_by_what_they_do_whatever_the_words() {
    let gateway = desk().serve().await;
    let rest = gateway.rest();
    indexed(&rest, 6).await;
    for (query, first) in [
        ("how many kilometres is a mile?", "units.convert"),
        ("jot this down for later", "notes.add_note"),
        ("throw away what I wrote", "notes.delete_note"),
        ("units.list_units", "units.list_units"),
        ("serch nots", "notes.search_notes"),
    ] {
        let found = rest.post("/search", json!({ "query": query, "limit": 3 })).await.json(200);
        assert_eq!(names(&found["tools"])[0], first, "{query}: {found}");
        assert_eq!(found["metadata"]["mode"], "hybrid", "{found}");
        assert_eq!((found["tools"].as_array().unwrap().len(), &found["query"]), (3, &json!(query)));
        let bare = rest.post("/aggregator/search", json!({ "query": query, "limit": 3 })).await.json(200);
        assert_eq!(bare, found["tools"], "{query}");
    }
    let health = rest.get("/aggregator/health").await.json(200);
    assert_eq!(
        (&health["search"]["mode"], &health["search"]["waiting"]),
        (&json!("hybrid"), &json!(0)),
        "{health}"
    );
}

#[tokio::test]
async fn a_wish_for_several_things_brings_the_tools_for_each() {
    let gateway = desk().serve().await;
    let rest = gateway.rest();
    indexed(&rest, 6).await;
    let query = "convert 26 miles to kilometres, then keep the answer as a note for later";
    let found = rest.post("/search", json!({ "query": query, "limit": 3 })).await.json(200);
    let all = names(&found["tools"]);
    assert!(all.contains(&"units.convert") && all.contains(&"notes.add_note"), "{found}");
}

#[tokio::test]
async fn a_hit_says_all_that_is_asked_and_only_servers_that_can_be_called_are_searched() {
    let gateway = desk().serve().await;
    let rest = gateway.rest();
    indexed(&rest, 6).await;
    let wish = |fields: Value| {
        let mut wish = json!({ "query": "list everything" });
        wish.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        wish
    };
    let found = rest
        .post("/search", wish(json!({ "server_filter": ["units"], "include_schemas": true })))
        .await
        .json(200);
    let hit = &found["tools"][0];
    assert_eq!(
        (&hit["source_server"]["name"], &hit["source_server"]["status"]),
        (&json!("units"), &json!("CONNECTED"))
    );
    assert!(
        hit["input_schema"].is_object() && hit["id"].is_string() && hit["original_name"].is_string(),
        "{hit}"
    );
    assert!(names(&found["tools"]).iter().all(|name| name.starts_with("units.")), "{found}");
    let plain = rest.post("/search", wish(json!({}))).await.json(200);
    assert!(
        plain["tools"][0].get("input_schema").is_none() && plain["metadata"]["searched_tools"] == 6,
        "{plain}"
    );
    rest.post("/aggregator/servers/units/disconnect", json!({})).await.json(200);
    let found = rest.post("/search", wish(json!({}))).await.json(200);
    assert!(names(&found["tools"]).iter().all(|name| name.starts_with("notes.")), "{found}");
    let none = rest.post("/search", wish(json!({ "server_filter": ["units"] }))).await.json(200);
    assert_eq!(none["tools"], json!([]));
}

#[tokio::test]
async fn a_wrong_search_says_what_is_wrong() {
    let gateway = desk().serve().await;
    let rest = gateway.rest();
    for (body, field) in [
        (json!({}), "query"),
        (json!({ "query": "  " }), "query"),
        (json!({ "query": "a", "limit": 0 }), "limit"),
        (json!({ "query": "a", "limit": 101 }), "limit"),
        (json!({ "query": "a", "more": 1 }), "more"),
    ] {
        let answer = rest.post("/search", body.clone()).await;
        answer.problem(422, "VALIDATION_ERROR");
        assert!(answer.wrong_fields().iter().any(|wrong| wrong.contains(field)), "{body}: {answer:?}");
    }
    rest.post("/search", json!({ "query": "a", "server_filter": ["nobody"] }))
        .await
        .problem(404, "SERVER_NOT_FOUND");
}

#[tokio::test]
async fn f61_without_a_model_words_decide_and_everybody_is_told_so() {
    let gateway = desk().env("PORTOLAN_SEARCH_EMBEDDINGS", "off").serve().await;
    listed(&gateway.connect().await, &["notes", "units"]).await;
    let rest = gateway.rest();
    let found = rest.post("/search", json!({ "query": "convert units" })).await.json(200);
    assert_eq!(names(&found["tools"])[0], "units.convert", "{found}");
    assert_eq!(found["metadata"]["mode"], "lexical");
    assert!(found["metadata"]["reason"].as_str().unwrap().contains("no model"), "{found}");
    assert_eq!(rest.get("/aggregator/health").await.json(200)["search"]["mode"], "lexical");
    let said = Person::at(&gateway).does(&["search", "convert", "units"]).await;
    assert!(said.contains("units.convert") && said.contains("by words alone: no model"), "{said}");
}

#[tokio::test]
async fn what_tools_mean_is_kept_and_a_restart_knows_it_again() {
    let gateway = desk().serve().await;
    indexed(&gateway.rest(), 6).await;
    let query = json!({ "query": "jot this down" });
    let before = gateway.rest().post("/search", query.clone()).await.json(200);
    let gateway = gateway.restart().await;
    indexed(&gateway.rest(), 6).await;
    // The servers' own texts are told only when they are back.
    super::rest::eventually("the same is found", async || {
        let after = gateway.rest().post("/search", query.clone()).await.json(200);
        (before["tools"] == after["tools"]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_changes_is_found_by_what_it_is_now() {
    let gateway = desk().serve().await;
    let rest = gateway.rest();
    indexed(&rest, 6).await;
    let text = json!({ "description": "Bakes a chocolate cake for a birthday party." });
    rest.patch("/aggregator/servers/units/tools/list_units", text).await.json(200);
    // That it means something else now is found out in the background.
    super::rest::eventually("it is found by that", async || {
        let found =
            rest.post("/search", json!({ "query": "dessert for guests", "limit": 1 })).await.json(200);
        (names(&found["tools"]) == ["units.list_units"]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn at_a_terminal_it_is_a_table_or_json() {
    let gateway = desk().serve().await;
    indexed(&gateway.rest(), 6).await;
    let person = Person::at(&gateway);
    let table = person.does(&["search", "kilometres", "in", "a", "mile", "--limit", "2"]).await;
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines.len() == 3 && lines[0].starts_with("TOOL") && lines[1].starts_with("units.convert"),
        "{table}"
    );
    let json: Value =
        serde_json::from_str(&person.does(&["search", "a mile", "--server", "notes", "--json"]).await)
            .unwrap();
    assert!(names(&json["tools"]).iter().all(|name| name.starts_with("notes.")), "{json}");
    person.fails(&["search"], 2, "").await;
    person.fails(&["search", "x", "--server", "nobody"], 1, "nobody").await;
}

/// What a client has that is shown only our own tools.
async fn sees_only_ours(client: &impl Client) {
    assert_eq!(client.tool_names().await, OURS);
    let found =
        client.call("search_tools", json!({ "query": "how far is a marathon in km", "limit": 2 })).await;
    let tools = &found["structuredContent"]["tools"];
    assert_eq!(tools[0]["name"], "units.convert", "{found}");
    assert_eq!(tools[0]["signature"], "(from: string, to: string, value: number)", "{found}");
    assert!(found["content"][0]["text"].as_str().unwrap().contains("units.convert(from: string"), "{found}");
    let arguments = json!({ "from": "mi", "to": "km", "value": 26.2 });
    let called = json!({ "name": "units.convert", "arguments": arguments });
    assert_eq!(client.call_text("call_tool", called).await, "26.2 mi = 42.1648128 km");
    // Whoever knows a name may use it.
    assert_eq!(client.call_text("units.convert", arguments).await, "26.2 mi = 42.1648128 km");
}

#[tokio::test]
async fn models_that_are_shown_two_tools_find_and_call_all_of_them() {
    let gateway = desk().env("PORTOLAN_EXPOSURE", "search").serve().await;
    indexed(&gateway.rest(), 6).await;
    sees_only_ours(&gateway.connect().await).await;
    sees_only_ours(&ModernClient::with(&gateway.url(), Profile::default())).await;
    let client = gateway.connect().await;
    let tools = client.ask("tools/list", json!({})).await["result"]["tools"].take();
    let about = tools[0]["description"].as_str().unwrap();
    assert!(about.contains("6 of 2 servers") && about.contains("- notes (4): add_note"), "{about}");
    // One server by itself is as it is.
    assert!(!gateway.connect_to("units").await.tool_names().await.contains(&"call_tool".to_owned()));
}

#[tokio::test]
async fn a_call_with_wrong_arguments_gets_the_schema_back_and_reaches_nobody() {
    let gateway = desk().env("PORTOLAN_EXPOSURE", "search").serve().await;
    indexed(&gateway.rest(), 6).await;
    let client = gateway.connect().await;
    let wrong = json!({ "name": "units.convert", "arguments": { "from": "mi", "value": "26.2" } });
    let text = tool_error(&client, "call_tool", wrong).await;
    for part in ["was not called", "`to` is missing", "`value` must be of the type number", "\"required\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(tool_error(&client, "call_tool", json!({})).await.contains("`name`"));
    assert!(tool_error(&client, "search_tools", json!({ "limit": 3 })).await.contains("query"));
    assert!(
        tool_error(&client, "search_tools", json!({ "query": "a", "servers": ["No One"] }))
            .await
            .contains("No One")
    );
    refused(&client, "call_tool", json!({ "name": "units.nothing" }), -32602).await;
}

#[tokio::test]
async fn over_stdio_it_is_the_same_without_anything_kept() {
    let builder = desk().env("PORTOLAN_EXPOSURE", "search");
    let (_gateway, client) = builder.stdio(Profile::default());
    client.initialize().await;
    let wait = async {
        loop {
            let found = client.call("search_tools", json!({ "query": "how far is a marathon in km" })).await;
            if found["structuredContent"]["searched"] == 6
                && found["structuredContent"].get("words_only").is_none()
            {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, wait).await.is_ok(), "the tools are not embedded");
    sees_only_ours(&client).await;
}

/// A gateway with profiles, and a client of one of them.
async fn with_profiles(text: &str) -> Gateway {
    let builder = desk();
    let settings = builder.directory().join("portolan.toml");
    std::fs::write(&settings, text).unwrap();
    let gateway = builder.env("PORTOLAN_SETTINGS", settings).serve().await;
    listed(&HttpClient::connect(&gateway.url_of("/profiles/all/mcp")).await, &["notes", "units"]).await;
    gateway
}

const PROFILES: &str = r#"
[profiles.all]

[profiles.reader]
servers = ["notes"]
tools = { deny = ["*.delete_*", "*.add_*"] }

[profiles.model]
servers = ["units"]
exposure = "search"

[profiles.strict]
names = "safe"
tools = ["units.*"]
"#;

#[tokio::test]
async fn a_profile_shows_and_calls_its_own_part_and_nothing_else() {
    let gateway = with_profiles(PROFILES).await;
    let reader = HttpClient::connect(&gateway.url_of("/profiles/reader/mcp")).await;
    assert_eq!(reader.tool_names().await, ["notes.list_notes", "notes.search_notes"]);
    reader.call_text("notes.list_notes", json!({})).await;
    for name in ["notes.add_note", "notes__add_note", "add_note", "units.convert", "convert"] {
        refused(&reader, name, json!({ "text": "x" }), -32602).await;
    }
    let strict = ModernClient::with(&gateway.url_of("/profiles/strict/mcp"), Profile::default());
    assert_eq!(strict.tool_names().await, ["units__convert", "units__list_units"]);
    let arguments = json!({ "from": "mi", "to": "km", "value": 1 });
    strict.call_text("units__convert", arguments.clone()).await;
    // Everything else is as it was.
    assert_eq!(gateway.connect().await.tool_names().await.len(), 6);
    let missing = gateway.rest().page("/profiles/nobody/mcp").await;
    assert_eq!(missing.status, 404, "{missing:?}");
}

#[tokio::test]
async fn a_profile_finds_only_what_it_has() {
    let gateway = with_profiles(PROFILES).await;
    indexed(&gateway.rest(), 6).await;
    let model = HttpClient::connect(&gateway.url_of("/profiles/model/mcp")).await;
    assert_eq!(model.tool_names().await, OURS);
    let found = model.call("search_tools", json!({ "query": "write a note", "limit": 50 })).await;
    let tools = found["structuredContent"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["server"] == "units"), "{found}");
    assert_eq!(found["structuredContent"]["searched"], 2, "{found}");
    refused(&model, "call_tool", json!({ "name": "notes.list_notes" }), -32602).await;
}

#[tokio::test]
async fn a_profile_can_be_what_everybody_gets_and_one_that_is_not_there_is_a_mistake() {
    let gateway = with_profiles(&format!("profile = \"reader\"\n{PROFILES}")).await;
    assert_eq!(gateway.connect().await.tool_names().await, ["notes.list_notes", "notes.search_notes"]);
    let builder = desk();
    let settings = builder.directory().join("portolan.toml");
    std::fs::write(&settings, "profile = \"nobody\"\n").unwrap();
    let mut gateway = builder.env("PORTOLAN_SETTINGS", settings).start_serve();
    assert_eq!(gateway.wait_exit().await.code(), Some(2));
    gateway.stderr_contains("there is no [profiles.nobody]").await;
}

/// The desk with an endpoint that embeds.
fn with_endpoint(url: &str) -> GatewayBuilder {
    let builder = desk().env("PORTOLAN_SEARCH_EMBEDDINGS", "endpoint").env("PORTOLAN_SEARCH_URL", url);
    builder.env("PORTOLAN_SEARCH_MODEL", "small").env("PORTOLAN_SEARCH_KEY", "hunter2")
}

/// How a search went, and what it found first.
async fn first(rest: &Rest, query: &str) -> (Value, String) {
    let found = rest.post("/search", json!({ "query": query })).await.json(200);
    (found["metadata"].clone(), found["tools"][0]["name"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn an_exposure_for_everybody_holds_over_sse_too() {
    let gateway = desk().env("PORTOLAN_EXPOSURE", "search").serve().await;
    let client = portolan_testkit::SseClient::connect(&gateway.url_of("/sse")).await;
    assert_eq!(client.tool_names().await, OURS);
}

#[tokio::test]
async fn an_endpoint_embeds_with_its_model_and_its_key_which_is_shown_nowhere() {
    let models = ModelServer::start().await;
    let gateway = with_endpoint(&models.openai_url()).serve().await;
    let rest = gateway.rest();
    indexed(&rest, 6).await;
    let (metadata, name) = first(&rest, "convert units").await;
    assert_eq!((&metadata["mode"], name.as_str()), (&json!("hybrid"), "units.convert"), "{metadata}");
    for asked in models.asked().all() {
        assert_eq!(asked.body["model"], "small");
        assert_eq!(asked.header("authorization"), Some("Bearer hunter2"));
    }
    let health = rest.get("/aggregator/health").await.json(200);
    assert!(health["search"]["model"].as_str().unwrap().starts_with("small@"), "{health}");
    assert!(!health.to_string().contains("hunter2"));
}

#[tokio::test]
async fn f61_while_the_endpoint_is_away_words_decide_and_it_is_used_again_when_it_is_back() {
    let nobody = Nobody::bind();
    let gateway = with_endpoint(&nobody.url()).serve().await;
    listed(&gateway.connect().await, &["notes", "units"]).await;
    let rest = gateway.rest();
    let (metadata, name) = first(&rest, "convert units").await;
    assert_eq!((&metadata["mode"], name.as_str()), (&json!("lexical"), "units.convert"), "{metadata}");
    let _models = nobody.start();
    indexed(&rest, 6).await;
    assert_eq!(first(&rest, "convert units").await.0["mode"], "hybrid");
}

#[tokio::test]
async fn f61_an_endpoint_that_answers_nonsense_leaves_every_tool_findable() {
    for reply in [
        || Reply::raw("<html>"),
        || Reply::raw(r#"{"data":[]}"#),
        || Reply::refusal(401, "no such key"),
        || Reply::raw(r#"{"data":[{"index":0,"embedding":[null]}]}"#),
    ] {
        let models = ModelServer::answering(move |_| reply()).await;
        let gateway = with_endpoint(&models.openai_url()).serve().await;
        listed(&gateway.connect().await, &["notes", "units"]).await;
        let rest = gateway.rest();
        let told = super::rest::eventually("the trouble is told", async || {
            let health = rest.get("/aggregator/health").await.json(200);
            Some(health["search"].clone()).filter(|search| !search["trouble"].is_null())
        });
        assert_eq!(told.await["mode"], "lexical");
        let (metadata, name) = first(&rest, "convert units").await;
        assert_eq!((&metadata["mode"], name.as_str()), (&json!("lexical"), "units.convert"), "{metadata}");
    }
}

#[tokio::test]
async fn an_endpoint_without_an_address_is_a_mistake() {
    let mut gateway = desk().env("PORTOLAN_SEARCH_EMBEDDINGS", "endpoint").start_serve();
    assert_eq!(gateway.wait_exit().await.code(), Some(2));
    gateway.stderr_contains("search.url: say where the endpoint is").await;
}
