//! Who may come in, and what may be started: T1, T3, T4, T28. Nothing runs that was not let in.

use super::{connected, http, registered, server, stdio, with};
use crate::kit::Raw;
use portolan_testkit::{Answer, Fixture, Gateway, Method, Rest};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A server that would leave a file behind if it were started.
fn touching(name: &str, file: &Path) -> Value {
    let config = json!({ "command": "touch", "args": [file] });
    json!({ "name": name, "transport_type": "STDIO", "connection_config": config })
}

struct Trap {
    gateway: Gateway,
    file: PathBuf,
}

impl Trap {
    fn new(gateway: Gateway) -> Self {
        let file = gateway.directory().join("lab");
        Self { gateway, file }
    }

    /// Whatever would have been started before has been by the time that another server is connected.
    async fn is_untouched(&self, rest: &Rest, fixture: &Fixture) {
        connected(rest, http("last", fixture)).await;
        assert!(!self.file.exists(), "a program was started");
        rest.delete("/aggregator/servers/last").await.empty(204);
    }
}

#[tokio::test]
async fn t1_programs_are_not_registered_where_that_is_switched_off() {
    let fixture = Fixture::http(&[]).await;
    let trap = Trap::new(Gateway::builder().env("PORTOLAN_STDIO_REGISTER", "off").serve().await);
    let rest = trap.gateway.rest();
    let web = with(http("web", &fixture), json!({ "auto_connect": false }));
    let before = registered(&rest, web).await;
    let draft = touching("program", &trap.file);
    let patch = json!({ "transport_type": "STDIO", "connection_config": draft["connection_config"] });
    for answer in [
        rest.post("/aggregator/servers", draft.clone()).await,
        rest.post("/aggregator/servers", with(draft.clone(), json!({ "auto_connect": false }))).await,
        rest.post("/aggregator/servers", with(draft.clone(), json!({ "transport_type": "stdio" }))).await,
        rest.patch("/aggregator/servers/web", patch.clone()).await,
        rest.patch("/aggregator/servers/web", with(patch, json!({ "auto_connect": true }))).await,
    ] {
        let problem = answer.problem(403, "STDIO_REGISTRATION_DISABLED");
        assert!(problem["detail"].as_str().unwrap().contains("stdio.register"), "{problem}");
    }
    assert_eq!(server(&rest, "web").await, before);
    rest.get("/aggregator/servers/program").await.problem(404, "SERVER_NOT_FOUND");
    trap.is_untouched(&rest, &fixture).await;
}

#[tokio::test]
async fn t1_one_that_was_registered_before_goes_on_and_its_program_cannot_be_changed() {
    let gateway = Gateway::builder().serve().await;
    connected(&gateway.rest(), stdio(&gateway, "one", &[])).await;
    let next = gateway.stop().await.env("PORTOLAN_STDIO_REGISTER", "off");
    let trap = Trap::new(next.serve().await);
    let rest = trap.gateway.rest();
    super::in_state(&rest, "one", "CONNECTED").await;
    rest.patch("/aggregator/servers/one", json!({ "description": "words" })).await.json(200);
    let config = touching("x", &trap.file)["connection_config"].clone();
    let answer = rest.patch("/aggregator/servers/one", json!({ "connection_config": config })).await;
    answer.problem(403, "STDIO_REGISTRATION_DISABLED");
    trap.is_untouched(&rest, &Fixture::http(&[]).await).await;
}

#[tokio::test]
async fn t1_a_program_is_started_with_its_arguments_as_they_are_and_by_no_shell() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let odd = gateway.directory().join("a; touch b $(touch c) `touch d` && touch e");
    registered(&rest, touching("program", &odd)).await;
    crate::kit::until("the file is there", || odd.exists()).await;
    for shell in ["b", "c", "d", "e"] {
        assert!(!gateway.directory().join(shell).exists());
    }
}

/// Every request that carries a body, with one that would be taken as JSON.
fn bodies(file: &Path) -> Vec<(Method, &'static str, Value)> {
    let draft = touching("program", file);
    let patch = json!({ "transport_type": "STDIO", "connection_config": draft["connection_config"], "auto_connect": true });
    vec![
        (Method::POST, "/api/v1/aggregator/servers", draft),
        (Method::PATCH, "/api/v1/aggregator/servers/web", patch),
        (Method::POST, "/api/v1/aggregator/servers/web/disconnect", json!({ "force": true })),
        (Method::PATCH, "/api/v1/aggregator/servers/web/tools/echo", json!({ "enabled": false })),
        (Method::POST, "/api/v1/tools/call", json!({ "name": "web.echo" })),
        (Method::POST, "/api/v1/aggregator/execute", json!({ "tool_name": "web.echo" })),
        (Method::PUT, "/api/v1/secrets/TOKEN", json!({ "value": "x" })),
    ]
}

#[tokio::test]
async fn t1_t28_a_body_that_does_not_say_that_it_is_json_is_415_and_does_nothing() {
    let (fixture, gateway) = (Fixture::http(&[]).await, Gateway::builder().serve().await);
    let trap = Trap::new(gateway);
    let rest = trap.gateway.rest();
    let before = connected(&rest, http("web", &fixture)).await;
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "text/json",
    ] {
        for (method, path, body) in bodies(&trap.file) {
            let answer =
                rest.clone().header("content-type", media).send(method, path, Some(body.to_string())).await;
            answer.problem(415, "UNSUPPORTED_MEDIA_TYPE");
        }
    }
    for (method, path, body) in bodies(&trap.file) {
        let body = body.to_string();
        let mut raw = Raw::open(trap.gateway.address()).await;
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        raw.write(format!("{head}{body}").as_bytes()).await;
        assert_eq!(raw.answer().await.status, 415, "{path} without a content type");
    }
    assert_eq!(server(&rest, "web").await, before);
    assert_eq!(fixture.journal().executions("echo"), 0);
    assert_eq!(rest.get("/secrets").await.json(200), json!([]));
    trap.is_untouched(&rest, &fixture).await;
    let draft = with(http("plain", &fixture), json!({ "auto_connect": false }));
    let json = rest.header("content-type", "Application/JSON; charset=utf-8");
    json.post("/aggregator/servers", draft).await.json(201);
}

#[tokio::test]
async fn t1_t4_another_host_or_origin_is_403_on_every_place_and_nothing_happens() {
    let (fixture, gateway) = (Fixture::http(&[]).await, Gateway::builder().serve().await);
    let trap = Trap::new(gateway);
    let rest = trap.gateway.rest();
    connected(&rest, http("web", &fixture)).await;
    let evil: Vec<(Rest, &str)> = vec![
        (rest.clone().header("host", "evil.example"), "HOST_REFUSED"),
        (rest.clone().header("host", "127.0.0.1.evil.example"), "HOST_REFUSED"),
        (rest.clone().header("origin", "http://evil.example"), "ORIGIN_REFUSED"),
        (rest.clone().header("origin", "null"), "ORIGIN_REFUSED"),
        (
            rest.clone().header("origin", "http://localhost").header("origin", "http://evil.example"),
            "ORIGIN_REFUSED",
        ),
    ];
    for (evil, code) in &evil {
        for (method, path, body) in bodies(&trap.file) {
            evil.send(method, path, Some(body.to_string())).await.problem(403, code);
        }
        for path in ["/aggregator/servers", "/aggregator/events", "/secrets", "/nothing"] {
            evil.get(path).await.problem(403, code);
        }
        evil.delete("/aggregator/servers/web").await.problem(403, code);
        for page in ["/", "/docs", "/openapi.json", "/metrics", "/readyz", "/healthz"] {
            assert_eq!(evil.page(page).await.status, 403, "{page}");
        }
    }
    let friendly = rest.clone().header("origin", &format!("http://{}", trap.gateway.address()));
    friendly.get("/aggregator/servers").await.json(200);
    trap.is_untouched(&rest, &fixture).await;
}

#[tokio::test]
async fn t3_headers_that_claim_to_be_somebody_or_somewhere_else_change_nothing() {
    let trap = Trap::new(Gateway::builder().env("PORTOLAN_STDIO_REGISTER", "off").serve().await);
    let mut rest = trap.gateway.rest();
    for (name, value) in [
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "localhost"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-prefix", "/api/v1"),
        ("forwarded", "for=127.0.0.1;host=localhost"),
        ("x-real-ip", "127.0.0.1"),
        ("x-original-url", "/api/v1/aggregator/servers"),
        ("x-rewrite-url", "/api/v1/aggregator/servers"),
        ("x-http-method-override", "DELETE"),
        ("x-method-override", "DELETE"),
        ("x-authenticated-user", "admin"),
        ("x-remote-user", "admin"),
        ("x-user-role", "admin"),
        ("x-admin", "true"),
        ("x-internal", "true"),
        ("x-skip-auth", "1"),
        ("x-debug", "1"),
        ("via", "1.1 localhost"),
    ] {
        rest = rest.header(name, value);
    }
    let draft = touching("program", &trap.file);
    rest.post("/aggregator/servers", draft).await.problem(403, "STDIO_REGISTRATION_DISABLED");
    rest.get("/nothing").await.problem(404, "NOT_FOUND");
    rest.clone().header("host", "evil.example").get("/aggregator/servers").await.problem(403, "HOST_REFUSED");
    assert_eq!(rest.get("/aggregator/servers").await.json(200), json!([]));
    assert!(!trap.file.exists());
}

fn is_dressed(answer: &Answer) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name} of {}", answer.request);
    }
    let policy = answer
        .header("content-security-policy")
        .unwrap_or_else(|| panic!("{} has no policy", answer.request));
    assert!(policy.starts_with("default-src 'none'") || policy.starts_with("default-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(answer.header("access-control-allow-origin"), None, "{}", answer.request);
}

#[tokio::test]
async fn t28_every_answer_keeps_browsers_from_making_more_of_it_than_it_is() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", &["--only", "echo"])).await;
    let markup = "<img src=x onerror=alert(1)><script>alert(1)</script>";
    let place = "/aggregator/servers/one/tools/echo";
    rest.patch(place, json!({ "description": markup })).await.json(200);
    for answer in [
        rest.get("/aggregator/servers?include_tools=true").await,
        rest.get("/aggregator/tools").await,
        rest.get("/aggregator/state").await,
        rest.get("/aggregator/servers/nobody").await,
        rest.get("/%3Cscript%3Ealert(1)%3C/script%3E").await,
        rest.post("/tools/call", json!({ "name": markup })).await,
        rest.post_nothing("/aggregator/servers").await,
        rest.send(Method::OPTIONS, "/api/v1/aggregator/servers", None).await,
        rest.delete("/aggregator/state").await,
    ] {
        is_dressed(&answer);
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{}", answer.request);
        let media = answer.header("content-type").unwrap_or("application/json");
        assert!(media.ends_with("json"), "{media} of {}", answer.request);
    }
    for page in ["/", "/docs", "/docs/page.js", "/docs/page.css", "/openapi.json", "/metrics", "/readyz"] {
        is_dressed(&rest.page(page).await);
    }
}
