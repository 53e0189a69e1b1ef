//! The REST surface and the registry behind it: what is asked over HTTP, answered, kept and told of.

mod addresses;
mod calls;
mod curations;
mod doors;
mod draining;
mod events;
mod file;
mod health;
mod lifecycle;
mod lost;
mod masks;
mod pages;
mod persistence;
mod problems;
mod registration;
mod removal;
mod rename;
mod secrets;
mod servers;
mod store;
mod tools;

use portolan_testkit::{Answer, DEADLINE, Fixture, Gateway, Rest};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// How often something is looked at again that nobody tells us of.
const POLL: Duration = Duration::from_millis(20);

/// A fixture over stdio of this name, as somebody would register it; `Gateway::journal` reads what it saw.
fn stdio(gateway: &Gateway, name: &str, flags: &[&str]) -> Value {
    let config = gateway.fixture_entry(name, flags);
    json!({ "name": name, "transport_type": "STDIO", "connection_config": config })
}

fn http(name: &str, fixture: &Fixture) -> Value {
    json!({ "name": name, "transport_type": "HTTP", "connection_config": { "base_url": fixture.url() } })
}

fn sse(name: &str, fixture: &Fixture) -> Value {
    json!({ "name": name, "transport_type": "SSE", "connection_config": { "url": fixture.url() } })
}

/// The same draft with more or other fields.
fn with(mut draft: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        draft[name] = value.clone();
    }
    draft
}

/// A gateway with one registered and connected fixture of the name `one`.
async fn one(flags: &[&str]) -> (Gateway, Rest) {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", flags)).await;
    (gateway, rest)
}

async fn registered(rest: &Rest, draft: Value) -> Value {
    rest.post("/aggregator/servers", draft).await.json(201)
}

/// Registers a server and waits until it is connected; the server as it is shown then.
async fn connected(rest: &Rest, draft: Value) -> Value {
    let name = registered(rest, draft).await["name"].as_str().unwrap().to_owned();
    let answer = rest.post_nothing(&format!("/aggregator/servers/{name}/connect?wait=true")).await.json(200);
    assert_eq!(answer["status"], "CONNECTED", "{answer}");
    server(rest, &name).await
}

async fn server(rest: &Rest, key: &str) -> Value {
    rest.get(&format!("/aggregator/servers/{key}")).await.json(200)
}

/// Waits until a server is in this state; the server as it is shown then.
async fn in_state(rest: &Rest, key: &str, status: &str) -> Value {
    let what = format!("{key} is {status}");
    eventually(&what, async || Some(server(rest, key).await).filter(|server| server["status"] == status))
        .await
}

/// Every tool of a server.
async fn tools(rest: &Rest, key: &str) -> Vec<Value> {
    let answer = rest.get(&format!("/aggregator/servers/{key}/tools?limit=1000")).await;
    serde_json::from_value(answer.json(200)).unwrap()
}

async fn tool(rest: &Rest, key: &str, original: &str) -> Value {
    let found = tools(rest, key).await.into_iter().find(|tool| tool["original_name"] == original);
    found.unwrap_or_else(|| panic!("{key} has no tool {original}"))
}

/// The turns of a server's life, the first first.
async fn turns(rest: &Rest, key: &str) -> Vec<String> {
    let history = rest.get(&format!("/aggregator/servers/{key}/history?limit=1000")).await.json(200);
    let turns =
        history.as_array().unwrap().iter().map(|turn| turn["event_type"].as_str().unwrap().to_owned());
    turns.rev().collect()
}

/// Calls a tool for whatever comes of it.
async fn call(rest: &Rest, name: &str, arguments: Value) -> Answer {
    rest.post("/tools/call", json!({ "name": name, "arguments": arguments })).await
}

/// Calls a tool for its first text.
async fn call_text(rest: &Rest, name: &str, arguments: Value) -> String {
    let answer = call(rest, name, arguments).await.json(200);
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}")).to_owned()
}

/// Calls a tool in a task of its own.
fn calling(rest: &Rest, name: &str, arguments: Value) -> tokio::task::JoinHandle<Answer> {
    let (rest, name) = (rest.clone(), name.to_owned());
    tokio::spawn(async move { call(&rest, &name, arguments).await })
}

/// A file that calls of `slow` can wait for, and with it the test that decides when they end.
struct Gate(PathBuf);

impl Gate {
    fn new(gateway: &Gateway, name: &str) -> Self {
        Self(gateway.directory().join(name))
    }

    fn arguments(&self) -> Value {
        json!({ "ms": 0, "after": self.0 })
    }

    fn open(&self) {
        std::fs::write(&self.0, "").unwrap();
    }
}

/// Looks again and again until there is something to see; panics at the deadline.
pub(crate) async fn eventually<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    let seen = tokio::time::timeout(DEADLINE, wait).await;
    seen.unwrap_or_else(|_| panic!("waited {DEADLINE:?} until {what}"))
}
