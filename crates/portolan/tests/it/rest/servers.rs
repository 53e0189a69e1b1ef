//! Servers as they are listed and shown, and all of them in numbers.

use super::registration::is_moment;
use super::{connected, in_state, one, registered, server, stdio, tools, with};
use portolan_testkit::{Gateway, Rest};
use serde_json::{Value, json};

/// Three servers: `a` and `c` are connected, `b` is not meant to be.
async fn three() -> (Gateway, Rest) {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "c", &["--only", "echo"])).await;
    connected(&rest, stdio(&gateway, "a", &["--only", "echo,test_simple_text"])).await;
    registered(&rest, with(stdio(&gateway, "b", &[]), json!({ "auto_connect": false }))).await;
    (gateway, rest)
}

async fn names(rest: &Rest, query: &str) -> (Vec<String>, String) {
    let answer = rest.get(&format!("/aggregator/servers{query}")).await;
    let servers = answer.json(200);
    let names = servers.as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap().to_owned());
    (names.collect(), answer.header("x-total-count").unwrap().to_owned())
}

#[tokio::test]
async fn the_list_is_an_array_by_name_with_filters_and_windows() {
    let gateway = Gateway::builder().serve().await;
    assert_eq!(names(&gateway.rest(), "").await, (vec![], "0".to_owned()));
    let (_gateway, rest) = three().await;
    for (query, expected, total) in [
        ("", &["a", "b", "c"][..], "3"),
        ("?status=CONNECTED", &["a", "c"], "2"),
        ("?status=connected", &["a", "c"], "2"),
        ("?status=Disconnected", &["b"], "1"),
        ("?status=ERROR", &[], "0"),
        ("?limit=1", &["a"], "3"),
        ("?limit=2&offset=1", &["b", "c"], "3"),
        ("?status=CONNECTED&offset=1", &["c"], "2"),
        ("?offset=9", &[], "3"),
    ] {
        let (names, count) = names(&rest, query).await;
        assert_eq!(
            (names, count.as_str()),
            (expected.iter().map(ToString::to_string).collect(), total),
            "{query}"
        );
    }
    for (query, field) in [
        ("?status=ready", "query.status"),
        ("?limit=0", "query.limit"),
        ("?limit=1001", "query.limit"),
        ("?offset=-1", "query.offset"),
        ("?include_tools=yes", "query.include_tools"),
        ("?stauts=ERROR", "query.stauts"),
        ("?limit=1&limit=2", "query.limit"),
    ] {
        let answer = rest.get(&format!("/aggregator/servers{query}")).await;
        assert_eq!(answer.wrong_fields(), [field], "{query}");
    }
}

#[tokio::test]
async fn the_list_shows_tools_only_where_they_are_asked_for() {
    let (_gateway, rest) = three().await;
    let plain = rest.get("/aggregator/servers?include_tools=false").await.json(200);
    assert!(plain.as_array().unwrap().iter().all(|server| server.get("tools").is_none()), "{plain}");
    let full = rest.get("/aggregator/servers?include_tools=true").await.json(200);
    for (at, (name, count)) in [("a", 2), ("b", 0), ("c", 1)].into_iter().enumerate() {
        assert_eq!(full[at]["tools"].as_array().unwrap().len(), count, "{name}");
        assert_eq!(full[at]["tool_count"], count, "{name}");
        assert_eq!(full[at]["tools"], Value::Array(tools(&rest, name).await), "{name}");
    }
    assert_eq!(full[2]["tools"][0]["name"], "c.echo");
}

#[tokio::test]
async fn a_server_is_shown_the_same_by_its_id_and_by_its_name() {
    let (_gateway, rest) = one(&[]).await;
    let shown = server(&rest, "one").await;
    assert_eq!(server(&rest, shown["id"].as_str().unwrap()).await, shown);
    let upper = shown["id"].as_str().unwrap().to_uppercase();
    assert_eq!(server(&rest, &upper).await["name"], "one", "a UUID is the same in any case");
    assert_eq!(shown["status"], "CONNECTED");
    assert!(shown["tool_count"].as_u64().unwrap() > 10, "{shown}");
    is_moment(&shown["registered_at"]);
    is_moment(&shown["connected_at"]);
    assert!(shown["registered_at"].as_str() <= shown["connected_at"].as_str());
    let listed = rest.get("/aggregator/servers").await.json(200);
    assert_eq!(listed, json!([shown]));
    for key in ["nobody", "00000000-0000-4000-8000-000000000000", "One", "%00", "one%20"] {
        let problem = rest.get(&format!("/aggregator/servers/{key}")).await.problem(404, "SERVER_NOT_FOUND");
        assert!(problem["detail"].as_str().unwrap().starts_with("Server not found: "), "{problem}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_404_on_every_route_that_names_a_server() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let at = |place: &str| format!("/aggregator/servers/nobody{place}");
    for answer in [
        rest.get(&at("")).await,
        rest.patch(&at(""), json!({})).await,
        rest.delete(&at("")).await,
        rest.post_nothing(&at("/connect")).await,
        rest.post_nothing(&at("/reconnect")).await,
        rest.post_nothing(&at("/disconnect")).await,
        rest.post(&at("/disconnect"), json!({ "force": true })).await,
        rest.get(&at("/tools")).await,
        rest.post_nothing(&at("/tools/refresh")).await,
        rest.patch(&at("/tools/echo"), json!({ "enabled": false })).await,
        rest.patch(&at("/tools/refresh"), json!({ "enabled": false })).await,
        rest.get(&at("/health")).await,
        rest.get(&at("/history")).await,
    ] {
        let problem = answer.problem(404, "SERVER_NOT_FOUND");
        assert_eq!(problem["detail"], "Server not found: nobody", "{}", answer.request);
    }
}

#[tokio::test]
async fn the_state_counts_servers_by_their_states_and_their_tools() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let empty = rest.get("/aggregator/state").await.json(200);
    assert_eq!(empty["last_sync"], Value::Null);
    for field in [
        "total_servers",
        "connected_servers",
        "connecting_servers",
        "degraded_servers",
        "disconnected_servers",
        "error_servers",
        "total_tools",
        "classified_tools",
        "unclassified_tools",
        "unindexed_tools",
    ] {
        assert_eq!(empty[field], 0, "{field}");
    }
    connected(&rest, stdio(&gateway, "well", &["--tools", "7"])).await;
    registered(&rest, with(stdio(&gateway, "off", &[]), json!({ "auto_connect": false }))).await;
    let hole = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", hole.local_addr().unwrap());
    registered(
        &rest,
        json!({ "name": "slow", "transport_type": "HTTP", "connection_config": { "url": url } }),
    )
    .await;
    // Refused credentials are an error at once.
    let locked = portolan_testkit::Fixture::http(&["--unauthorized"]).await;
    registered(&rest, super::http("locked", &locked)).await;
    in_state(&rest, "locked", "ERROR").await;
    let state = rest.get("/aggregator/state").await.json(200);
    for (field, count) in [
        ("total_servers", 4),
        ("connected_servers", 1),
        ("connecting_servers", 1),
        ("degraded_servers", 0),
        ("disconnected_servers", 1),
        ("error_servers", 1),
        ("total_tools", 7),
        ("classified_tools", 0),
        ("unclassified_tools", 7),
    ] {
        assert_eq!(state[field], count, "{field} in {state}");
    }
    is_moment(&state["last_sync"]);
    assert!(state["uptime_seconds"].is_u64(), "{state}");
    let health = rest.get("/aggregator/health").await.json(200);
    assert_eq!(health["status"], "degraded", "one that is meant to be connected is not");
    rest.delete("/aggregator/servers/locked").await.empty(204);
    let health = rest.get("/aggregator/health").await.json(200);
    assert_eq!(health["status"], "healthy");
    let servers = health["servers"].as_array().unwrap();
    let names: Vec<&str> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["off", "slow", "well"]);
}
