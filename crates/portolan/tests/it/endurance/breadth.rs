//! As many servers and tools as must be carried with ease.

use super::{all_connected, end, eventually, in_state, names};
use portolan_testkit::{Client, Gateway, GatewayBuilder, HttpClient, Rest, Signal, processes};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Instant;

const SERVERS: usize = 50;
const TOOLS_EACH: usize = 200;
const TOOLS: usize = SERVERS * TOOLS_EACH;
/// The most that one page of a list may hold.
const PAGE: usize = 1000;
const LAST: &str = "s49.tool_0199";

/// Waits until all tools are listed, over MCP and over REST: a server is connected a moment before its tools are filed,
/// and they are filed a moment before they are stored.
async fn all_listed(client: &HttpClient, rest: &Rest) {
    client.wait_for_tools(|names| names.len() == TOOLS).await;
    let total = TOOLS.to_string();
    let is_stored = async || {
        let answer = rest.get("/aggregator/tools?limit=1").await;
        answer.header("x-total-count") == Some(total.as_str())
    };
    eventually("all tools are stored", is_stored).await;
}

/// All tools by REST, page by page.
async fn tools_over_rest(rest: &Rest) -> Vec<String> {
    let mut names = Vec::new();
    let total = TOOLS.to_string();
    for offset in (0..TOOLS).step_by(PAGE) {
        let answer = rest.get(&format!("/aggregator/tools?limit={PAGE}&offset={offset}")).await;
        assert_eq!(answer.header("x-total-count"), Some(total.as_str()));
        let page = answer.json(200);
        let page = page.as_array().unwrap();
        assert_eq!(page.len(), PAGE);
        names.extend(page.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
    }
    names
}

/// Says how long something took. That is for people: a test that judges it fails on a busy machine.
async fn timed<T>(what: &str, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let done = work.await;
    println!("{what}: {:?}", begun.elapsed());
    done
}

fn say_memory(gateway: &Gateway, when: &str) {
    let (now, peak) = (processes::rss_kib(gateway.pid()), processes::peak_rss_kib(gateway.pid()));
    println!("memory {when}: {} MiB, {} MiB at most", now >> 10, peak >> 10);
}

async fn calls_the_last(client: &HttpClient) {
    let arguments = json!({ "query": "the last" });
    let text = client.call_text(LAST, arguments.clone()).await;
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seen, json!({ "name": "tool_0199", "arguments": arguments }));
}

#[tokio::test]
async fn f40_ten_thousand_tools_are_listed_in_one_order_called_and_listed_again_at_once_after_a_restart() {
    let names = names(SERVERS);
    let builder = Gateway::builder();
    // Servers answer nothing before this file is there.
    let begin = builder.directory().join("begin");
    std::fs::write(&begin, "").unwrap();
    let (count, begin_text) = (TOOLS_EACH.to_string(), begin.to_str().unwrap());
    let flags = ["--tools", count.as_str(), "--start-when", begin_text];
    let builder = names.iter().fold(builder, |builder: GatewayBuilder, name| builder.fixture(name, &flags));
    let mut gateway = timed("start", builder.serve()).await;
    timed("all servers connected", all_connected(&gateway.rest(), &names)).await;
    let client = gateway.connect().await;
    timed("all tools filed and stored", all_listed(&client, &gateway.rest())).await;
    let listed = timed("the first list over MCP", client.tool_names()).await;
    assert_eq!(listed.iter().collect::<HashSet<_>>().len(), TOOLS);
    assert_eq!(listed.last().unwrap(), LAST);
    assert_eq!(timed("the second", client.tool_names()).await, listed);
    assert_eq!(timed("the third, of another client", gateway.connect().await.tool_names()).await, listed);
    for turn in ["first", "second", "third"] {
        let found = timed(&format!("the {turn} list over REST"), tools_over_rest(&gateway.rest())).await;
        assert_eq!(found, listed);
    }
    timed("a call of the last tool", calls_the_last(&client)).await;
    say_memory(&gateway, "with all servers connected");
    let family = gateway.children();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;

    std::fs::remove_file(&begin).unwrap();
    let again = gateway.another();
    drop(gateway);
    let gateway = timed("restart", again.serve()).await;
    let client = gateway.connect().await;
    assert_eq!(timed("the first list over MCP", client.tool_names()).await, listed);
    assert_eq!(in_state(&gateway.rest(), "CONNECTING").await, names, "no server has answered yet");
    let introductions = |name: &String| gateway.journal(name).of("initialize").len();
    assert!(names.iter().all(|name| introductions(name) == 1), "no server has been heard since the restart");
    assert_eq!(timed("the first list over REST", tools_over_rest(&gateway.rest())).await, listed);
    std::fs::write(&begin, "").unwrap();
    timed("all servers connected", all_connected(&gateway.rest(), &names)).await;
    all_listed(&client, &gateway.rest()).await;
    assert_eq!(client.tool_names().await, listed);
    calls_the_last(&client).await;
    say_memory(&gateway, "after the restart");
    end(gateway).await;
}
