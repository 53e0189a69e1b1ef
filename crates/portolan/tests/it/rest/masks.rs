//! T22: a credential goes in and never comes out again, and whoever sends back what was shown keeps what is there.

use super::{call, call_text, connected, eventually, http, in_state, registered, server, stdio};
use portolan_testkit::{Fixture, Gateway, Rest};
use serde_json::{Value, json};
use std::path::Path;

/// Each place has its own, so that a leak says where it came from.
const ENV: &str = "canary-env-5d1b";
const ARG: &str = "canary-arg-77c0";
const HEADER: &str = "canary-header-e2a9";
const BEARER: &str = "canary-bearer-90f4";
const QUERY: &str = "canary-query-3c8e";
const HEALTH: &str = "canary-health-b6d2";
const SECRET: &str = "canary-secret-14af";
const CANARY: &str = "canary-";

fn program(gateway: &Gateway) -> Value {
    let mut draft = stdio(gateway, "program", &["--faults", "--api-key", ARG]);
    draft["connection_config"]["env"] = json!({ "TOKEN": ENV, "FROM_STORE": "${KEPT}" });
    draft
}

fn web(fixture: &Fixture) -> Value {
    let mut draft = http("web", fixture);
    draft["connection_config"]["base_url"] = json!(format!("{}?api_key={QUERY}", fixture.url()));
    draft["connection_config"]["headers"] =
        json!({ "X-Key": HEADER, "Authorization": format!("Bearer {BEARER}") });
    draft["health_check_url"] = json!(format!("http://127.0.0.1:9/?key={HEALTH}"));
    draft
}

/// Everything that can be read over REST.
async fn everything(rest: &Rest) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for path in [
        "/aggregator/servers",
        "/aggregator/servers?include_tools=true",
        "/aggregator/servers/program",
        "/aggregator/servers/web",
        "/aggregator/servers/program/tools",
        "/aggregator/servers/program/health",
        "/aggregator/servers/web/health",
        "/aggregator/servers/program/history",
        "/aggregator/servers/web/history",
        "/aggregator/tools",
        "/aggregator/state",
        "/aggregator/health",
        "/secrets",
    ] {
        let answer = rest.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        all.push((answer.request, answer.body));
    }
    for page in ["/metrics", "/openapi.json", "/", "/docs"] {
        let answer = rest.page(page).await;
        all.push((answer.request, answer.body));
    }
    all
}

/// The bytes of every file of the data folder.
fn stored(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
    files.filter(|path| path.is_file()).map(read).collect()
}

#[track_caller]
fn holds_no_canary(place: &str, bytes: &[u8]) {
    let found = bytes.windows(CANARY.len()).position(|window| window == CANARY.as_bytes());
    if let Some(at) = found {
        let end = (at + 40).min(bytes.len());
        panic!("{place} holds {}", String::from_utf8_lossy(&bytes[at..end]));
    }
}

#[tokio::test]
async fn t22_a_credential_is_in_no_answer_no_log_no_event_and_no_file() {
    let mut fixture = Fixture::http(&[]).await;
    let gateway = Gateway::builder().arg("--debug").env("PORTOLAN_HEALTH_INTERVAL", "200ms").serve().await;
    let rest = gateway.rest();
    let events = rest.events(Some(0)).await;
    rest.put("/secrets/KEPT", json!({ "value": SECRET })).await.empty(204);
    let mut answers = Vec::new();
    for draft in [program(&gateway), web(&fixture)] {
        let answer = rest.post("/aggregator/servers", draft.clone()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let name = draft["name"].as_str().unwrap();
        let connected = rest.post_nothing(&format!("/aggregator/servers/{name}/connect?wait=true")).await;
        assert_eq!(connected.json(200)["status"], "CONNECTED");
        answers.extend([answer, connected]);
        // Told that it is there already, in all ways in which a draft can be wrong.
        answers.push(rest.post("/aggregator/servers", draft.clone()).await);
        for (field, value) in [
            ("name", json!("Wrong")),
            ("timeout", json!(0)),
            ("unknown", json!(1)),
            ("description", json!(7)),
        ] {
            let mut draft = draft.clone();
            draft[field] = value;
            answers.push(rest.post("/aggregator/servers", draft).await);
        }
        let patch = json!({ "connection_config": draft["connection_config"], "description": "x" });
        answers.push(rest.patch(&format!("/aggregator/servers/{name}"), patch).await);
    }
    // All places had it, or there would be nothing to find.
    let env: Value = serde_json::from_str(&call_text(&rest, "program.env", json!({})).await).unwrap();
    assert_eq!((&env["TOKEN"], &env["FROM_STORE"]), (&json!(ENV), &json!(SECRET)));
    let seen = &fixture.journal().of("initialize")[0]["headers"];
    assert_eq!(
        (&seen["x-key"], &seen["authorization"]),
        (&json!(HEADER), &json!(format!("Bearer {BEARER}")))
    );
    // Errors are where addresses and reasons are told.
    let asked = async || {
        Some(rest.get("/aggregator/servers/web/health").await.json(200))
            .filter(|health| !health["last_error"].is_null())
    };
    eventually("a health check failed", asked).await;
    fixture.stop().await;
    answers.push(call(&rest, "web.echo", json!({})).await);
    answers.push(call(&rest, "program.crash", json!({})).await);
    in_state(&rest, "program", "CONNECTED").await;
    rest.post_nothing("/aggregator/servers/web/disconnect").await.json(200);
    for answer in &answers {
        holds_no_canary(&answer.request, answer.body.as_bytes());
        holds_no_canary(&answer.request, format!("{:?}", answer.headers).as_bytes());
    }
    for (place, text) in everything(&rest).await {
        holds_no_canary(&place, text.as_bytes());
    }
    for event in events.messages.all() {
        holds_no_canary("an event", event.to_string().as_bytes());
    }
    let files = stored(&gateway.data());
    assert!(
        files.iter().any(|(name, bytes)| name.ends_with("portolan.db") && !bytes.is_empty()),
        "{files:?}"
    );
    for (place, bytes) in files {
        holds_no_canary(&place, &bytes);
    }
    for line in gateway.stderr().all() {
        holds_no_canary("the log", line.as_bytes());
    }
    let folder = gateway.data();
    let gateway = gateway.restart().await;
    in_state(&gateway.rest(), "program", "CONNECTED").await;
    for line in gateway.stderr().all() {
        holds_no_canary("the log", line.as_bytes());
    }
    for (place, bytes) in stored(&folder) {
        holds_no_canary(&place, &bytes);
    }
}

#[tokio::test]
async fn t22_a_credential_that_is_refused_or_leads_nowhere_is_not_told_either() {
    let fixture = Fixture::http(&["--unauthorized"]).await;
    let gateway = Gateway::builder().arg("--debug").serve().await;
    let rest = gateway.rest();
    rest.put("/secrets/KEPT", json!({ "value": SECRET })).await.empty(204);
    connected(&rest, program(&gateway)).await;
    registered(&rest, web(&fixture)).await;
    in_state(&rest, "web", "ERROR").await;
    let mut draft = web(&fixture);
    draft["name"] = json!("nobody");
    draft["connection_config"]["base_url"] = json!(format!("http://127.0.0.1:9/{QUERY}?api_key={QUERY}"));
    registered(&rest, draft).await;
    eventually("it failed", async || {
        Some(server(&rest, "nobody").await).filter(|server| !server["error_message"].is_null())
    })
    .await;
    for line in gateway.stderr().all() {
        holds_no_canary("the log", line.as_bytes());
    }
}

#[tokio::test]
async fn t22_values_are_masked_and_references_are_shown() {
    let fixture = Fixture::http(&[]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    rest.put("/secrets/KEPT", json!({ "value": SECRET })).await.empty(204);
    let shown = connected(&rest, program(&gateway)).await;
    let config = &shown["connection_config"];
    assert_eq!(config["env"], json!({ "TOKEN": "***", "FROM_STORE": "${KEPT}" }));
    let args: Vec<&str> =
        config["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(args[args.len() - 3..], ["--faults", "--api-key", "***"]);
    assert!(config["command"].as_str().unwrap().ends_with("portolan-fixture"));
    let shown = connected(&rest, web(&fixture)).await;
    let config = &shown["connection_config"];
    assert_eq!(config["base_url"], format!("{}?api_key=***", fixture.url()));
    assert_eq!(config["headers"]["X-Key"], "***");
    assert!(!config["headers"]["Authorization"].as_str().unwrap().contains(BEARER), "{config}");
    assert_eq!(shown["health_check_url"], "http://127.0.0.1:9/?key=***");
}

#[tokio::test]
async fn t22_what_was_shown_and_is_sent_back_keeps_what_is_there() {
    let fixture = Fixture::http(&[]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    rest.put("/secrets/KEPT", json!({ "value": SECRET })).await.empty(204);
    let mut config = connected(&rest, program(&gateway)).await["connection_config"].clone();
    config["env"]["MORE"] = json!("new");
    let shown =
        rest.patch("/aggregator/servers/program", json!({ "connection_config": config })).await.json(200);
    assert_eq!(shown["connection_config"]["env"]["TOKEN"], "***");
    let env: Value = serde_json::from_str(&call_text(&rest, "program.env", json!({})).await).unwrap();
    assert_eq!(
        (&env["TOKEN"], &env["FROM_STORE"], &env["MORE"]),
        (&json!(ENV), &json!(SECRET), &json!("new"))
    );
    let pid: Value = serde_json::from_str(&call_text(&rest, "program.pid", json!({})).await).unwrap();
    let pid = u32::try_from(pid["pid"].as_u64().unwrap()).unwrap();
    let process = portolan_testkit::processes::Process::read(pid).unwrap();
    assert!(process.command.contains(ARG), "the argument is what it was: {}", process.command);
    // The same for an address and for headers, of which one changes.
    let shown = connected(&rest, web(&fixture)).await;
    let mut config = shown["connection_config"].clone();
    config["headers"]["X-Key"] = json!("another");
    let patch = json!({ "connection_config": config, "health_check_url": shown["health_check_url"] });
    let after = rest.patch("/aggregator/servers/web", patch).await.json(200);
    assert_eq!(after["connection_config"], shown["connection_config"]);
    let journal = fixture.journal();
    journal.wait_for("the new session", |journal| journal.of("initialize").len() == 2).await;
    let seen = journal.of("initialize")[1]["headers"].clone();
    assert_eq!(
        (&seen["x-key"], &seen["authorization"]),
        (&json!("another"), &json!(format!("Bearer {BEARER}")))
    );
}

#[tokio::test]
async fn t22_a_mask_that_stands_for_nothing_is_refused() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    rest.put("/secrets/KEPT", json!({ "value": SECRET })).await.empty(204);
    let mut draft = program(&gateway);
    draft["connection_config"]["env"]["TOKEN"] = json!("***");
    rest.post("/aggregator/servers", draft).await.problem(422, "VALIDATION_ERROR");
    let before = connected(&rest, program(&gateway)).await;
    let mut config = before["connection_config"].clone();
    config["env"]["OTHER"] = json!("***");
    let answer = rest.patch("/aggregator/servers/program", json!({ "connection_config": config })).await;
    answer.problem(422, "VALIDATION_ERROR");
    assert_eq!(server(&rest, "program").await, before);
}
