//! The query as a whole, against servers that answer, fail, hang and flood; time stands still but for deadlines.

#![allow(clippy::unwrap_used, reason = "test code")]

use async_trait::async_trait;
use portolan_model::{Moment, Tool};
use portolan_query::{
    Limits, Ports, QueryError, QueryInput, QueryOutput, Ranking, Reason, Rules, Standing, Target, Trouble,
    Within, fan_out,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// How a server behaves.
#[derive(Clone)]
enum Manner {
    Says {
        result: Value,
        after: Duration,
    },
    Refuses,
    /// Answers with an error.
    Objects,
    Hangs,
}

/// Servers by their names, or tools by theirs behind their server's, and what they were told.
#[derive(Default)]
struct World {
    servers: BTreeMap<String, Manner>,
    cancels: Mutex<BTreeMap<String, CancellationToken>>,
    calls: Mutex<Vec<String>>,
    /// How long the ranking of tools takes.
    ranks_after: Duration,
    /// What texts mean, where anything is known of that: a vector for those that have the word, another for the rest.
    means: Option<&'static str>,
}

impl World {
    fn with(mut self, name: impl Into<String>, manner: Manner) -> Self {
        self.servers.insert(name.into(), manner);
        self
    }

    fn targets(&self) -> Vec<Target> {
        self.servers.keys().map(|name| searchable(name)).collect()
    }

    fn is_cancelled(&self, server: &str) -> bool {
        self.cancels.lock().unwrap().get(server).is_some_and(CancellationToken::is_cancelled)
    }
}

#[async_trait]
impl Ports for World {
    async fn call(
        &self,
        server: &str,
        tool: &str,
        _arguments: &Map<String, Value>,
        within: &Within,
    ) -> Result<Box<RawValue>, Trouble> {
        self.calls.lock().unwrap().push(format!("{server}.{tool}"));
        self.cancels.lock().unwrap().insert(server.to_owned(), within.cancel.clone());
        let of_tool = self.servers.get(&format!("{server}.{tool}"));
        match of_tool.unwrap_or_else(|| &self.servers[server]).clone() {
            Manner::Says { result, after } => {
                sleep(after).await;
                Ok(RawValue::from_string(result.to_string()).unwrap())
            }
            Manner::Refuses => Err(Trouble::Lost(Reason::new("connection refused"))),
            Manner::Objects => Err(Trouble::Refused(Reason::new("invalid params"))),
            Manner::Hangs => std::future::pending().await,
        }
    }

    async fn read(&self, _server: &str, _uri: &str, _within: &Within) -> Result<Box<RawValue>, Trouble> {
        Err(Trouble::Refused(Reason::new("no such resource")))
    }

    async fn rank(&self, _query: &str, _servers: &[&str]) -> Ranking {
        sleep(self.ranks_after).await;
        Ranking::default()
    }

    async fn embed(&self, texts: &[&str]) -> Option<Vec<Vec<f32>>> {
        let word = self.means?;
        let vector = |(at, text): (usize, &&str)| {
            if at == 0 || text.contains(word) { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
        };
        Some(texts.iter().enumerate().map(vector).collect())
    }

    fn now(&self) -> Moment {
        Moment::from_millis(1_800_000_000_000)
    }
}

/// A server with one tool that searches.
fn searchable(name: &str) -> Target {
    let schema =
        json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
    Target { tools: vec![tool("search", &schema)], ..Target::named(name) }
}

fn tool(name: &str, schema: &Value) -> Arc<Tool> {
    let definition = json!({"name": name, "inputSchema": schema}).to_string();
    Arc::new(Tool { name: name.into(), definition: RawValue::from_string(definition).unwrap() })
}

fn says(entries: &[String], after: u64) -> Manner {
    let text = json!(entries).to_string();
    let result = json!({"content": [{"type": "text", "text": text}]});
    Manner::Says { result, after: Duration::from_millis(after) }
}

fn said(text: &str) -> Manner {
    says(&[text.to_owned()], 10)
}

fn input(query: &str) -> QueryInput {
    QueryInput { query: query.to_owned(), max_results: 100, servers: None }
}

async fn ask(world: &World, query: &str) -> Result<QueryOutput, QueryError> {
    fan_out(&input(query), &world.targets(), world, &Rules::default(), &Limits::default()).await
}

/// 30 that are well, 10 that are dead, 10 that hang.
fn fifty() -> World {
    let well =
        (0..30).map(|n| (format!("well{n:02}"), said(&format!("tea number {n} is kept in room {}", n * 3))));
    let dead = (0..10).map(|n| (format!("dead{n}"), Manner::Refuses));
    let hanging = (0..10).map(|n| (format!("hanging{n}"), Manner::Hangs));
    well.chain(dead).chain(hanging).fold(World::default(), |world, (name, manner)| world.with(name, manner))
}

#[tokio::test(start_paused = true)]
async fn seed_004_thirty_of_fifty_answer_and_twenty_are_named_within_one_deadline() {
    let world = fifty();
    let started = Instant::now();
    let output = ask(&world, "Where is the tea?").await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(6), "less than twice one server's deadline");
    let numbers = &output.metadata;
    assert_eq!((numbers.servers_queried, numbers.servers_succeeded, numbers.errors.len()), (50, 30, 20));
    assert_eq!(
        (numbers.total_results_raw, numbers.total_results_dedup, numbers.results_returned),
        (30, 30, 30)
    );
    assert!((numbers.server_diversity - 0.6).abs() < 1e-9);
    assert_eq!(numbers.processing_time_ms, 3000);
    for n in 0..10 {
        assert!(numbers.errors.contains(&format!("dead{n}: connection refused")));
        assert!(numbers.errors.contains(&format!("hanging{n}: timeout after 3s")));
        assert!(world.is_cancelled(&format!("hanging{n}")), "a late server is told that nobody waits");
    }
    let ranks: Vec<usize> = output.results.iter().map(|result| result.rank).collect();
    assert_eq!(ranks, (1..=30).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn seed_004_who_answers_first_changes_nothing() {
    let mut seen: Option<Value> = None;
    for turn in 0..100_u64 {
        let world = (0..12_u64).fold(World::default(), |world, n| {
            let entries: Vec<String> =
                (0..5).map(|at| format!("tea {} of kind {}", (at + n) % 6, at * 2)).collect();
            world.with(format!("s{n:02}"), says(&entries, (n * 37 + turn * 101) % 900))
        });
        let results = ask(&world, "which kind of tea").await.unwrap().structured()["results"].clone();
        assert_eq!(*seen.get_or_insert(results.clone()), results, "{turn}");
    }
}

#[tokio::test(start_paused = true)]
async fn seed_004_when_no_server_answers_each_is_named_with_its_reason() {
    let world = World::default().with("serena", Manner::Refuses).with("context7", Manner::Hangs);
    let error = ask(&world, "tea").await.unwrap_err();
    assert_eq!(
        error.data(),
        json!({
            "attemptedServers": ["context7", "serena"],
            "errors": ["context7: timeout after 3s", "serena: connection refused"]
        })
    );
    let nobody = ask(&World::default(), "tea").await.unwrap_err();
    assert_eq!(nobody.data(), json!({"attemptedServers": [], "errors": []}));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_or_cannot_be_asked_safely_is_named_and_not_called() {
    let world = World::default().with("a", said("tea")).with("b", said("tea")).with("c", said("tea"));
    let mut targets = world.targets();
    targets[1].standing = Standing::Away(Reason::new("it is switched off"));
    targets[2].tools.clear();
    let output =
        fan_out(&input("tea"), &targets, &world, &Rules::default(), &Limits::default()).await.unwrap();
    assert_eq!((output.metadata.servers_queried, output.metadata.servers_succeeded), (2, 1));
    assert_eq!(output.metadata.errors, ["b: it is switched off"]);
    let reason = "c: no safe way to ask it: it offers neither tools that can be read nor resources";
    assert_eq!(output.metadata.not_asked, [reason]);
    assert_eq!(*world.calls.lock().unwrap(), ["a.search"]);
}

#[tokio::test(start_paused = true)]
async fn f14_a_server_that_floods_takes_nothing_from_the_others() {
    let calm = |world: World| {
        (0..20).fold(world, |world, n| {
            world.with(format!("calm{n:02}"), said(&format!("green tea {n} {}", n * 31)))
        })
    };
    let entries: Vec<String> = (0..20_000).map(|n| format!("green tea green tea {n} {}", n * 17)).collect();
    let flooded = calm(World::default().with("flood", says(&entries, 0)));
    let output = ask(&flooded, "green tea").await.unwrap();
    assert_eq!(output.metadata.servers_succeeded, 21);
    assert_eq!(output.metadata.total_results_raw, 20 + 100, "one server has a hundred items at most");
    assert_eq!(output.metadata.left_out.items, 20_000 - 100, "and the rest is counted");
    let order = |output: &QueryOutput| {
        let calm = output.results.iter().filter(|result| result.server != "flood");
        calm.map(|result| result.content.clone()).collect::<Vec<_>>()
    };
    let quiet = ask(&calm(World::default()), "green tea").await.unwrap();
    assert_eq!(order(&output), order(&quiet));
    let bytes = calm(World::default().with("flood", said(&"tea ".repeat(2 << 20))));
    let output = ask(&bytes, "green tea").await.unwrap();
    assert_eq!(output.metadata.servers_succeeded, 20);
    assert!(output.metadata.errors[0].starts_with("flood: its answer has 8"), "{:?}", output.metadata.errors);
}

#[tokio::test(start_paused = true)]
async fn seed_004_a_query_keeps_ten_mebibytes_at_most_and_each_server_has_the_same_share() {
    let leaves = "leaf ".repeat(800);
    let world = (0..50).fold(World::default(), |world, server| {
        let entries: Vec<Value> =
            (0..100).map(|n| json!({"leaves": format!("{} {leaves}", n * 50 + server)})).collect();
        let result = json!({"content": [], "structuredContent": {"results": entries}});
        world.with(format!("s{server:02}"), Manner::Says { result, after: Duration::ZERO })
    });
    let output = ask(&world, "leaf").await.unwrap();
    let numbers = &output.metadata;
    // Each item is kept as text and as the JSON that it was cut from.
    let kept = numbers.total_results_raw * 2 * leaves.len();
    assert!((9 << 20..=10 << 20).contains(&kept), "{kept}");
    assert_eq!(numbers.total_results_raw % 50, 0, "{}", numbers.total_results_raw);
    assert_eq!(numbers.total_results_raw + numbers.left_out.items, 5000);
}

#[tokio::test(start_paused = true)]
async fn the_whole_query_has_a_deadline_and_who_was_not_reached_is_named() {
    let world = (0..4)
        .fold(World::default().with("z", said("tea")), |world, n| world.with(format!("h{n}"), Manner::Hangs));
    let limits = Limits { at_once: 1, ..Limits::default() };
    let started = Instant::now();
    let error =
        fan_out(&input("tea"), &world.targets(), &world, &Rules::default(), &limits).await.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    let errors = [
        "h0: timeout after 3s",
        "h1: timeout after 2s",
        "h2: not reached within 5s",
        "h3: not reached within 5s",
        "z: not reached within 5s",
    ];
    assert_eq!(error.data()["errors"], json!(errors));
}

#[tokio::test(start_paused = true)]
async fn f46_a_query_that_is_dropped_cancels_its_calls() {
    let world = World::default().with("a", Manner::Hangs);
    let query = tokio::time::timeout(Duration::from_secs(1), ask(&world, "tea")).await;
    assert!(query.is_err() && world.is_cancelled("a"));
}

#[tokio::test(start_paused = true)]
async fn seed_004_an_error_of_a_tool_is_a_reason_and_an_empty_answer_is_none() {
    let failing = json!({"content": [{"type": "text", "text": "no API key"}], "isError": true});
    let world = World::default()
        .with("empty", says(&[], 0))
        .with("failing", Manner::Says { result: failing, after: Duration::ZERO })
        .with("garbage", Manner::Says { result: json!([1]), after: Duration::ZERO });
    let output = ask(&world, "tea").await.unwrap();
    assert_eq!((output.metadata.servers_queried, output.metadata.servers_succeeded), (3, 1));
    assert_eq!(
        output.metadata.errors,
        ["failing: no API key", "garbage: its answer is no result that can be read"]
    );
    assert!(output.results.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_several_servers_say_is_told_once_with_all_their_names() {
    let world =
        World::default().with("b", said("Green tea!")).with("a", said("green tea")).with("c", said("milk"));
    let output = ask(&world, "green tea").await.unwrap();
    let first = &output.results[0];
    assert_eq!((first.server.as_str(), first.also_from.as_slice()), ("a", &["b".to_owned()][..]));
    assert_eq!((output.metadata.total_results_raw, output.metadata.total_results_dedup), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn a_ranking_that_is_late_is_gone_without() {
    let world = World { ranks_after: Duration::from_mins(1), ..World::default() }.with("a", said("tea"));
    let started = Instant::now();
    assert_eq!(ask(&world, "tea").await.unwrap().results.len(), 1);
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn meaning_counts_where_it_is_known() {
    let entries = ["car repair".to_owned(), "automobile mending".to_owned()];
    let first = |output: QueryOutput| output.results[0].content.clone();
    let world = World::default().with("a", says(&entries, 0));
    assert_eq!(first(ask(&world, "car mechanic").await.unwrap()), "car repair");
    let world = World { means: Some("automobile"), ..world };
    assert_eq!(first(ask(&world, "car mechanic").await.unwrap()), "automobile mending");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_objects_to_one_way_is_asked_in_the_next_and_one_that_is_lost_is_not() {
    let entries = ["green tea".to_owned(), "milk".to_owned()];
    let asked = async |first: Manner| {
        let world = World::default().with("a.search", first).with("a.list_drinks", says(&entries, 0));
        let mut target = searchable("a");
        target.tools.push(tool("list_drinks", &json!({"type": "object"})));
        let output = fan_out(&input("tea"), &[target], &world, &Rules::default(), &Limits::default()).await;
        (output, world.calls.lock().unwrap().clone())
    };
    let (output, calls) = asked(Manner::Objects).await;
    assert_eq!(output.unwrap().results[0].content, "green tea");
    assert_eq!(calls, ["a.search", "a.list_drinks"]);
    let (output, calls) = asked(Manner::Refuses).await;
    assert_eq!(output.unwrap_err().data()["errors"], json!(["a: connection refused"]));
    assert_eq!(calls, ["a.search"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_tells_its_tables_and_does_not_read_them_has_failed() {
    let sql = json!({"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]});
    let mut target = Target::named("a");
    target.tools = vec![tool("read_rows", &sql), tool("list_tables", &json!({"type": "object"}))];
    let world = World::default().with("a.list_tables", says(&["orders".to_owned()], 0)).with(
        "a.read_rows",
        Manner::Says {
            result: json!({"content": [{"type": "text", "text": "disk I/O error"}], "isError": true}),
            after: Duration::ZERO,
        },
    );
    let error = fan_out(&input("customers"), &[target], &world, &Rules::default(), &Limits::default()).await;
    assert_eq!(error.unwrap_err().data()["errors"], json!(["a: disk I/O error"]));
    let calls = world.calls.lock().unwrap().clone();
    assert_eq!(calls, ["a.list_tables", "a.read_rows"], "what was told is not asked again");
}
