//! EC-003, EC-007, EC-010: servers that break during calls, are called by many at once, or go stale unnoticed.

use super::{call, call_text, calling, connected, http, in_state, one, server, stdio, turns};
use portolan_testkit::{Client, Fixture, Gateway, Signal, processes};
use serde_json::{Value, json};

#[tokio::test]
async fn ec_003_a_server_that_dies_during_a_call_is_503_with_what_was_in_progress_and_comes_back() {
    let (gateway, rest) = one(&["--faults"]).await;
    let client = gateway.connect().await;
    let hanging = calling(&rest, "one.hang", json!({}));
    let also_hanging = tokio::spawn({
        let client = client.clone();
        async move { client.call("one.hang", json!({})).await }
    });
    gateway.journal("one").wait_for_executions("hang", 2).await;
    let problem = call(&rest, "one.crash", json!({ "code": 3 })).await.problem(503, "SERVER_LOST");
    assert_eq!((&problem["server"], &problem["tool"]), (&json!("one"), &json!("one.crash")));
    assert!(problem["detail"].as_str().unwrap().contains("may have taken effect"), "{problem}");
    let problem = hanging.await.unwrap().problem(503, "SERVER_LOST");
    assert_eq!((&problem["server"], &problem["tool"]), (&json!("one"), &json!("one.hang")));
    assert_eq!(also_hanging.await.unwrap()["isError"], true);
    // Whoever calls now waits for the next session, unsent.
    assert_eq!(call_text(&rest, "one.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    assert_eq!(turns(&rest, "one").await, ["CONNECTING", "CONNECTED", "ERROR", "CONNECTING", "CONNECTED"]);
    let journal = gateway.journal("one");
    assert_eq!((journal.starts(), journal.executions("hang"), journal.executions("crash")), (2, 2, 1));
    let history = rest.get("/aggregator/servers/one/history").await.json(200);
    assert!(history[2]["details"]["error"].as_str().unwrap().contains("exit status: 3"), "{history}");
}

#[tokio::test]
async fn ec_003_the_same_over_http() {
    let mut web = Fixture::http(&["--faults"]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, http("web", &web)).await;
    let hanging = calling(&rest, "web.hang", json!({}));
    web.journal().wait_for_executions("hang", 1).await;
    web.stop().await;
    let problem = hanging.await.unwrap().problem(503, "SERVER_LOST");
    assert_eq!(problem["server"], "web");
    let again = Fixture::http(&["--faults", "--port", &web.port().to_string()]).await;
    in_state(&rest, "web", "CONNECTED").await;
    call_text(&rest, "web.echo", json!({})).await;
    assert_eq!(again.journal().executions("hang"), 0, "never sent again");
}

#[tokio::test]
async fn ec_007_many_calls_at_once_to_one_server_each_get_their_own_answer() {
    let (web, gateway) = (Fixture::http(&["--faults"]).await, Gateway::builder().serve().await);
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", &["--faults"])).await;
    connected(&rest, http("web", &web)).await;
    let client = gateway.connect().await;
    let mut calls = Vec::new();
    for number in 0..100 {
        let name = if number % 2 == 0 { "one.echo" } else { "web.echo" };
        let (rest, client) = (rest.clone(), client.clone());
        calls.push(tokio::spawn(async move {
            let arguments = json!({ "number": number, "filler": "x".repeat(number * 50) });
            let said = if number % 3 == 0 {
                client.call_text(name, arguments.clone()).await
            } else {
                call_text(&rest, name, arguments.clone()).await
            };
            assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), arguments);
        }));
    }
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(gateway.journal("one").executions("echo") + web.journal().executions("echo"), 100);
}

#[tokio::test]
async fn ec_010_a_session_that_its_server_has_forgotten_is_replaced_and_the_call_is_answered() {
    let web = Fixture::http(&["--faults"]).await;
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, http("web", &web)).await;
    call_text(&rest, "web.forget_sessions", json!({})).await;
    assert_eq!(call_text(&rest, "web.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    assert_eq!(web.journal().executions("echo"), 1);
    assert_eq!(server(&rest, "web").await["status"], "CONNECTED");
    assert_eq!(web.journal().of("initialize").len(), 2);
}

#[tokio::test]
async fn ec_010_a_session_that_goes_stale_is_found_by_its_health_and_calls_wait_for_the_next() {
    let gateway = Gateway::builder().env("PORTOLAN_HEALTH_INTERVAL", "1s").serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "one", &["--faults"])).await;
    let said: Value = serde_json::from_str(&call_text(&rest, "one.pid", json!({})).await).unwrap();
    let pid = u32::try_from(said["pid"].as_u64().unwrap()).unwrap();
    // Alive, connected and deaf: no pipe breaks, and only a question can tell.
    processes::signal(pid, Signal::STOP);
    in_state(&rest, "one", "CONNECTING").await;
    let told = turns(&rest, "one").await;
    assert_eq!(told, ["CONNECTING", "CONNECTED", "DEGRADED", "ERROR", "CONNECTING"]);
    assert_eq!(call_text(&rest, "one.echo", json!({ "a": 1 })).await, r#"{"a":1}"#);
    assert_eq!(server(&rest, "one").await["status"], "CONNECTED");
    assert!(!processes::alive(pid), "the deaf one was ended");
}
