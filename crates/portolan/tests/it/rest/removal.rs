//! BR-008: a server that is removed leaves nothing; EC-004 and F70: a name is had by one, whatever the race.

use super::{
    Gate, call, calling, connected, eventually, in_state, one, registered, server, stdio, tool, tools, turns,
    with,
};
use crate::kit::until;
use portolan_testkit::{Client, Gateway, Rest};
use serde_json::{Value, json};
use std::collections::HashSet;

async fn remove(rest: &Rest, query: &str) {
    rest.delete(&format!("/aggregator/servers/one{query}")).await.empty(204);
}

#[tokio::test]
async fn br_008_nothing_of_a_removed_server_is_left_and_its_name_starts_anew() {
    let (gateway, rest) = one(&["--tools", "3"]).await;
    let client = gateway.connect().await;
    let listener = client.open_get_stream().await;
    rest.patch("/aggregator/servers/one/tools/tool_0001", json!({ "enabled": false })).await.json(200);
    let (old, old_tools) = (server(&rest, "one").await, tools(&rest, "one").await);
    remove(&rest, "").await;
    listener.wait_for_method("notifications/tools/list_changed").await;
    assert_eq!(client.tool_names().await, Vec::<String>::new());
    let id = old["id"].as_str().unwrap();
    for key in ["one", id] {
        for place in ["", "/tools", "/history", "/health"] {
            rest.get(&format!("/aggregator/servers/{key}{place}")).await.problem(404, "SERVER_NOT_FOUND");
        }
        rest.delete(&format!("/aggregator/servers/{key}")).await.problem(404, "SERVER_NOT_FOUND");
    }
    for list in ["/aggregator/servers", "/aggregator/tools"] {
        assert_eq!(rest.get(list).await.json(200), json!([]));
    }
    assert_eq!(rest.get("/aggregator/state").await.json(200)["total_tools"], 0);
    call(&rest, "one.tool_0000", json!({})).await.problem(404, "TOOL_NOT_FOUND");
    until("its process is gone", || gateway.fixtures().is_empty()).await;
    // A namesake has nothing of it: no id, no history, no setting.
    let new = connected(&rest, stdio(&gateway, "one", &["--tools", "3"])).await;
    assert_ne!(new["id"], old["id"]);
    let ids =
        |tools: &[Value]| -> HashSet<String> { tools.iter().map(|tool| tool["id"].to_string()).collect() };
    let new_tools = tools(&rest, "one").await;
    assert!(ids(&new_tools).is_disjoint(&ids(&old_tools)), "{new_tools:?}");
    assert!(new_tools.iter().all(|tool| tool["enabled"] == true));
    assert_eq!(turns(&rest, "one").await, ["CONNECTING", "CONNECTED"]);
}

#[tokio::test]
async fn br_008_a_removed_server_stays_removed_after_a_restart() {
    let (gateway, rest) = one(&[]).await;
    connected(&rest, stdio(&gateway, "two", &[])).await;
    remove(&rest, "").await;
    let gateway = gateway.restart().await;
    let rest = gateway.rest();
    let servers = rest.get("/aggregator/servers").await.json(200);
    assert_eq!(servers.as_array().unwrap().len(), 1);
    assert_eq!(servers[0]["name"], "two");
    rest.get("/aggregator/servers/one").await.problem(404, "SERVER_NOT_FOUND");
    assert_eq!(gateway.journal("one").starts(), 1);
}

#[tokio::test]
async fn br_008_one_that_is_not_connected_or_cannot_be_is_removed_as_well() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    registered(&rest, with(stdio(&gateway, "one", &[]), json!({ "auto_connect": false }))).await;
    remove(&rest, "").await;
    let never = gateway.directory().join("never");
    registered(&rest, stdio(&gateway, "one", &["--start-when", never.to_str().unwrap()])).await;
    gateway.journal("one").wait_for("its start", |journal| journal.starts() == 1).await;
    remove(&rest, "").await;
    until("its process is gone", || gateway.fixtures().is_empty()).await;
    let locked = portolan_testkit::Fixture::http(&["--unauthorized"]).await;
    registered(&rest, super::http("one", &locked)).await;
    in_state(&rest, "one", "ERROR").await;
    remove(&rest, "?force=true").await;
    assert_eq!(rest.get("/aggregator/servers").await.json(200), json!([]));
}

#[tokio::test]
async fn br_008_f70_a_removal_lets_calls_end_and_a_forced_one_gives_them_up() {
    let (gateway, rest) = one(&["--faults"]).await;
    let gate = Gate::new(&gateway, "gate");
    let slow = calling(&rest, "one.slow", gate.arguments());
    gateway.journal("one").wait_for_executions("slow", 1).await;
    let removing = tokio::spawn({
        let rest = rest.clone();
        async move { rest.delete("/aggregator/servers/one").await }
    });
    eventually("new calls are refused", async || {
        (call(&rest, "one.echo", json!({})).await.status != 200).then_some(())
    })
    .await;
    assert!(!slow.is_finished() && !removing.is_finished());
    gate.open();
    slow.await.unwrap().json(200);
    removing.await.unwrap().empty(204);

    connected(&rest, stdio(&gateway, "one", &["--faults"])).await;
    let hanging = calling(&rest, "one.hang", json!({}));
    gateway.journal("one").wait_for_executions("hang", 1).await;
    remove(&rest, "?force=true").await;
    let problem = hanging.await.unwrap().problem(503, "SERVER_LOST");
    assert_eq!(problem["server"], "one");
    assert_eq!(rest.get("/aggregator/tools").await.json(200), json!([]), "the cascade is complete");
}

#[tokio::test]
async fn ec_004_of_twenty_registrations_of_one_name_at_once_one_is_taken() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let racing: Vec<_> = (0..20)
        .map(|_| {
            let (rest, draft) = (rest.clone(), stdio(&gateway, "one", &[]));
            tokio::spawn(async move { rest.post("/aggregator/servers", draft).await })
        })
        .collect();
    let mut taken = Vec::new();
    for answer in racing {
        let answer = answer.await.unwrap();
        if answer.status == 201 {
            taken.push(answer.json(201)["id"].clone());
        } else {
            let problem = answer.problem(409, "SERVER_ALREADY_EXISTS");
            assert_eq!(problem["detail"], "Server already exists: one");
        }
    }
    assert_eq!(taken.len(), 1);
    let shown = in_state(&rest, "one", "CONNECTED").await;
    assert_eq!(shown["id"], taken[0]);
    assert_eq!(rest.get("/aggregator/servers").await.header("x-total-count"), Some("1"));
    assert_eq!(gateway.journal("one").starts(), 1);
}

#[tokio::test]
async fn f70_registering_and_removing_one_name_in_a_race_leaves_no_half_of_it() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    let racing: Vec<_> = (0..6)
        .map(|_| {
            let (rest, draft) = (rest.clone(), stdio(&gateway, "one", &["--only", "echo"]));
            tokio::spawn(async move {
                let mut had = Vec::new();
                for _ in 0..5 {
                    let answer = rest.post("/aggregator/servers", draft.clone()).await;
                    match answer.status {
                        201 => had.push(answer.json(201)["id"].as_str().unwrap().to_owned()),
                        _ => drop(answer.problem(409, "SERVER_ALREADY_EXISTS")),
                    }
                    let answer = rest.delete("/aggregator/servers/one?force=true").await;
                    match answer.status {
                        204 => {}
                        _ => drop(answer.problem(404, "SERVER_NOT_FOUND")),
                    }
                }
                had
            })
        })
        .collect();
    let mut had = Vec::new();
    for ids in racing {
        had.extend(ids.await.unwrap());
    }
    assert!(!had.is_empty());
    assert_eq!(had.iter().collect::<HashSet<_>>().len(), had.len(), "no id was given twice");
    // Whoever came last removed it, or found it removed.
    assert_eq!(rest.get("/aggregator/servers").await.json(200), json!([]));
    assert_eq!(rest.get("/aggregator/tools").await.json(200), json!([]));
    until("no process is left", || gateway.fixtures().is_empty()).await;
    connected(&rest, stdio(&gateway, "one", &["--only", "echo"])).await;
    assert_eq!(tool(&rest, "one", "echo").await["available"], true);
    assert_eq!(gateway.fixtures().len(), 1);
}

#[tokio::test]
async fn f70_two_removals_of_one_server_are_one() {
    let (gateway, rest) = one(&[]).await;
    let racing: Vec<_> = (0..8)
        .map(|_| {
            let rest = rest.clone();
            tokio::spawn(async move { rest.delete("/aggregator/servers/one").await.status })
        })
        .collect();
    let mut statuses = Vec::new();
    for status in racing {
        statuses.push(status.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404, 404, 404, 404, 404, 404, 404]);
    until("its process is gone", || gateway.fixtures().is_empty()).await;
}
