//! BR-001: what a registration has to say, what it is answered, and everything that is refused.

use super::{call, call_text, connected, eventually, in_state, registered, server, sse, stdio, with};
use portolan_testkit::{Fixture, Gateway, Rest};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A server at an address where nobody answers, so that nothing happens to it by itself.
fn remote(name: &str) -> Value {
    json!({
        "name": name, "transport_type": "HTTP", "auto_connect": false,
        "connection_config": { "base_url": "http://127.0.0.1:9/mcp" },
    })
}

#[track_caller]
fn is_uuid(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no text"));
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hex = text.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    assert!(lengths == [8, 4, 4, 4, 12] && is_hex, "{text} is no UUID");
}

/// `2025-01-08T10:00:00Z`, with or without a fraction.
#[track_caller]
pub(super) fn is_moment(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no text"));
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let (whole, fraction) = shape.split_at(19);
    let is_fraction = fraction.trim_start_matches('.').trim_end_matches('Z').chars().all(|c| c == '0');
    assert!(whole == "0000-00-00T00:00:00" && fraction.ends_with('Z') && is_fraction, "{text} is no moment");
}

#[tokio::test]
async fn br_001_the_documented_registration_is_taken_and_answered_with_every_field() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    rest.put("/secrets/TOKEN", json!({ "value": "t0ken" })).await.empty(204);
    // Somebody listens there and never answers: the state stays what it is.
    let hole = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = hole.local_addr().unwrap();
    let draft = json!({
        "name": "github-mcp",
        "description": "GitHub MCP Server",
        "transport_type": "SSE",
        "connection_config": {
            "url": format!("http://{place}/sse"),
            "headers": { "Authorization": "Bearer ${TOKEN}" },
        },
        "health_check_url": format!("http://{place}/health"),
        "auto_connect": true,
    });
    let answer = rest.post("/aggregator/servers", draft.clone()).await;
    let shown = answer.json(201);
    is_uuid(&shown["id"]);
    is_moment(&shown["registered_at"]);
    is_moment(&shown["updated_at"]);
    let id = shown["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/api/v1/aggregator/servers/{id}").as_str()));
    for (field, value) in [
        ("name", json!("github-mcp")),
        ("status", json!("CONNECTING")),
        ("transport_type", json!("SSE")),
        ("tool_count", json!(0)),
        ("description", json!("GitHub MCP Server")),
        ("health_check_url", draft["health_check_url"].clone()),
        ("connection_config", draft["connection_config"].clone()),
        ("auto_connect", json!(true)),
        ("source", json!("REGISTERED")),
        ("connected_at", Value::Null),
        ("last_health_check", Value::Null),
        ("error_message", Value::Null),
        ("timeout", Value::Null),
    ] {
        assert_eq!(shown[field], value, "{field} in {shown}");
    }
    assert_eq!(server(&rest, id).await, shown);
}

#[tokio::test]
async fn br_001_a_server_is_disconnected_at_first_and_connects_by_itself_only_if_it_is_to() {
    let fixture = Fixture::sse(&[]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let shown = registered(&rest, with(sse("rests", &fixture), json!({ "auto_connect": false }))).await;
    assert_eq!((&shown["status"], &shown["auto_connect"]), (&json!("DISCONNECTED"), &json!(false)));
    registered(&rest, with(stdio(&gateway, "program", &[]), json!({ "auto_connect": false }))).await;
    // What is not said is yes.
    let shown = registered(&rest, stdio(&gateway, "goes", &[])).await;
    assert_eq!(shown["auto_connect"], true);
    in_state(&rest, "goes", "CONNECTED").await;
    assert_eq!(server(&rest, "rests").await["status"], "DISCONNECTED");
    assert!(fixture.journal().messages().is_empty() && fixture.journal().events("get").is_empty());
    assert_eq!(gateway.journal("program").starts(), 0, "nothing was started");
}

#[tokio::test]
async fn br_001_a_name_that_is_taken_is_409_with_the_documented_phrase() {
    let gateway = Gateway::builder().fixture("written", &[]).serve().await;
    let rest = gateway.rest();
    let first = registered(&rest, remote("github-mcp")).await;
    for name in ["github-mcp", "written"] {
        let problem =
            rest.post("/aggregator/servers", remote(name)).await.problem(409, "SERVER_ALREADY_EXISTS");
        assert_eq!(problem["detail"], format!("Server already exists: {name}"));
    }
    assert_eq!(server(&rest, "github-mcp").await["id"], first["id"]);
    assert_eq!(server(&rest, "written").await["source"], "FILE");
}

async fn refused(rest: &Rest, change: Value, fields: &[&str]) {
    let answer = rest.post("/aggregator/servers", with(remote("a"), change.clone())).await;
    let mut wrong = answer.wrong_fields();
    wrong.sort();
    let mut fields = fields.to_vec();
    fields.sort_unstable();
    assert_eq!(wrong, fields, "{change}: {}", answer.body);
}

#[tokio::test]
async fn br_001_each_field_that_breaks_its_rule_is_422_and_named() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let long = "a".repeat(256);
    for name in ["", "Git", "1git", "-git", "_git", "git.hub", "git:hub", "git hub", "gıt", "git\n", &long] {
        refused(&rest, json!({ "name": name }), &["body.name"]).await;
    }
    for transport in ["", "CARRIER", "STDIO ", "WEBSOCKET"] {
        refused(&rest, json!({ "transport_type": transport }), &["body.transport_type"]).await;
    }
    let long = "ü".repeat(1001);
    refused(&rest, json!({ "description": long }), &["body.description"]).await;
    for url in ["nowhere", "ftp://host.example/", "http://", "/health", "http:// host/", "http://u:p@host/"] {
        refused(&rest, json!({ "health_check_url": url }), &["body.health_check_url"]).await;
    }
    for timeout in [json!(0), json!(-1), json!(86_401), json!(1e300)] {
        refused(&rest, json!({ "timeout": timeout }), &["body.timeout"]).await;
    }
    for (field, value) in [
        ("name", json!(7)),
        ("name", Value::Null),
        ("transport_type", json!(["HTTP"])),
        ("connection_config", json!("http://127.0.0.1:9/")),
        ("connection_config", Value::Null),
        ("auto_connect", json!("yes")),
        ("timeout", json!("10s")),
        ("description", json!({})),
        ("unknown", json!(1)),
    ] {
        refused(&rest, json!({ field: value }), &[&format!("body.{field}")]).await;
    }
    assert_eq!(rest.get("/aggregator/servers").await.json(200), json!([]), "none of them is there");
}

#[tokio::test]
async fn br_001_a_missing_field_is_422_and_named() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for field in ["name", "transport_type", "connection_config"] {
        let mut draft = remote("a");
        draft.as_object_mut().unwrap().remove(field);
        let answer = rest.post("/aggregator/servers", draft).await;
        assert_eq!(answer.wrong_fields(), [format!("body.{field}")]);
    }
}

#[tokio::test]
async fn br_001_each_transport_needs_its_own_fields_and_takes_no_others() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let url = "http://127.0.0.1:9/mcp";
    for (transport, config, fields) in [
        ("STDIO", json!({}), &["command"][..]),
        ("STDIO", json!({ "command": " " }), &["command"]),
        ("STDIO", json!({ "command": "true", "url": url }), &["url"]),
        ("STDIO", json!({ "command": "true", "headers": {} }), &["headers"]),
        ("STDIO", json!({ "command": "true", "env": { "A=B": "c" } }), &["env.A=B"]),
        ("STDIO", json!({ "command": "true", "args": "x" }), &["args"]),
        ("STDIO", json!({ "command": "true", "args": [1] }), &["args.0"]),
        ("STDIO", json!({ "command": "true", "env": { "A": 1 } }), &["env.A"]),
        ("SSE", json!({ "headers": {} }), &["url"]),
        ("SSE", json!({ "base_url": url }), &["base_url", "url"]),
        ("SSE", json!({ "url": "nowhere" }), &["url"]),
        ("SSE", json!({ "url": url, "command": "true" }), &["command"]),
        ("HTTP", json!({}), &["base_url"]),
        ("HTTP", json!({ "base_url": url, "url": url }), &["url"]),
        ("HTTP", json!({ "base_url": "gopher://x/" }), &["base_url"]),
        ("HTTP", json!({ "base_url": "http://u:p@127.0.0.1:9/" }), &["base_url"]),
        ("HTTP", json!({ "base_url": url, "headers": { "a b": "c" } }), &["headers.a b"]),
        ("HTTP", json!({ "base_url": url, "headers": { "X": "a\r\nb" } }), &["headers.X"]),
        ("HTTP", json!({ "base_url": url, "headers": { "Host": "x" } }), &["headers.Host"]),
        ("HTTP", json!({ "base_url": url, "args": [], "env": {} }), &["args", "env"]),
    ] {
        let fields: Vec<String> =
            fields.iter().map(|field| format!("body.connection_config.{field}")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        refused(&rest, json!({ "transport_type": transport, "connection_config": config }), &fields).await;
    }
    let answer = rest
        .post("/aggregator/servers", with(remote("a"), json!({ "connection_config": { "base-url": url } })));
    assert_eq!(answer.await.wrong_fields(), ["body.connection_config.base-url"]);
}

#[tokio::test]
async fn br_001_everything_that_is_wrong_is_told_at_once() {
    let gateway = Gateway::builder().serve().await;
    let draft = json!({
        "name": "Git Hub", "transport_type": "HTTP", "description": "x".repeat(1001), "timeout": 0,
        "connection_config": { "base_url": "ftp://x", "command": "ls", "headers": { "Host": "x" } },
        "health_check_url": "nowhere",
    });
    let answer = gateway.rest().post("/aggregator/servers", draft).await;
    let mut wrong = answer.wrong_fields();
    wrong.sort();
    assert_eq!(
        wrong,
        [
            "body.connection_config.base_url",
            "body.connection_config.command",
            "body.connection_config.headers.Host",
            "body.description",
            "body.health_check_url",
            "body.name",
            "body.timeout",
        ]
    );
}

#[tokio::test]
async fn br_001_what_is_just_within_the_rules_is_taken() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let longest = "a".repeat(255);
    for name in [longest.as_str(), "a", "a-b_c-9", "z--__"] {
        let fields = json!({ "description": "ü".repeat(1000), "timeout": 0.25, "transport_type": "hTtP" });
        let shown = registered(&rest, with(remote(name), fields)).await;
        assert_eq!((&shown["name"], &shown["timeout"]), (&json!(name), &json!(0.25)));
        assert_eq!(shown["transport_type"], "HTTP");
    }
    // A server of the type HTTP may also say `url`, as those of the type SSE do.
    let by_url = json!({ "connection_config": { "url": "http://127.0.0.1:9/mcp" } });
    let shown = registered(&rest, with(remote("by-url"), by_url)).await;
    assert_eq!(shown["connection_config"], json!({ "base_url": "http://127.0.0.1:9/mcp", "headers": {} }));
}

#[tokio::test]
async fn f70_more_servers_than_the_limit_are_refused_and_nothing_else_suffers() {
    let gateway = Gateway::builder().env("PORTOLAN_LIMITS_SERVERS", "2").serve().await;
    let rest = gateway.rest();
    registered(&rest, remote("one")).await;
    registered(&rest, remote("two")).await;
    let problem = rest.post("/aggregator/servers", remote("three")).await.problem(409, "TOO_MANY_SERVERS");
    assert!(problem["detail"].as_str().unwrap().contains("limits.servers"), "{problem}");
    rest.delete("/aggregator/servers/one").await.empty(204);
    registered(&rest, remote("three")).await;
}

#[tokio::test]
async fn t20_a_servers_tool_never_answers_to_the_name_of_one_of_our_own() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "mcp__proxy__aggregator", &["--faults"])).await;
    let tools = json!({ "add": ["query", "search_tools", "call_tool"] });
    call_text(&rest, "mcp__proxy__aggregator.change_tools", tools).await;
    let name = "mcp__proxy__aggregator.query";
    eventually("the new tools can be called", async || {
        Some(call(&rest, name, json!({})).await).filter(|answer| answer.status == 200)
    })
    .await;
    for name in ["mcp__proxy__aggregator__query", "search_tools", "call_tool"] {
        call(&rest, name, json!({})).await.problem(404, "TOOL_NOT_FOUND");
    }
    let journal = gateway.journal("mcp__proxy__aggregator");
    assert_eq!((journal.executions("query"), journal.executions("search_tools")), (1, 0));
}
