//! The end, with as much in flight as there can be.

use super::{gateway_of, names};
use crate::kit::until;
use portolan_testkit::{Client, HttpClient, Rest, Signal, processes};
use serde_json::{Value, json};

const SERVERS: usize = 5;
/// Clients over MCP, and how many calls each has in flight.
const CLIENTS: usize = 4;
const CALLS_EACH: usize = 60;
const CALLS_OVER_REST: usize = 60;
const CALLS: usize = CLIENTS * CALLS_EACH + CALLS_OVER_REST;

async fn over_mcp(client: HttpClient, name: String, arguments: Value) -> String {
    client.call_text(&name, arguments).await
}

async fn over_rest(rest: Rest, name: String, arguments: Value) -> String {
    let answer = rest.post("/tools/call", json!({ "name": name, "arguments": arguments })).await.json(200);
    assert_eq!(answer["isError"], false, "{answer}");
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn f65_three_hundred_calls_in_flight_are_answered_before_the_end() {
    let names = names(SERVERS);
    let mut gateway = gateway_of(&names, &["--faults", "--only", "slow"]).await;
    let family = gateway.children();
    // The second that each call takes begins when this file is there: until then all of them are in flight.
    let begin = gateway.directory().join("begin");
    let arguments = json!({ "ms": 1000, "after": begin });
    let name = |at: usize| format!("{}.slow", names[at % SERVERS]);
    let mut running = Vec::new();
    for _ in 0..CLIENTS {
        let client = gateway.connect().await;
        for at in 0..CALLS_EACH {
            running.push(tokio::spawn(over_mcp(client.clone(), name(at), arguments.clone())));
        }
    }
    let rest = gateway.rest();
    for at in 0..CALLS_OVER_REST {
        running.push(tokio::spawn(over_rest(rest.clone(), name(at), arguments.clone())));
    }
    let executions = || names.iter().map(|name| gateway.journal(name).executions("slow")).sum::<usize>();
    until("all calls are in flight", || executions() == CALLS).await;
    gateway.signal(Signal::TERM);
    let address = gateway.address().to_owned();
    until("nothing new is taken", || std::net::TcpStream::connect(&address).is_err()).await;
    assert!(running.iter().all(|call| !call.is_finished()), "all of them are still in flight");
    std::fs::write(begin, "").unwrap();
    for call in running {
        assert_eq!(call.await.unwrap(), "slept 1000 ms");
    }
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
    until("nothing of it is left", || gateway.children().is_empty()).await;
    gateway.stderr().wait_closed("stderr").await;
    assert!(!gateway.stderr().all().iter().any(|line| line.contains("given up")), "nothing was given up");
}
