//! Every turn is written down and told: the history of a server, and the stream of events that nobody misses a part of.

use super::registration::is_moment;
use super::{call, connected, one, registered, server, stdio, turns, with};
use portolan_testkit::client::EventStream;
use portolan_testkit::{Fixture, Gateway, Rest};
use serde_json::{Value, json};

/// What was told so far, each as its data.
fn told(stream: &EventStream) -> Vec<Value> {
    stream.messages.all()
}

fn ids(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

/// Everything from one event on, until this one was told.
async fn until_told(rest: &Rest, after: u64, last: u64) -> Vec<Value> {
    let stream = rest.events(Some(after)).await;
    stream.messages.wait_for("the last event", |event| event["id"] == last).await;
    told(&stream)
}

/// The id of the event that tells of a state of a server.
async fn told_of(stream: &EventStream, server: &str, status: &str) -> u64 {
    let fits = |event: &Value| event["server_name"] == server && event["status"] == status;
    stream.messages.wait_for(status, fits).await["id"].as_u64().unwrap()
}

#[tokio::test]
async fn a_history_lists_the_turns_of_a_server_the_latest_first() {
    let (_gateway, rest) = one(&["--faults"]).await;
    call(&rest, "one.crash", json!({ "code": 3 })).await.problem(503, "SERVER_LOST");
    call(&rest, "one.echo", json!({})).await.json(200);
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    let answer = rest.get("/aggregator/servers/one/history").await;
    let history = answer.json(200);
    assert_eq!(answer.header("x-total-count"), Some("6"));
    let expected = ["DISCONNECTED", "CONNECTED", "CONNECTING", "ERROR", "CONNECTED", "CONNECTING"];
    for (turn, event_type) in history.as_array().unwrap().iter().zip(expected) {
        assert_eq!(turn["event_type"], event_type, "{history}");
        assert!(turn["id"].is_string() && turn["details"].is_object(), "{turn}");
        is_moment(&turn["timestamp"]);
    }
    assert!(history[3]["details"]["error"].as_str().unwrap().contains("exit status: 3"), "{history}");
    let page = rest.get("/aggregator/servers/one/history?limit=2&offset=1").await;
    assert_eq!(page.header("x-total-count"), Some("6"));
    assert_eq!(page.json(200), json!([history[1], history[2]]));
}

#[tokio::test]
async fn every_turn_is_also_an_event() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let stream = rest.events(None).await;
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    connected(&rest, stdio(&gateway, "one", &["--faults"])).await;
    call(&rest, "one.crash", json!({})).await.problem(503, "SERVER_LOST");
    call(&rest, "one.echo", json!({})).await.json(200);
    rest.post_nothing("/aggregator/servers/one/disconnect").await.json(200);
    rest.patch("/aggregator/servers/one", json!({ "description": "x" })).await.json(200);
    let id = server(&rest, "one").await["id"].clone();
    let turns = turns(&rest, "one").await;
    rest.delete("/aggregator/servers/one").await.empty(204);
    stream.wait_for_event("server.removed").await;
    let events = told(&stream);
    let of_status = events.iter().filter(|event| event["type"] == "server.status");
    let states: Vec<&str> = of_status.map(|event| event["status"].as_str().unwrap()).collect();
    assert_eq!(states, turns);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[0], "server.registered");
    assert_eq!(kinds[kinds.len() - 2..], ["server.updated", "server.removed"]);
    assert!(kinds.contains(&"tools.changed"), "{kinds:?}");
    let error = events.iter().find(|event| event["status"] == "ERROR").unwrap();
    assert!(error["error_message"].as_str().unwrap().contains("exit status"), "{error}");
    for event in &events {
        assert_eq!((&event["server_id"], &event["server_name"]), (&id, &json!("one")), "{event}");
        is_moment(&event["at"]);
    }
    let first = events[0]["id"].as_u64().unwrap();
    assert_eq!(ids(&events), (first..first + events.len() as u64).collect::<Vec<_>>(), "no gap, no double");
    for (event, data) in stream.events().iter().filter(|event| !event.data.is_empty()).zip(&events) {
        assert_eq!(event.id.as_deref(), Some(data["id"].to_string().as_str()));
        assert_eq!(event.event.as_deref(), data["type"].as_str());
    }
}

#[tokio::test]
async fn whoever_comes_back_hears_what_was_missed_once_and_goes_on_live() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let whole = rest.events(None).await;
    let mut heard: Vec<Value> = Vec::new();
    for round in 0..4 {
        // Somebody else follows all the while; this one comes and goes at moments of its own.
        let name = format!("s{round}");
        let stream = rest.events(heard.last().and_then(|event| event["id"].as_u64()).or(Some(0))).await;
        connected(&rest, stdio(&gateway, &name, &["--only", "echo"])).await;
        told_of(&stream, &name, "CONNECTED").await;
        heard.extend(told(&stream));
        drop(stream);
        rest.post_nothing(&format!("/aggregator/servers/{name}/disconnect")).await.json(200);
    }
    let last = told_of(&whole, "s3", "DISCONNECTED").await;
    let after = ids(&heard).last().copied().unwrap();
    heard.extend(until_told(&rest, after, last).await);
    assert_eq!(heard, told(&whole));
    assert_eq!(ids(&heard), (1..=last).collect::<Vec<_>>());
    let by_query = rest.page(&format!("/api/v1/aggregator/events?last_event_id={last}x")).await;
    assert_eq!(by_query.wrong_fields(), ["query.last_event_id"]);
}

#[tokio::test]
async fn a_stream_goes_on_after_a_restart_without_gap_or_double() {
    let (gateway, rest) = one(&["--only", "echo"]).await;
    registered(&rest, with(stdio(&gateway, "two", &[]), json!({ "auto_connect": false }))).await;
    let stream = rest.events(Some(0)).await;
    stream.messages.wait_for("the last event", |event| event["server_name"] == "two").await;
    let first_life = told(&stream);
    let seen = first_life[2]["id"].as_u64().unwrap();
    drop(stream);
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    let everything = rest.events(Some(0)).await;
    let before = first_life.last().unwrap()["id"].as_u64();
    let fits = |event: &Value| event["status"] == "CONNECTED" && event["id"].as_u64() > before;
    let last = everything.messages.wait_for("it is connected again", fits).await["id"].as_u64().unwrap();
    let everything = told(&everything);
    assert_eq!(everything[..first_life.len()], first_life, "what was told is still the same");
    // Ids that were told and could not be stored are never given again, so there may be a leap between two lives.
    let all = ids(&everything);
    assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
    let resumed = ids(&until_told(&rest, seen, last).await);
    let missed: Vec<u64> = all.into_iter().filter(|id| *id > seen).collect();
    let length = missed.len().min(resumed.len());
    assert_eq!(resumed[..length], missed[..length], "no gap, no double");
    assert!(resumed.contains(&last));
}

#[tokio::test]
async fn whoever_asks_for_an_event_that_never_was_is_told_to_read_again() {
    let (_gateway, rest) = one(&["--only", "echo"]).await;
    let stream = rest.events(Some(999_999)).await;
    let first = stream.messages.wait_for("an event", |_| true).await;
    assert_eq!(first["type"], "log.reset");
    assert!(first["id"].as_u64().unwrap() < 999_999, "{first}");
    stream.messages.wait_for("what is known", |event| event["status"] == "CONNECTED").await;
    for header in ["x", "-1", "1.5"] {
        let answer = rest.clone().header("last-event-id", header).get("/aggregator/events").await;
        assert_eq!(answer.wrong_fields(), ["header.Last-Event-ID"]);
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_connected_tells_of_every_try() {
    let mut down = Fixture::http(&[]).await;
    down.stop().await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let stream = rest.events(None).await;
    registered(&rest, super::http("web", &down)).await;
    let first = |event: &Value| event["type"] == "server.status" && event["error_message"].is_string();
    let tried = stream.messages.wait_for("a failed try", first).await;
    assert_eq!(tried["status"], "CONNECTING", "it is tried again by itself");
    rest.post_nothing("/aggregator/servers/web/disconnect").await.json(200);
    let turns = turns(&rest, "web").await;
    assert_eq!(
        (turns.first().unwrap().as_str(), turns.last().unwrap().as_str()),
        ("CONNECTING", "DISCONNECTED")
    );
}

#[tokio::test]
async fn a_stream_ends_when_the_gateway_does() {
    let (mut gateway, rest) = one(&[]).await;
    let stream = rest.events(None).await;
    gateway.signal(portolan_testkit::Signal::TERM);
    stream.messages.wait_closed("a stream that would never end by itself").await;
    assert!(gateway.wait_exit().await.success());
}
