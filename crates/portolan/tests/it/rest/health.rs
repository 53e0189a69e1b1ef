//! BR-006, EC-005: servers are asked whether they are well, and what becomes of them when they are not.

use super::registration::is_moment;
use super::{call_text, connected, eventually, in_state, server, stdio, tools, turns, with};
use portolan_testkit::{Client, Gateway, Rest};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Long enough for an answer on a busy machine: one that comes later would count as a failure.
const INTERVAL: &str = "1s";

#[derive(Debug, Clone, Copy)]
enum Look {
    Status(u16),
    Silence,
}

use Look::{Silence, Status};

/// An address that answers one look after the other as it is told to, and the last one for ever.
struct Clinic {
    url: String,
    looks: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Clinic {
    async fn start(script: &'static [Look]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/health", listener.local_addr().unwrap());
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 2048];
                if !stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    continue;
                }
                let at = counted.fetch_add(1, Ordering::Relaxed);
                match script[at.min(script.len() - 1)] {
                    Silence => silent.push(stream),
                    Status(status) => {
                        let answer = format!(
                            "HTTP/1.1 {status} As Told\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        );
                        stream.write_all(answer.as_bytes()).await.unwrap_or_default();
                    }
                }
            }
        });
        Self { url, looks, task }
    }

    async fn seen(&self, looks: usize) {
        let seen = || self.looks.load(Ordering::Relaxed) >= looks;
        eventually(&format!("it was asked {looks} times"), async || seen().then_some(())).await;
    }
}

impl Drop for Clinic {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A gateway with one connected server whose health is asked for there.
async fn patient(clinic: &Clinic) -> (Gateway, Rest) {
    let gateway = Gateway::builder().env("PORTOLAN_HEALTH_INTERVAL", INTERVAL).serve().await;
    let rest = gateway.rest();
    connected(&rest, with(stdio(&gateway, "one", &[]), json!({ "health_check_url": clinic.url }))).await;
    (gateway, rest)
}

async fn health(rest: &Rest) -> Value {
    rest.get("/aggregator/servers/one/health").await.json(200)
}

/// Waits until a server's life has come this far.
async fn lived(rest: &Rest, expected: &[&str]) {
    let what = format!("its turns are {expected:?}");
    eventually(&what, async || (turns(rest, "one").await == expected).then_some(())).await;
}

#[tokio::test]
async fn br_006_a_server_that_is_well_shows_when_it_was_asked_and_how_long_it_took() {
    let clinic = Clinic::start(&[Status(200)]).await;
    let (_gateway, rest) = patient(&clinic).await;
    let before = health(&rest).await;
    assert_eq!((&before["healthy"], &before["consecutive_failures"]), (&json!(true), &json!(0)));
    clinic.seen(2).await;
    let after = eventually("it shows", async || {
        Some(health(&rest).await).filter(|now| !now["last_health_check"].is_null())
    })
    .await;
    is_moment(&after["last_health_check"]);
    assert!(after["response_time_ms"].as_f64().unwrap() > 0.0, "{after}");
    for (field, value) in [
        ("name", json!("one")),
        ("server_id", server(&rest, "one").await["id"].clone()),
        ("status", json!("CONNECTED")),
        ("healthy", json!(true)),
        ("consecutive_failures", json!(0)),
        ("last_error", Value::Null),
    ] {
        assert_eq!(after[field], value, "{field} in {after}");
    }
    is_moment(&server(&rest, "one").await["last_health_check"]);
    let overall = rest.get("/aggregator/health").await.json(200);
    assert_eq!((&overall["status"], &overall["servers"][0]["name"]), (&json!("healthy"), &json!("one")));
    assert_eq!(turns(&rest, "one").await, ["CONNECTING", "CONNECTED"]);
}

#[tokio::test]
async fn br_006_two_failures_degrade_a_server_which_still_serves_and_a_client_error_counts_as_neither() {
    // A client error counts as neither: with it the server stays as it is.
    let clinic = Clinic::start(&[Status(500), Status(500), Status(404)]).await;
    let (gateway, rest) = patient(&clinic).await;
    in_state(&rest, "one", "DEGRADED").await;
    clinic.seen(5).await;
    let ill = health(&rest).await;
    assert_eq!((&ill["status"], &ill["healthy"]), (&json!("DEGRADED"), &json!(false)));
    assert_eq!(ill["consecutive_failures"], 2, "4xx counts as neither");
    assert!(ill["last_error"].as_str().unwrap().contains("500"), "{ill}");
    let state = rest.get("/aggregator/state").await.json(200);
    assert_eq!((&state["degraded_servers"], &state["connected_servers"]), (&json!(1), &json!(0)));
    assert_eq!(rest.get("/aggregator/health").await.json(200)["status"], "degraded");
    assert_eq!(call_text(&rest, "one.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    assert!(tools(&rest, "one").await.iter().all(|tool| tool["available"] == true));
    assert!(gateway.connect().await.tool_names().await.contains(&"one.echo".to_owned()));
    assert_eq!(turns(&rest, "one").await, ["CONNECTING", "CONNECTED", "DEGRADED"]);
    assert!(gateway.stderr().all().iter().any(|line| line.contains("WARN") && line.contains("404")));
}

#[tokio::test]
async fn br_006_one_success_heals() {
    let clinic = Clinic::start(&[Status(500), Status(503), Status(200)]).await;
    let (gateway, rest) = patient(&clinic).await;
    lived(&rest, &["CONNECTING", "CONNECTED", "DEGRADED", "CONNECTED"]).await;
    let well = health(&rest).await;
    assert_eq!((&well["healthy"], &well["consecutive_failures"]), (&json!(true), &json!(0)));
    assert_eq!(well["last_error"], Value::Null);
    assert_eq!(gateway.journal("one").starts(), 1);
}

#[tokio::test]
async fn br_006_ec_005_three_failures_of_any_kind_are_an_error_and_the_server_is_connected_anew() {
    let clinic = Clinic::start(&[Status(500), Status(302), Status(204), Status(200)]).await;
    let (gateway, rest) = patient(&clinic).await;
    lived(&rest, &["CONNECTING", "CONNECTED", "DEGRADED", "ERROR", "CONNECTING", "CONNECTED"]).await;
    assert_eq!(gateway.journal("one").starts(), 2);
    let history = rest.get("/aggregator/servers/one/history").await.json(200);
    let error = history.as_array().unwrap().iter().find(|turn| turn["event_type"] == "ERROR").unwrap();
    assert!(error["details"]["error"].as_str().unwrap().contains("health"), "{error}");
    clinic.seen(5).await;
    assert_eq!(server(&rest, "one").await["status"], "CONNECTED");
}

#[tokio::test]
async fn br_006_one_failure_is_no_more_than_a_warning() {
    let clinic = Clinic::start(&[Status(500), Status(200), Status(500), Status(404)]).await;
    let (gateway, rest) = patient(&clinic).await;
    clinic.seen(5).await;
    assert_eq!(turns(&rest, "one").await, ["CONNECTING", "CONNECTED"]);
    assert_eq!(health(&rest).await["consecutive_failures"], 1);
    let warned = |line: &String| line.contains("WARN") && line.contains("health") && line.contains("500");
    assert!(gateway.stderr().all().iter().any(warned));
}

#[tokio::test]
async fn br_006_no_answer_in_time_is_a_failure() {
    let clinic = Clinic::start(&[Silence, Silence, Status(200)]).await;
    let (_gateway, rest) = patient(&clinic).await;
    in_state(&rest, "one", "DEGRADED").await;
    lived(&rest, &["CONNECTING", "CONNECTED", "DEGRADED", "CONNECTED"]).await;
}

#[tokio::test]
async fn br_006_without_an_address_the_session_itself_is_asked() {
    let gateway = Gateway::builder().env("PORTOLAN_HEALTH_INTERVAL", "200ms").serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", &[])).await;
    gateway.journal("one").wait_for("two pings", |journal| journal.of("ping").len() >= 2).await;
    let shown = eventually("it shows", async || {
        Some(health(&rest).await).filter(|now| !now["response_time_ms"].is_null())
    })
    .await;
    is_moment(&shown["last_health_check"]);
}

#[tokio::test]
async fn br_006_an_address_may_be_given_and_taken_back_later() {
    let clinic = Clinic::start(&[Status(200)]).await;
    let gateway = Gateway::builder().env("PORTOLAN_HEALTH_INTERVAL", "200ms").serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", &[])).await;
    let patch = json!({ "health_check_url": clinic.url });
    let shown = rest.patch("/aggregator/servers/one", patch).await.json(200);
    assert_eq!(shown["health_check_url"], clinic.url);
    clinic.seen(1).await;
    let shown = rest.patch("/aggregator/servers/one", json!({ "health_check_url": "" })).await.json(200);
    assert_eq!(shown["health_check_url"], Value::Null);
    let pings = gateway.journal("one").of("ping").len();
    gateway.journal("one").wait_for("another ping", |journal| journal.of("ping").len() > pings).await;
}
