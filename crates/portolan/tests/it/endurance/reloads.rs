//! The configuration changes again and again while calls run.

use super::dice::Dice;
use super::{all_connected, end, names, servers};
use crate::kit::{echoes, pid_of, until};
use portolan_testkit::{Client, Gateway, GatewayBuilder, HttpClient, bin};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

const RELOADS: usize = 50;
const BROKEN: usize = 10;
const CALLS: usize = 10_000;
const CALLERS: usize = 16;
/// Servers of the file that stay as they are.
const STEADY: usize = 6;
/// Servers of the file that come and go.
const FLEETING: usize = 4;
const FLAGS: [&str; 3] = ["--faults", "--only", "echo,pid"];

/// Files that cannot be applied, each in its own way.
const WRONG: [&str; 5] = [
    "",
    "{\"mcpServers\": {\"s00\": ",
    "{\"mcpServers\": {\"s00\": {\"command\": 7}}}",
    "{\"mcpServers\": []}",
    "not JSON at all",
];

/// Servers that are registered beside those of the file.
fn registered() -> [String; 2] {
    ["r00", "r01"].map(str::to_owned)
}

/// The file with the steady servers and these of the fleeting ones.
fn file(gateway: &Gateway, fleeting: &[String]) -> Value {
    let mut config = json!({ "mcpServers": {} });
    for name in names(STEADY).iter().chain(fleeting) {
        config["mcpServers"][name] = gateway.fixture_entry(name, &FLAGS);
    }
    config
}

/// Calls for as long as there are permits; every call succeeds.
async fn call(client: HttpClient, permits: Arc<Semaphore>, servers: Vec<String>) -> usize {
    let mut calls = 0;
    while let Ok(permit) = permits.acquire().await {
        permit.forget();
        let arguments = json!({ "call": calls });
        let name = format!("{}.echo", servers[calls % servers.len()]);
        assert_eq!(client.call_text(&name, arguments.clone()).await, arguments.to_string());
        calls += 1;
    }
    calls
}

async fn register(gateway: &Gateway) {
    for name in registered() {
        let journal = gateway.journal(&name);
        let args = [&FLAGS[..], &["--journal", journal.path().to_str().unwrap()]].concat();
        let config = json!({ "command": bin("portolan-fixture"), "args": args });
        let draft = json!({ "name": name, "transport_type": "STDIO", "connection_config": config });
        gateway.rest().post("/aggregator/servers", draft).await.json(201);
    }
}

/// Writes the file and waits until the gateway has said what became of it.
async fn reload(gateway: &Gateway, text: &str, verdict: &str) {
    let said = gateway.stderr().len();
    gateway.rewrite_config_text(text);
    gateway.stderr().wait_after(said, verdict, |line| line.contains(verdict)).await;
}

/// The reloads, with an equal share of the calls let loose before each.
async fn reloads(gateway: &Gateway, dice: &mut Dice, permits: &Semaphore) {
    let rest = gateway.rest();
    let fleeting: Vec<String> = (0..FLEETING).map(|number| format!("f{number:02}")).collect();
    let mut kinds: Vec<bool> = (0..RELOADS).map(|turn| turn < BROKEN).collect();
    dice.shuffle(&mut kinds);
    let mut present: Vec<String> = Vec::new();
    for is_broken in kinds {
        permits.add_permits(CALLS / RELOADS);
        if is_broken {
            let text = WRONG[dice.below(WRONG.len())];
            reload(gateway, text, "has changed but is wrong; what was running goes on").await;
        } else {
            present = fleeting.iter().filter(|_| dice.once_in(2)).cloned().collect();
            let config = file(gateway, &present);
            reload(gateway, &config.to_string(), "was read again and applied").await;
        }
        // In the order of their names.
        let expected = [&present[..], &registered(), &names(STEADY)].concat();
        let shown = servers(&rest).await;
        let listed: Vec<&str> = shown.iter().map(|server| server["name"].as_str().unwrap()).collect();
        assert_eq!(listed, expected);
        all_connected(&rest, &expected).await;
    }
}

#[tokio::test]
async fn f67_fifty_reloads_leave_the_calls_of_servers_that_stay_alone() {
    let mut dice = Dice::new();
    let steady = names(STEADY);
    let add = |builder: GatewayBuilder, name: &String| builder.fixture(name, &FLAGS);
    let gateway = steady.iter().fold(Gateway::builder(), add).serve().await;
    register(&gateway).await;
    let unchanging = [&registered()[..], &steady].concat();
    all_connected(&gateway.rest(), &unchanging).await;
    let client = gateway.connect().await;
    let mut before = Vec::new();
    for name in &unchanging {
        before.push(pid_of(&client, name).await);
    }
    let permits = Arc::new(Semaphore::new(0));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| tokio::spawn(call(client.clone(), permits.clone(), unchanging.clone())))
        .collect();
    reloads(&gateway, &mut dice, &permits).await;
    until("all calls are under way", || permits.available_permits() == 0).await;
    permits.close();
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.unwrap();
    }
    assert_eq!(calls, CALLS);
    for (name, before) in unchanging.iter().zip(before) {
        assert_eq!(pid_of(&client, name).await, before, "{name}");
        assert_eq!(gateway.journal(name).starts(), 1, "{name}");
        echoes(&client, &format!("{name}.echo")).await;
    }
    let comings: usize = (0..FLEETING).map(|n| gateway.journal(&format!("f{n:02}")).starts()).sum();
    println!("{calls} calls, {comings} comings of {FLEETING} servers");
    assert!(comings > FLEETING, "the others do come and go");
    end(gateway).await;
}
