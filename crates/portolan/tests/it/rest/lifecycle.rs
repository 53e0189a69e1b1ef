//! BR-002: connecting over each transport, what is answered meanwhile, and what becomes of a server that cannot be.

use super::registration::is_moment;
use super::{
    call_text, connected, eventually, http, in_state, one, registered, server, sse, stdio, turns, with,
};
use crate::kit::until;
use portolan_testkit::{Fixture, Gateway, Rest, processes};
use serde_json::{Value, json};

async fn connect(rest: &Rest, name: &str) -> Value {
    rest.post_nothing(&format!("/aggregator/servers/{name}/connect")).await.json(200)
}

#[tokio::test]
async fn br_002_connecting_is_answered_at_once_and_goes_on_by_itself() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let go = gateway.directory().join("go");
    let draft = stdio(&gateway, "one", &["--start-when", go.to_str().unwrap()]);
    let before = registered(&rest, with(draft, json!({ "auto_connect": false }))).await;
    assert_eq!(before["connected_at"], Value::Null);
    for _ in 0..2 {
        let answer = connect(&rest, "one").await;
        assert_eq!(answer, json!({ "status": "CONNECTING", "message": "Connection initiated" }));
        assert_eq!(server(&rest, "one").await["status"], "CONNECTING");
    }
    std::fs::write(&go, "").unwrap();
    let shown = in_state(&rest, "one", "CONNECTED").await;
    is_moment(&shown["connected_at"]);
    assert_eq!((&shown["auto_connect"], &shown["error_message"]), (&json!(true), &Value::Null));
    assert!(shown["tool_count"].as_u64().unwrap() > 0, "its tools were asked for: {shown}");
    assert_eq!(gateway.journal("one").starts(), 1, "two wishes are one connection");
}

#[tokio::test]
async fn br_002_connecting_what_is_connected_succeeds_and_changes_nothing() {
    let (gateway, rest) = one(&["--faults"]).await;
    let before = (server(&rest, "one").await, turns(&rest, "one").await);
    for path in ["connect", "connect?wait=true", "connect?wait=false"] {
        let answer = rest.post_nothing(&format!("/aggregator/servers/one/{path}")).await.json(200);
        assert_eq!(
            (&answer["status"], &answer["message"]),
            (&json!("CONNECTED"), &json!("Already connected"))
        );
    }
    assert_eq!((server(&rest, "one").await, turns(&rest, "one").await), before);
    assert_eq!(gateway.journal("one").starts(), 1);
}

#[tokio::test]
async fn br_002_all_three_transports_connect_discover_and_carry_calls() {
    let (web, old) = (Fixture::http(&[]).await, Fixture::sse(&[]).await);
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for (draft, transport) in
        [(stdio(&gateway, "program", &[]), "STDIO"), (http("web", &web), "HTTP"), (sse("old", &old), "SSE")]
    {
        let shown = connected(&rest, draft).await;
        assert_eq!(shown["transport_type"], transport);
        let name = shown["name"].as_str().unwrap();
        assert!(shown["tool_count"].as_u64().unwrap() > 10, "{shown}");
        let said = call_text(&rest, &format!("{name}.echo"), json!({ "via": transport })).await;
        assert_eq!(said, json!({ "via": transport }).to_string());
        assert_eq!(turns(&rest, name).await, ["CONNECTING", "CONNECTED"]);
    }
}

#[tokio::test]
async fn br_002_headers_arguments_and_variables_reach_the_server() {
    let web = Fixture::http(&[]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let mut draft = http("web", &web);
    draft["connection_config"]["headers"] = json!({ "X-Team": "harbour", "Authorization": "Bearer plain" });
    connected(&rest, draft).await;
    let seen = &web.journal().of("initialize")[0]["headers"];
    assert_eq!((&seen["x-team"], &seen["authorization"]), (&json!("harbour"), &json!("Bearer plain")));
    let mut draft = stdio(&gateway, "program", &["--faults", "--name", "a b; $(touch x) $$HOME"]);
    draft["connection_config"]["env"] = json!({ "COLOUR": "ochre; `id`", "PRICE": "5$$" });
    draft["connection_config"]["cwd"] = json!(gateway.directory());
    connected(&rest, draft).await;
    let env: Value = serde_json::from_str(&call_text(&rest, "program.env", json!({})).await).unwrap();
    assert_eq!((&env["COLOUR"], &env["PRICE"]), (&json!("ochre; `id`"), &json!("5$")));
    assert!(!gateway.directory().join("x").exists(), "no shell has read it");
    let pid: Value = serde_json::from_str(&call_text(&rest, "program.pid", json!({})).await).unwrap();
    let process = processes::Process::read(u32::try_from(pid["pid"].as_u64().unwrap()).unwrap()).unwrap();
    assert!(process.command.contains("a b; $(touch x) $HOME"), "{}", process.command);
}

#[tokio::test]
async fn br_002_refused_credentials_are_an_error_with_its_reason_told_in_the_log_and_not_hammered() {
    let locked = Fixture::http(&["--unauthorized"]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    registered(&rest, with(http("locked", &locked), json!({ "auto_connect": false }))).await;
    let answer = rest.post_nothing("/aggregator/servers/locked/connect?wait=true").await.json(200);
    assert_eq!(answer["status"], "ERROR");
    let shown = server(&rest, "locked").await;
    let error = shown["error_message"].as_str().unwrap();
    assert!(error.contains("401") && error.contains("credentials"), "{error}");
    assert_eq!(answer["message"], error);
    let warned =
        |line: &String| line.contains("WARN") && line.contains("security") && line.contains("locked");
    gateway.stderr().wait_for("a security warning", warned).await;
    assert_eq!(locked.journal().events("unauthorized").len(), 1, "asked once");
    assert_eq!(turns(&rest, "locked").await, ["CONNECTING", "ERROR"]);
    // Somebody who asks is heard, and so is a change.
    rest.post_nothing("/aggregator/servers/locked/connect?wait=true").await.json(200);
    assert_eq!(locked.journal().events("unauthorized").len(), 2);
    let open = Fixture::http(&[]).await;
    rest.patch("/aggregator/servers/locked", json!({ "connection_config": { "base_url": open.url() } }))
        .await
        .json(200);
    in_state(&rest, "locked", "CONNECTED").await;
}

#[tokio::test]
async fn br_002_ec_001_a_server_that_is_down_is_an_error_after_four_tries_and_is_found_when_it_is_back() {
    let mut down = Fixture::http(&[]).await;
    down.stop().await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    registered(&rest, http("web", &down)).await;
    let shown = eventually("the first failure is told", async || {
        Some(server(&rest, "web").await).filter(|server| !server["error_message"].is_null())
    })
    .await;
    assert_eq!(shown["status"], "CONNECTING", "it is tried again: {shown}");
    let shown = in_state(&rest, "web", "ERROR").await;
    assert!(!shown["error_message"].as_str().unwrap().is_empty());
    assert_eq!((&shown["connected_at"], &shown["auto_connect"]), (&Value::Null, &json!(true)));
    let failed = turns(&rest, "web").await;
    assert_eq!((failed.first().unwrap().as_str(), failed.last().unwrap().as_str()), ("CONNECTING", "ERROR"));
    // It is down for good only if somebody says so: nobody asks, and it is found all the same.
    let _up = Fixture::http(&["--port", &down.port().to_string()]).await;
    let shown = in_state(&rest, "web", "CONNECTED").await;
    assert_eq!(shown["error_message"], Value::Null);
    let turns = turns(&rest, "web").await;
    assert_eq!(turns[failed.len()..], ["CONNECTING", "CONNECTED"]);
}

#[tokio::test]
async fn a_program_that_is_missing_is_an_error_that_says_so() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let config = json!({ "command": "/nonexistent/portolan-test-program" });
    registered(&rest, json!({ "name": "gone", "transport_type": "STDIO", "connection_config": config }))
        .await;
    let answer = rest.post_nothing("/aggregator/servers/gone/connect?wait=true").await.json(200);
    assert_eq!(answer["status"], "ERROR");
    let shown = server(&rest, "gone").await;
    assert!(shown["error_message"].as_str().unwrap().contains("was not found"), "{shown}");
    let problem = super::call(&rest, "gone.echo", json!({})).await.problem(503, "SERVER_UNAVAILABLE");
    assert_eq!((&problem["server"], &problem["server_status"]), (&json!("gone"), &json!("ERROR")));
    assert_eq!(problem["error_message"], shown["error_message"]);
}

#[tokio::test]
async fn a_reconnect_replaces_the_session_and_connects_what_is_not() {
    let (gateway, rest) = one(&[]).await;
    let ids = super::tool(&rest, "one", "echo").await["id"].clone();
    let answer = rest.post_nothing("/aggregator/servers/one/reconnect").await.json(200);
    assert_eq!(answer["status"], "CONNECTING");
    gateway.journal("one").wait_for("a second start", |journal| journal.starts() == 2).await;
    in_state(&rest, "one", "CONNECTED").await;
    assert_eq!(super::tool(&rest, "one", "echo").await["id"], ids);
    until("the first one is gone", || gateway.fixtures().len() == 1).await;
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    let answer = rest.post_nothing("/aggregator/servers/one/reconnect?wait=true").await.json(200);
    assert_eq!(answer["status"], "CONNECTED", "{answer}");
    let expected = ["CONNECTING", "CONNECTED", "DISCONNECTED"].repeat(3);
    assert_eq!(turns(&rest, "one").await, expected[..8]);
}

#[tokio::test]
async fn a_crowd_of_contrary_wishes_leaves_one_server_that_does_what_the_last_one_asks() {
    let (gateway, rest) = one(&["--only", "echo"]).await;
    let config =
        |name: &str| stdio(&gateway, "one", &["--only", "echo", "--name", name])["connection_config"].clone();
    let (this, that) = (config("this"), config("that"));
    let crowd: Vec<_> = (0..6)
        .map(|first: usize| {
            let (rest, this, that) = (rest.clone(), this.clone(), that.clone());
            tokio::spawn(async move {
                for turn in first..first + 9 {
                    let at = |place: &str| format!("/aggregator/servers/one{place}");
                    let answer = match turn % 9 {
                        0 => rest.post_nothing(&at("/connect")).await,
                        1 => rest.post_nothing(&at("/disconnect")).await,
                        2 => rest.patch(&at(""), json!({ "connection_config": this })).await,
                        3 => rest.post_nothing(&at("/reconnect")).await,
                        4 => rest.post_nothing(&at("/tools/refresh")).await,
                        5 => rest.patch(&at(""), json!({ "auto_connect": turn > 9 })).await,
                        6 => rest.post(&at("/disconnect"), json!({ "force": true })).await,
                        7 => rest.patch(&at(""), json!({ "connection_config": that })).await,
                        _ => rest.post_nothing(&at("/connect?wait=true")).await,
                    };
                    // One that is not connected cannot be asked for its tools.
                    let is_fine =
                        matches!(answer.status, 200 | 202) || (turn % 9 == 4 && answer.status == 409);
                    assert!(is_fine, "{answer:?}");
                }
            })
        })
        .collect();
    for one in crowd {
        one.await.unwrap();
    }
    let answer = rest.post_nothing("/aggregator/servers/one/connect?wait=true").await.json(200);
    assert_eq!(answer["status"], "CONNECTED", "{answer}");
    assert_eq!(call_text(&rest, "one.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    until("one process is left", || gateway.fixtures().len() == 1).await;
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    until("none is left", || gateway.fixtures().is_empty()).await;
    assert_eq!(server(&rest, "one").await["status"], "DISCONNECTED");
}
