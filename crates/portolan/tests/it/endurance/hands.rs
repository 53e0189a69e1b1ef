//! Many hands on the same few servers: registering, removing, renaming, connecting and calling them all at once.

use super::dice::Dice;
use super::{all_connected, end};
use crate::kit::until;
use portolan_testkit::{Answer, Gateway, Rest, bin};
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const HANDS: usize = 12;
const ACTS: usize = 120;

fn draft(name: &str) -> Value {
    let config = json!({ "command": bin("portolan-fixture"), "args": ["--only", "echo"] });
    json!({ "name": name, "transport_type": "STDIO", "connection_config": config })
}

/// One act of chance on a server of chance.
async fn act(rest: &Rest, dice: &mut Dice) -> Answer {
    let (name, other) = (NAMES[dice.below(NAMES.len())], NAMES[dice.below(NAMES.len())]);
    let server = format!("/aggregator/servers/{name}");
    match dice.below(14) {
        0 | 1 => rest.post("/aggregator/servers", draft(name)).await,
        2 => rest.delete(&server).await,
        3 => rest.delete(&format!("{server}?force=true")).await,
        4 => rest.post_nothing(&format!("{server}/connect?wait=true")).await,
        5 => rest.post_nothing(&format!("{server}/reconnect?wait=true")).await,
        6 => rest.post(&format!("{server}/disconnect"), json!({ "force": dice.once_in(2) })).await,
        7 => rest.patch(&server, json!({ "name": other })).await,
        8 => rest.patch(&server, json!({ "description": other })).await,
        9 => rest.patch(&format!("{server}/tools/echo"), json!({ "enabled": !dice.once_in(4) })).await,
        10 => rest.post_nothing(&format!("{server}/tools/refresh")).await,
        11 => rest.get("/aggregator/servers?include_tools=true").await,
        _ => rest.post("/tools/call", json!({ "name": format!("{name}.echo"), "arguments": {} })).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f70_whatever_many_hands_do_to_the_same_servers_each_gets_an_answer_and_all_are_well_in_the_end() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let mut dice = Dice::new();
    let hands: Vec<_> = (0..HANDS)
        .map(|_| {
            let (rest, mut dice) = (gateway.rest(), dice.another());
            tokio::spawn(async move {
                for _ in 0..ACTS {
                    let answer = act(&rest, &mut dice).await;
                    // What is not there, taken, or away is said; nothing else goes wrong.
                    let is_fine = matches!(answer.status, 200..=204 | 404 | 409 | 503);
                    assert!(is_fine, "{answer:?}");
                }
            })
        })
        .collect();
    for hand in hands {
        hand.await.unwrap();
    }
    for name in NAMES {
        rest.post("/aggregator/servers", draft(name)).await;
        let connected = rest.post_nothing(&format!("/aggregator/servers/{name}/connect?wait=true")).await;
        assert_eq!(connected.json(200)["status"], "CONNECTED");
        rest.patch(&format!("/aggregator/servers/{name}/tools/echo"), json!({ "enabled": true }))
            .await
            .json(200);
        rest.post("/tools/call", json!({ "name": format!("{name}.echo") })).await.json(200);
    }
    all_connected(&rest, &NAMES.map(str::to_owned)).await;
    until("each has one process", || gateway.fixtures().len() == NAMES.len()).await;
    end(gateway).await;
}
