//! Servers die under load, one after the other.

use super::dice::Dice;
use super::{all_connected, end, gateway_of, names};
use crate::kit::until;
use portolan_testkit::{Client, Gateway, HttpClient, Signal, processes};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

const SERVERS: usize = 20;
const CALLS: usize = 10_000;
const KILLS: usize = 20;
const CLIENTS: usize = 4;
const CALLERS: usize = 32;

/// What was answered so far: for each call whether it succeeded, and how many there are.
#[derive(Default)]
struct Answers {
    by_token: Mutex<Vec<(usize, bool)>>,
    count: watch::Sender<usize>,
}

impl Answers {
    fn add(&self, token: usize, is_success: bool) {
        self.by_token.lock().unwrap().push((token, is_success));
        self.count.send_modify(|count| *count += 1);
    }
}

/// Calls until all calls are made, each with a token of its own to a server of chance.
async fn call(client: HttpClient, next: Arc<AtomicUsize>, servers: Arc<Vec<usize>>, answers: Arc<Answers>) {
    loop {
        let token = next.fetch_add(1, Ordering::Relaxed);
        let Some(server) = servers.get(token) else { return };
        let (server, arguments) = (format!("s{server:02}"), json!({ "token": token }));
        let result = client.call(&format!("{server}.echo"), arguments.clone()).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        if result["isError"] == true {
            let lost = format!("server {server} was lost while the call was running");
            assert!(text.contains(&lost), "{text}");
        } else {
            assert_eq!(text, arguments.to_string(), "an answer that is somebody else's");
        }
        answers.add(token, result["isError"] != true);
    }
}

/// Kills servers of chance, evenly spread over the calls. None is hit more than twice, so that calls to it wait for it
/// and never learn that it was away.
async fn kill(gateway: &Gateway, dice: &mut Dice, answers: &Answers) {
    let mut victims: Vec<usize> = (0..SERVERS).chain(0..SERVERS).collect();
    dice.shuffle(&mut victims);
    let mut count = answers.count.subscribe();
    for (turn, victim) in victims.into_iter().take(KILLS).enumerate() {
        let due = (turn + 1) * CALLS / (KILLS + 1);
        count.wait_for(|count| *count >= due).await.unwrap();
        let journal = gateway.journal(&format!("s{victim:02}"));
        let journal = journal.path().to_str().unwrap();
        until("the victim lives", || !processes::mentioning(journal).is_empty()).await;
        for process in processes::mentioning(journal) {
            processes::signal(process.pid, Signal::KILL);
        }
    }
}

/// How often each call was executed, by the servers' own word.
fn executions(gateway: &Gateway, names: &[String]) -> HashMap<usize, usize> {
    let mut executions = HashMap::new();
    for name in names {
        for call in gateway.journal(name).calls("echo") {
            let token: &Value = &call["params"]["arguments"]["token"];
            *executions.entry(usize::try_from(token.as_u64().unwrap()).unwrap()).or_default() += 1;
        }
    }
    executions
}

#[tokio::test]
async fn f05_ten_thousand_calls_while_servers_are_killed_are_all_answered_and_none_is_executed_twice() {
    let mut dice = Dice::new();
    let names = names(SERVERS);
    let gateway = gateway_of(&names, &["--only", "echo"]).await;
    let (next, answers) = (Arc::<AtomicUsize>::default(), Arc::<Answers>::default());
    let servers: Arc<Vec<usize>> = Arc::new((0..CALLS).map(|_| dice.below(SERVERS)).collect());
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(gateway.connect().await);
    }
    let callers: Vec<_> = (0..CALLERS)
        .map(|at| {
            let client = clients[at % CLIENTS].clone();
            tokio::spawn(call(client, next.clone(), servers.clone(), answers.clone()))
        })
        .collect();
    kill(&gateway, &mut dice, &answers).await;
    for caller in callers {
        caller.await.unwrap();
    }
    all_connected(&gateway.rest(), &names).await;
    let answered = answers.by_token.lock().unwrap().clone();
    assert_eq!(answered.len(), CALLS);
    let executions = executions(&gateway, &names);
    for (token, is_success) in &answered {
        let times = executions.get(token).copied().unwrap_or(0);
        assert!(times <= 1, "call {token} was executed {times} times");
        assert!(times == 1 || !is_success, "call {token} was answered and never executed");
    }
    let lost = answered.iter().filter(|(_, is_success)| !is_success).count();
    println!("{CALLS} answers, {lost} of them that the server was lost");
    let starts: usize = names.iter().map(|name| gateway.journal(name).starts()).sum();
    assert_eq!(starts, SERVERS + KILLS);
    assert_eq!(gateway.fixtures().len(), SERVERS);
    assert_eq!(processes::zombies_of(gateway.pid()), [0_u32; 0]);
    end(gateway).await;
}
