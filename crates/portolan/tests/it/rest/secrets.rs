//! T17: what `${NAME}` means in a registered server: a secret that somebody set, a variable that was let in, and no other.

use super::{call_text, connected, eventually, http, registered, server, stdio, with};
use portolan_testkit::{Fixture, Gateway, Rest};
use serde_json::{Value, json};

async fn set(rest: &Rest, name: &str, value: &str) {
    rest.put(&format!("/secrets/{name}"), json!({ "value": value })).await.empty(204);
}

async fn env_of(rest: &Rest, server: &str) -> Value {
    serde_json::from_str(&call_text(rest, &format!("{server}.env"), json!({})).await).unwrap()
}

fn remote(config: Value) -> Value {
    json!({ "name": "one", "transport_type": "HTTP", "connection_config": config, "auto_connect": false })
}

#[tokio::test]
async fn t17_a_variable_of_ours_is_422_in_every_field_and_spelling() {
    let gateway = Gateway::builder().env("LAB_OURS", "ours").serve().await;
    let rest = gateway.rest();
    let url = "http://127.0.0.1:9/mcp";
    let program =
        |config: Value| json!({ "name": "one", "transport_type": "STDIO", "connection_config": config });
    for name in
        ["${PATH}", "$PATH", "${HOME}", "${LAB_OURS}", "${PORTOLAN_SECRET_KEY}", "${env:PATH}", "x${PATH}y"]
    {
        for draft in [
            remote(json!({ "base_url": url, "headers": { "X": name } })),
            remote(json!({ "base_url": format!("{url}?key={name}") })),
            remote(json!({ "base_url": format!("http://{name}/") })),
            program(json!({ "command": "true", "env": { "X": name } })),
            program(json!({ "command": "true", "args": [name] })),
            program(json!({ "command": name })),
            program(json!({ "command": "true", "cwd": name })),
            with(
                remote(json!({ "base_url": url })),
                json!({ "health_check_url": format!("{url}?key={name}") }),
            ),
        ] {
            let answer = rest.post("/aggregator/servers", draft.clone()).await;
            let problem = answer.problem(422, "VALIDATION_ERROR");
            assert!(problem["detail"].as_str().unwrap().contains("secret"), "{draft}: {problem}");
        }
    }
    registered(&rest, remote(json!({ "base_url": url }))).await;
    let patch = json!({ "connection_config": { "base_url": url, "headers": { "X": "${PATH}" } } });
    rest.patch("/aggregator/servers/one", patch).await.problem(422, "VALIDATION_ERROR");
    assert_eq!(server(&rest, "one").await["connection_config"]["headers"], json!({}));
}

#[tokio::test]
async fn t17_a_secret_reaches_the_server_in_every_field() {
    let web = Fixture::http(&[]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    set(&rest, "TOKEN", "s3cret").await;
    set(&rest, "FLAG", "--faults").await;
    let mut draft = http("web", &web);
    draft["connection_config"]["headers"] =
        json!({ "Authorization": "Bearer ${TOKEN}", "X-Plain": "$$TOKEN costs 5$$" });
    connected(&rest, draft).await;
    let seen = &web.journal().of("initialize")[0]["headers"];
    assert_eq!(
        (&seen["authorization"], &seen["x-plain"]),
        (&json!("Bearer s3cret"), &json!("$TOKEN costs 5$"))
    );
    let mut draft = stdio(&gateway, "one", &["${FLAG}"]);
    draft["connection_config"]["env"] =
        json!({ "A": "<$TOKEN>", "B": "${PATH:-default}", "C": "${env:TOKEN}" });
    let shown = connected(&rest, draft).await;
    let env = env_of(&rest, "one").await;
    assert_eq!((&env["A"], &env["C"]), (&json!("<s3cret>"), &json!("s3cret")));
    assert_eq!(env["B"], "default", "a default is no way to read our environment");
    assert!(shown["connection_config"]["args"].as_array().unwrap().contains(&json!("${FLAG}")), "{shown}");
}

#[tokio::test]
async fn t17_a_secret_goes_before_a_variable_of_the_same_name_and_a_change_is_read_by_the_next_session() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    set(&rest, "HOME", "first").await;
    let mut draft = stdio(&gateway, "one", &["--faults"]);
    draft["connection_config"]["env"] = json!({ "X": "${HOME}" });
    connected(&rest, draft).await;
    assert_eq!(env_of(&rest, "one").await["X"], "first");
    set(&rest, "HOME", "second").await;
    assert_eq!(env_of(&rest, "one").await["X"], "first");
    rest.post_nothing("/aggregator/servers/one/reconnect?wait=true").await.json(200);
    assert_eq!(env_of(&rest, "one").await["X"], "second");
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    super::in_state(&rest, "one", "CONNECTED").await;
    assert_eq!(env_of(&rest, "one").await["X"], "second", "kept across a restart");
    rest.delete("/secrets/HOME").await.empty(204);
    rest.post_nothing("/aggregator/servers/one/reconnect").await.json(200);
    let told = eventually("it failed", async || {
        Some(server(&rest, "one").await).filter(|server| !server["error_message"].is_null())
    })
    .await;
    assert!(told["error_message"].as_str().unwrap().contains("HOME"), "{told}");
}

#[tokio::test]
async fn t17_a_variable_that_was_let_in_is_read_and_no_other() {
    let builder = Gateway::builder().env("LAB_IN", "let-in").env("LAB_OUT", "kept-out");
    let gateway = builder.env("PORTOLAN_SECRETS_ALLOW_ENV", "LAB_IN,LAB_MISSING").serve().await;
    let rest = gateway.rest();
    let draft = |value: &str| {
        let mut draft = stdio(&gateway, "one", &["--faults"]);
        draft["connection_config"]["env"] = json!({ "X": value });
        draft
    };
    for value in ["${LAB_OUT}", "${LAB_MISSING}", "${lab_in}"] {
        rest.post("/aggregator/servers", draft(value)).await.problem(422, "VALIDATION_ERROR");
    }
    connected(&rest, draft("${LAB_IN}")).await;
    let env = env_of(&rest, "one").await;
    assert_eq!((&env["X"], &env["LAB_OUT"]), (&json!("let-in"), &Value::Null));
}

#[tokio::test]
async fn t17_t22_a_secret_that_does_not_fit_its_place_is_an_error_that_does_not_show_it() {
    let gateway = Gateway::builder().arg("--debug").serve().await;
    let rest = gateway.rest();
    let url = "http://127.0.0.1:9/mcp";
    set(&rest, "LINES", "hunter2\r\nX-Admin: hunter2").await;
    set(&rest, "PLACE", "ftp://hunter2.example/").await;
    set(&rest, "BROKEN", "http://hunter2 hunter2/").await;
    set(&rest, "LOGIN", "http://user:hunter2@127.0.0.1:9/").await;
    for (name, config) in [
        ("lines", json!({ "base_url": url, "headers": { "X-Key": "${LINES}" } })),
        ("place", json!({ "base_url": "${PLACE}" })),
        ("broken", json!({ "base_url": "${BROKEN}" })),
        ("login", json!({ "base_url": "${LOGIN}" })),
    ] {
        let draft = json!({ "name": name, "transport_type": "HTTP", "connection_config": config });
        registered(&rest, draft).await;
        let told = eventually("it failed", async || {
            Some(server(&rest, name).await).filter(|server| !server["error_message"].is_null())
        })
        .await;
        assert!(!told.to_string().contains("hunter2"), "{told}");
        rest.post_nothing(&format!("/aggregator/servers/{name}/disconnect")).await.json(200);
    }
    let leak = gateway.stderr().all().into_iter().find(|line| line.contains("hunter2"));
    assert_eq!(leak, None);
}

#[tokio::test]
async fn secrets_are_listed_by_name_with_who_uses_them_and_never_shown() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    assert_eq!(rest.get("/secrets").await.json(200), json!([]));
    set(&rest, "B", "value-of-b").await;
    set(&rest, "A", "value-of-a").await;
    registered(&rest, remote(json!({ "base_url": "http://127.0.0.1:9/?k=${B}", "headers": { "X": "$B" } })))
        .await;
    let answer = rest.get("/secrets").await;
    assert!(!answer.body.contains("value-of"), "{}", answer.body);
    let shown = answer.json(200);
    assert_eq!((&shown[0]["name"], &shown[0]["used_by"]), (&json!("A"), &json!([])));
    assert_eq!((&shown[1]["name"], &shown[1]["used_by"]), (&json!("B"), &json!(["one"])));
    super::registration::is_moment(&shown[0]["updated_at"]);
    assert_eq!(shown.as_array().unwrap().len(), 2);
    rest.delete("/secrets/A").await.empty(204);
    let problem = rest.delete("/secrets/A").await.problem(404, "SECRET_NOT_FOUND");
    assert_eq!(problem["detail"], "Secret not found: A");
    for name in ["1a", "a-b", "a%20b", &"a".repeat(256)] {
        let answer = rest.put(&format!("/secrets/{name}"), json!({ "value": "x" })).await;
        assert_eq!(answer.wrong_fields(), ["path.name"]);
    }
    for (body, field) in [
        (json!({}), "body.value"),
        (json!({ "value": 7 }), "body.value"),
        (json!({ "value": "a\u{0}b" }), "body.value"),
        (json!({ "value": "x", "more": 1 }), "body.more"),
    ] {
        assert_eq!(rest.put("/secrets/C", body).await.wrong_fields(), [field]);
    }
    rest.get("/secrets/B").await.problem(405, "METHOD_NOT_ALLOWED");
}
