//! Long runs: many servers, many calls, and something that goes wrong again and again meanwhile.
//!
//! What is random comes from dice that show their seed when a run fails. No run judges how long anything took; those that
//! measure say so for people.

mod breadth;
mod crashes;
mod dice;
mod drain;
mod full_disk;
mod hands;
mod hang;
mod kill_nine;
mod reloads;

use crate::kit::until;
use portolan_testkit::{DEADLINE, Gateway, GatewayBuilder, Rest, Signal, processes};
use serde_json::Value;
use std::time::Duration;

/// How often the REST surface is asked again.
const POLL: Duration = Duration::from_millis(50);

/// The names of so many servers, in the order of lists.
fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("s{number:02}")).collect()
}

/// A gateway over stdio fixtures of these names, all of them connected.
async fn gateway_of(names: &[String], flags: &[&str]) -> Gateway {
    let add = |builder: GatewayBuilder, name: &String| builder.fixture(name, flags);
    let gateway = names.iter().fold(Gateway::builder(), add).serve().await;
    all_connected(&gateway.rest(), names).await;
    gateway
}

/// Every server, as the REST surface shows it.
async fn servers(rest: &Rest) -> Vec<Value> {
    let answer = rest.get("/aggregator/servers?limit=1000").await.json(200);
    answer.as_array().unwrap().clone()
}

/// The names of the servers in this state.
async fn in_state(rest: &Rest, state: &str) -> Vec<String> {
    let shown = servers(rest).await;
    let those = shown.iter().filter(|server| server["status"] == state);
    those.map(|server| server["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until exactly these servers are connected.
async fn all_connected(rest: &Rest, names: &[String]) {
    let what = format!("these are connected and no others: {names:?}");
    eventually(&what, async || in_state(rest, "CONNECTED").await == names).await;
}

/// Asks again and again until it is so; panics at the deadline.
async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(POLL).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, wait).await.is_ok(), "waited {DEADLINE:?} until {what}");
}

/// Ends it in order. Nothing of it is left.
async fn end(mut gateway: Gateway) {
    let family = gateway.children();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    processes::wait_gone(&family).await;
    until("nothing of it is left", || gateway.children().is_empty()).await;
}
