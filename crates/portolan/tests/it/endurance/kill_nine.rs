//! The gateway is killed while servers are being registered: what it has acknowledged is there, whole.

use super::dice::Dice;
use super::{end, servers};
use crate::kit::until;
use portolan_store::SqliteStore;
use portolan_testkit::processes::{self, Process};
use portolan_testkit::{DEADLINE, Fixture, Gateway, Rest, Signal, bin};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;

const ROUNDS: usize = 20;
/// Connections that register side by side.
const CONNECTIONS: usize = 4;
/// The kill comes after so many acknowledgements at most, and then so many microseconds.
const MOST_ACKNOWLEDGED: usize = 10;
const MOST_MICROS: usize = 15_000;
/// More than one connection registers within a round.
const MOST_DRAFTS: usize = 50;

/// What does not change of a server by itself.
const LASTING: [&str; 10] = [
    "id",
    "name",
    "description",
    "transport_type",
    "connection_config",
    "health_check_url",
    "source",
    "auto_connect",
    "timeout",
    "registered_at",
];

/// What was wanted, by name, and what was acknowledged.
#[derive(Default)]
struct Books {
    wanted: Mutex<BTreeMap<String, Value>>,
    acknowledged: Mutex<BTreeMap<String, Value>>,
    count: watch::Sender<usize>,
}

/// A connection that may break at any moment.
struct Fragile(BufReader<TcpStream>);

impl Fragile {
    /// Registers a server: the answer, or nothing once the gateway is gone.
    async fn register(&mut self, draft: &Value) -> Option<Value> {
        let body = draft.to_string();
        let head = format!(
            "POST /api/v1/aggregator/servers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        self.0.get_mut().write_all(format!("{head}{body}").as_bytes()).await.ok()?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            self.0.read_line(&mut head).await.ok().filter(|read| *read > 0)?;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).await.ok()?;
        assert!(head.starts_with("HTTP/1.1 201 "), "{head}{}", String::from_utf8_lossy(&body));
        Some(serde_json::from_slice(&body).unwrap())
    }
}

/// A server of some kind: most are not connected, some run as children, some are all the same one over HTTP.
fn draft(name: &str, dice: &mut Dice, gateway: &Gateway, web: &Fixture) -> Value {
    let journal = gateway.journal("registered");
    let args = ["--only", "echo", "--journal", journal.path().to_str().unwrap()];
    let (kind, config, auto_connect) = match dice.below(8) {
        0 => ("STDIO", json!({ "command": bin("portolan-fixture"), "args": args }), true),
        1..3 => ("HTTP", json!({ "base_url": web.url() }), true),
        3..6 => ("STDIO", json!({ "command": "true", "args": ["--number", name] }), false),
        _ => ("SSE", json!({ "url": format!("http://127.0.0.1:1/{name}/sse") }), false),
    };
    let mut draft = json!({ "name": name, "transport_type": kind, "connection_config": config,
        "auto_connect": auto_connect, "description": "d".repeat(dice.below(1001)) });
    if dice.once_in(2) {
        draft["timeout"] = json!(1 + dice.below(100));
    }
    draft
}

/// Registers server after server until the gateway is gone.
async fn register(address: String, drafts: Vec<Value>, books: Arc<Books>) {
    let Ok(stream) = TcpStream::connect(&address).await else { return };
    let mut connection = Fragile(BufReader::new(stream));
    for draft in drafts {
        let name = draft["name"].as_str().unwrap().to_owned();
        books.wanted.lock().unwrap().insert(name.clone(), draft.clone());
        let Some(shown) = connection.register(&draft).await else { return };
        books.acknowledged.lock().unwrap().insert(name, shown);
        books.count.send_modify(|count| *count += 1);
    }
}

fn lasting(shown: &Value) -> Value {
    LASTING.iter().map(|field| ((*field).to_owned(), shown[field].clone())).collect()
}

/// Holds a server that is listed against what was wanted.
#[track_caller]
fn check_whole(shown: &Value, wanted: &Value) {
    for field in ["name", "transport_type", "auto_connect"] {
        assert_eq!(shown[field], wanted[field], "{field} in {shown}");
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    assert_eq!(text(&shown["description"]), text(&wanted["description"]), "{shown}");
    assert_eq!(shown["timeout"].as_f64(), wanted["timeout"].as_f64(), "{shown}");
    assert_eq!(shown["source"], "REGISTERED", "{shown}");
    for (key, value) in wanted["connection_config"].as_object().unwrap() {
        assert_eq!(&shown["connection_config"][key], value, "{key} in {shown}");
    }
}

async fn check_all(rest: &Rest, books: &Books) -> usize {
    let all = servers(rest).await;
    let by_name: BTreeMap<&str, &Value> =
        all.iter().map(|server| (server["name"].as_str().unwrap(), server)).collect();
    for (name, shown) in &*books.acknowledged.lock().unwrap() {
        let now = by_name.get(name.as_str()).unwrap_or_else(|| panic!("{name} was acknowledged and is gone"));
        assert_eq!(lasting(now), lasting(shown));
    }
    for server in &all {
        let name = server["name"].as_str().unwrap();
        check_whole(server, &books.wanted.lock().unwrap()[name]);
        for key in [name, server["id"].as_str().unwrap()] {
            let found = rest.get(&format!("/aggregator/servers/{key}")).await.json(200);
            assert_eq!(lasting(&found), lasting(server));
        }
    }
    check_tools(rest, &by_name).await;
    all.len()
}

/// No tool belongs to a server that is not there.
async fn check_tools(rest: &Rest, servers: &BTreeMap<&str, &Value>) {
    let answer = rest.get("/aggregator/tools?limit=1000").await;
    let tools = answer.json(200);
    let tools = tools.as_array().unwrap();
    assert_eq!(answer.header("x-total-count"), Some(tools.len().to_string().as_str()), "one page holds all");
    for tool in tools {
        let server = servers.get(tool["server_name"].as_str().unwrap());
        assert_eq!(server.map(|server| &server["id"]), Some(&tool["server_id"]), "an orphan: {tool}");
    }
}

/// Looks at a copy of the database: the gateway itself has to find what the kill has left behind.
async fn check_database(data: &Path) {
    let copy = tempfile::tempdir().unwrap();
    for name in ["portolan.db", "portolan.db-wal"] {
        std::fs::copy(data.join(name), copy.path().join(name)).unwrap();
    }
    let store = SqliteStore::open(copy.path()).await.unwrap();
    store.integrity().await.unwrap();
    store.close().await;
}

/// Everything that outlives a round.
struct Run {
    dice: Dice,
    web: Fixture,
    books: Arc<Books>,
    /// What killed gateways have left to their watchdogs.
    left: Vec<Process>,
}

impl Run {
    /// Registers servers side by side, and kills the gateway at a moment of chance.
    async fn round(&mut self, gateway: &mut Gateway, number: usize) {
        let mut count = self.books.count.subscribe();
        let due = *count.borrow_and_update() + self.dice.below(MOST_ACKNOWLEDGED + 1);
        for connection in 0..CONNECTIONS {
            let name = |at: usize| format!("r{number:02}-{connection}-{at:02}");
            let drafts = (0..MOST_DRAFTS).map(|at| draft(&name(at), &mut self.dice, gateway, &self.web));
            let drafts = drafts.collect();
            tokio::spawn(register(gateway.address().to_owned(), drafts, self.books.clone()));
        }
        let enough = count.wait_for(|count| *count >= due);
        tokio::time::timeout(DEADLINE, enough).await.expect("servers are registered").unwrap();
        let pause = Duration::from_micros(self.dice.below(MOST_MICROS) as u64);
        tokio::time::sleep(pause).await;
        self.left.extend(processes::family_of(gateway.pid()));
        gateway.signal(Signal::KILL);
        gateway.wait_exit().await;
    }
}

#[tokio::test]
async fn f54_killed_again_and_again_it_has_every_server_that_it_has_acknowledged_and_none_by_half() {
    let web = Fixture::http(&["--only", "echo"]).await;
    let mut run = Run { dice: Dice::new(), web, books: Arc::default(), left: Vec::new() };
    let mut gateway = Gateway::builder().serve().await;
    let mut listed = 0;
    for number in 0..ROUNDS {
        run.round(&mut gateway, number).await;
        check_database(&gateway.data()).await;
        let next = gateway.another();
        drop(gateway);
        gateway = next.serve().await;
        listed = check_all(&gateway.rest(), &run.books).await;
    }
    let acknowledged = run.books.acknowledged.lock().unwrap().len();
    println!("{listed} servers are listed, {acknowledged} of them were acknowledged");
    end(gateway).await;
    // A number may be another process's by now.
    let is_gone = |old: &Process| Process::read(old.pid).is_none_or(|now| now.command != old.command);
    until("nothing of those that were killed is left", || run.left.iter().all(is_gone)).await;
}
