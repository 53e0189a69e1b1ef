//! T14, T15: where a registered address may lead, in whatever spelling, and that nothing goes elsewhere from there.

use super::{call, connected, http, in_state, registered, server, stdio, turns, with};
use crate::kit::Canned;
use portolan_testkit::{Fixture, Gateway};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;

/// One place that nobody may be sent to, as many ways to write it as there are; and others of its kind.
const FORBIDDEN: [&str; 18] = [
    "169.254.169.254",
    "169.254.169.254.",
    "0xa9fea9fe",
    "0xA9.0xFE.0xA9.0xFE",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.16689662",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "0.0.0.0",
    "[::]",
    "255.255.255.255",
];

/// A place that counts whoever comes.
struct Canary {
    url: String,
    visits: Arc<AtomicUsize>,
}

impl Canary {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { url, visits }
    }

    #[track_caller]
    fn was_left_alone(&self) {
        assert_eq!(self.visits.load(Ordering::Relaxed), 0);
    }

    /// A server that sends everybody here.
    async fn redirecting(&self) -> Canned {
        let response =
            format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", self.url);
        Canned::start(response.leak()).await
    }
}

fn remote(name: &str, url: &str) -> Value {
    json!({ "name": name, "transport_type": "HTTP", "connection_config": { "base_url": url } })
}

#[tokio::test]
async fn t15_metadata_and_link_local_addresses_are_refused_in_every_spelling_and_field() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let before =
        registered(&rest, with(remote("one", "http://127.0.0.1:9/mcp"), json!({ "auto_connect": false })))
            .await;
    for host in FORBIDDEN {
        let url = format!("http://{host}/latest/meta-data");
        let answer = rest.post("/aggregator/servers", remote("two", &url)).await;
        assert_eq!(answer.wrong_fields(), ["body.connection_config.base_url"], "{host}");
        let sse = json!({ "name": "two", "transport_type": "SSE", "connection_config": { "url": url } });
        let answer = rest.post("/aggregator/servers", sse).await;
        assert_eq!(answer.wrong_fields(), ["body.connection_config.url"], "{host}");
        let checked = with(remote("two", "http://127.0.0.1:9/mcp"), json!({ "health_check_url": url }));
        let answer = rest.post("/aggregator/servers", checked).await;
        assert_eq!(answer.wrong_fields(), ["body.health_check_url"], "{host}");
        for patch in [json!({ "connection_config": { "base_url": url } }), json!({ "health_check_url": url })]
        {
            rest.patch("/aggregator/servers/one", patch).await.problem(422, "VALIDATION_ERROR");
        }
    }
    assert_eq!(server(&rest, "one").await, before);
    assert_eq!(rest.get("/aggregator/servers").await.header("x-total-count"), Some("1"));
}

#[tokio::test]
async fn t15_an_address_that_a_secret_completes_is_judged_when_it_is_dialled() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    for (secret, value) in [("HOST", "169.254.169.254"), ("NAT", "[64:ff9b::a9fe:a9fe]")] {
        rest.put(&format!("/secrets/{secret}"), json!({ "value": value })).await.empty(204);
        let name = secret.to_ascii_lowercase();
        registered(&rest, remote(&name, &format!("http://${{{secret}}}/mcp"))).await;
        let told = super::eventually("it failed", async || {
            Some(server(&rest, &name).await).filter(|server| !server["error_message"].is_null())
        })
        .await;
        assert!(told["error_message"].as_str().unwrap().contains("link-local"), "{told}");
        rest.post_nothing(&format!("/aggregator/servers/{name}/disconnect")).await.json(200);
    }
}

#[tokio::test]
async fn t15_this_machine_may_be_reached_while_only_this_machine_reaches_us() {
    let fixture = Fixture::http(&[]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, http("by-number", &fixture)).await;
    let by_name = fixture.url().replace("127.0.0.1", "localhost");
    connected(&rest, remote("by-name", &by_name)).await;
}

#[tokio::test]
async fn t14_t15_a_redirect_is_not_followed_by_a_session_nor_by_a_call() {
    let (fixture, canary) = (Fixture::http(&["--faults"]).await, Canary::start().await);
    let moved = canary.redirecting().await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let mut draft = remote("moved", &moved.url);
    draft["connection_config"]["headers"] = json!({ "Authorization": "Bearer hunter2" });
    registered(&rest, draft).await;
    let told = super::eventually("it failed", async || {
        Some(server(&rest, "moved").await).filter(|server| !server["error_message"].is_null())
    })
    .await;
    assert!(told["error_message"].as_str().unwrap().contains("redirect"), "{told}");
    connected(&rest, http("web", &fixture)).await;
    let answer = call(&rest, "web.redirect", json!({ "to": canary.url })).await;
    assert_eq!(answer.status, 502, "{answer:?}");
    canary.was_left_alone();
}

#[tokio::test]
async fn t14_t15_a_redirect_is_not_followed_by_a_health_check() {
    let canary = Canary::start().await;
    let moved = canary.redirecting().await;
    let gateway = Gateway::builder().env("PORTOLAN_HEALTH_INTERVAL", "200ms").serve().await;
    let rest = gateway.rest();
    let draft = with(stdio(&gateway, "one", &[]), json!({ "health_check_url": moved.url }));
    registered(&rest, draft).await;
    let degraded = async || turns(&rest, "one").await.iter().any(|turn| turn == "DEGRADED").then_some(());
    super::eventually("it was found ill", degraded).await;
    canary.was_left_alone();
}

#[tokio::test]
async fn t15_what_a_forbidden_place_would_say_is_in_no_error() {
    let page = Canned::start(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\nhunter2-page!",
    )
    .await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    registered(&rest, remote("page", &page.url)).await;
    let told = super::eventually("it failed", async || {
        Some(server(&rest, "page").await).filter(|server| !server["error_message"].is_null())
    })
    .await;
    assert!(!told.to_string().contains("hunter2"), "{told}");
    let locked = Canned::start("HTTP/1.1 403 Forbidden\r\nContent-Length: 13\r\n\r\nhunter2-page!").await;
    registered(&rest, remote("locked", &locked.url)).await;
    let told = in_state(&rest, "locked", "ERROR").await;
    assert!(!told.to_string().contains("hunter2"), "{told}");
    assert!(!gateway.stderr().all().iter().any(|line| line.contains("hunter2")));
}
