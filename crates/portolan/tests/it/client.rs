//! What one client can rely on: its own answers, its own cancellations, progress before the reply.

use crate::kit::{Raw, call, echoes, listed, one, ready};
use portolan_testkit::{Client, Exchange, Fixture, Gateway, HttpClient, Profile, SseClient, StdioClient};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The stdio form over one fixture, after the handshake and its first list.
async fn over_stdio(flags: &[&str]) -> (Gateway, StdioClient) {
    let (gateway, client) = Gateway::builder().fixture("one", flags).stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    (gateway, client)
}

#[tokio::test]
async fn t06_f49_calls_with_one_id_in_flight_on_one_session_each_get_their_own_answer() {
    let (_gateway, client) = one(&["--faults"]).await;
    let calls = (0..40).map(|n| {
        let client = client.clone();
        // Every second one is slow, so that answers overtake one another.
        let (tool, arguments) =
            if n % 2 == 0 { ("one.slow", json!({ "ms": 300 + n })) } else { ("one.echo", json!({ "n": n })) };
        tokio::spawn(async move { (n, client.request("1", "tools/call", call(tool, arguments)).await) })
    });
    for task in calls.collect::<Vec<_>>() {
        let (n, exchange): (u64, Exchange) = task.await.unwrap();
        let expected =
            if n % 2 == 0 { format!("slept {} ms", 300 + n) } else { json!({ "n": n }).to_string() };
        assert_eq!(exchange.result()["content"][0]["text"], expected);
        assert_eq!(exchange.reply["id"], 1);
    }
}

#[tokio::test]
async fn t06_f49_calls_with_one_id_in_flight_over_stdio_are_each_answered() {
    let (_gateway, client) = over_stdio(&["--faults"]).await;
    for n in 0..20 {
        client.start("1", "tools/call", call("one:slow", json!({ "ms": 200 - n }))).await;
    }
    let mut answers = BTreeSet::new();
    let mut at = 0;
    for _ in 0..20 {
        let is_answer = |message: &Value| message["id"] == 1 && message["result"].get("content").is_some();
        let (found, message) = client.messages().wait_after(at, "one more answer", is_answer).await;
        at = found + 1;
        answers.insert(message["result"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(answers.len(), 20, "each its own: {answers:?}");
}

#[tokio::test]
async fn ids_come_back_with_the_same_bytes() {
    let (_gateway, client) = one(&[]).await;
    for id in ["0", "-7", "1.0", "\"a\\u0041\"", "\"\"", "9007199254740993", "\"ü\""] {
        let exchange = client.request(id, "tools/call", call("one.echo", json!({}))).await;
        assert!(exchange.body.contains(&format!("\"id\":{id},")), "{id}: {}", exchange.body);
    }
}

/// Starts a call on a connection of its own, which can be dropped.
async fn raw_call(gateway: &Gateway, client: &HttpClient, id: &str, tool: &str, arguments: Value) -> Raw {
    let mut raw = Raw::open(gateway.address()).await;
    let session = format!("Mcp-Session-Id: {}\r\n", client.session().unwrap());
    let params = call(tool, arguments);
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
    raw.start_post("/mcp", &session, &body).await;
    raw
}

#[tokio::test]
async fn f46_a_client_that_drops_mid_call_leaks_nothing_and_does_not_cancel_before_2026() {
    let builder =
        Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIMITS_IN_FLIGHT_PER_SERVER", "1");
    let (gateway, client) = ready(builder, &["one"]).await;
    let journal = gateway.journal("one");
    for round in 1..=5 {
        let raw = raw_call(&gateway, &client, "7", "one.hang", json!({})).await;
        journal.wait_for_executions("hang", round).await;
        let busy = client.try_call("one.echo", json!({})).await.unwrap_err();
        assert_eq!(busy["code"], -32000, "the one slot is taken: {busy}");
        drop(raw);
        let freed = async {
            while client.try_call("one.echo", json!({})).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(portolan_testkit::DEADLINE, freed).await.expect("the slot is given back");
    }
    assert!(!journal.saw("notifications/cancelled"), "leaving is not cancelling in these revisions");
}

#[tokio::test]
async fn f46_a_client_that_drops_over_sse_leaves_the_others_alone() {
    let (gateway, client) = one(&["--faults"]).await;
    let other = SseClient::connect(&gateway.url_of("/sse")).await;
    let params = call("one.hang", json!({}));
    other
        .post(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string())
        .await;
    gateway.journal("one").wait_for_executions("hang", 1).await;
    drop(other);
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn a_cancellation_reaches_the_server_under_its_own_id_and_ends_only_that_call() {
    let (gateway, client) = one(&["--faults"]).await;
    let started = |id: &'static str, tool: &'static str, arguments: Value| {
        let client = client.clone();
        tokio::spawn(async move { client.request(id, "tools/call", call(tool, arguments)).await })
    };
    let hanging = started("\"x\"", "one.hang", json!({}));
    let slow = started("\"y\"", "one.slow", json!({ "ms": 1500 }));
    let journal = gateway.journal("one");
    journal.wait_for_executions("hang", 1).await;
    journal.wait_for_executions("slow", 1).await;
    let accepted =
        client.notify("notifications/cancelled", json!({ "requestId": "x", "reason": "enough" })).await;
    assert_eq!(accepted.status, 202);
    let ended = hanging.await.unwrap();
    assert!(
        ended.reply.is_null() && ended.messages.is_empty(),
        "a cancelled request has no answer: {ended:?}"
    );
    journal.wait_for_method("notifications/cancelled").await;
    let cancelled = &journal.of("notifications/cancelled")[0];
    assert_eq!(cancelled["params"]["requestId"], journal.calls("hang")[0]["id"]);
    assert_eq!(slow.await.unwrap().result()["content"][0]["text"], "slept 1500 ms");
    assert_eq!(journal.of("notifications/cancelled").len(), 1);
}

#[tokio::test]
async fn t09_nobody_cancels_the_calls_of_another_client() {
    let (gateway, client) = one(&["--faults"]).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.request("5", "tools/call", call("one.slow", json!({ "ms": 1500 }))).await }
    });
    let journal = gateway.journal("one");
    journal.wait_for_executions("slow", 1).await;
    let upstream_id = journal.calls("slow")[0]["id"].clone();
    let other = gateway.connect().await;
    for id in [json!(5), upstream_id] {
        assert_eq!(other.notify("notifications/cancelled", json!({ "requestId": id })).await.status, 202);
    }
    assert_eq!(slow.await.unwrap().result()["content"][0]["text"], "slept 1500 ms");
    assert!(!journal.saw("notifications/cancelled"));
}

#[tokio::test]
async fn f49_a_call_is_still_cancelled_after_another_of_its_id_was_answered() {
    let (gateway, client) = one(&["--faults"]).await;
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { client.request("7", "tools/call", call("one.hang", json!({}))).await }
    });
    let journal = gateway.journal("one");
    journal.wait_for_executions("hang", 1).await;
    let quick = client.request("7", "tools/call", call("one.echo", json!({}))).await;
    assert_eq!(quick.result()["content"][0]["text"], "{}");
    client.notify("notifications/cancelled", json!({ "requestId": 7 })).await;
    journal.wait_for_method("notifications/cancelled").await;
    assert!(hanging.await.unwrap().reply.is_null());
}

#[tokio::test]
async fn f47_a_cancellation_that_races_the_reply_has_exactly_one_outcome() {
    let (_gateway, client) = over_stdio(&["--faults"]).await;
    for n in 0..100 {
        let id = (1000 + n).to_string();
        client.start(&id, "tools/call", call("one:slow", json!({ "ms": n % 3 }))).await;
        client.notify("notifications/cancelled", json!({ "requestId": 1000 + n })).await;
    }
    echoes(&client, "one:echo").await;
    // Whatever is late is before the answer of a call that is slower than all of them.
    client.call_text("one:slow", json!({ "ms": 300 })).await;
    for n in 0..100 {
        let answers = client.messages().all().iter().filter(|message| message["id"] == 1000 + n).count();
        assert!(answers <= 1, "{answers} answers to {}", 1000 + n);
    }
}

#[track_caller]
fn assert_progress(messages: &[Value], token: &Value, steps: u64) {
    let shown: Vec<&Value> =
        messages.iter().filter(|m| m["method"] == "notifications/progress").map(|m| &m["params"]).collect();
    let told: Vec<(Value, u64)> =
        shown.iter().map(|p| (p["progressToken"].clone(), p["progress"].as_u64().unwrap())).collect();
    assert_eq!(told, (1..=steps).map(|step| (token.clone(), step)).collect::<Vec<_>>());
    let last = messages.last().unwrap();
    assert!(last.get("result").is_some(), "the reply comes last: {last}");
}

#[tokio::test]
async fn progress_comes_in_order_before_the_reply_and_under_the_clients_own_token() {
    let (http, sse) = (Fixture::http(&["--faults"]).await, Fixture::sse(&["--faults"]).await);
    let builder = Gateway::builder()
        .fixture("pipe", &["--faults"])
        .server("web", http.entry())
        .server("old", sse.entry());
    let (_gateway, client) = ready(builder, &["pipe", "web", "old"]).await;
    // All at once and all under the same two tokens: they are told apart all the same.
    let mut tasks = Vec::new();
    for (n, server) in ["pipe", "web", "old", "pipe", "web", "old"].into_iter().enumerate() {
        let steps = 10 + n as u64;
        let token = if n % 2 == 0 { json!("tok\u{e9}n") } else { json!(1) };
        let mut params = call(&format!("{server}.progress"), json!({ "steps": steps, "ms": 5 }));
        params["_meta"] = json!({ "progressToken": token, "kept": { "a": 1 } });
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let exchange = client.request("3", "tools/call", params).await;
            assert_eq!(exchange.header("content-type"), Some("text/event-stream"));
            assert_progress(&exchange.messages, &token, steps);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(http.journal().calls("progress")[0]["params"]["_meta"]["kept"], json!({ "a": 1 }));
}

#[tokio::test]
async fn progress_over_stdio_and_over_sse_in_front() {
    let (gateway, stdio) = over_stdio(&["--faults"]).await;
    let mut params = call("one:progress", json!({ "steps": 30 }));
    params["_meta"] = json!({ "progressToken": "t" });
    let start = stdio.messages().len();
    stdio.request("9", "tools/call", params.clone()).await;
    assert_progress(&stdio.messages().all()[start..], &json!("t"), 30);
    drop((gateway, stdio));

    let (gateway, _client) = one(&["--faults"]).await;
    let sse = SseClient::connect(&gateway.url_of("/sse")).await;
    let start = sse.messages().len();
    sse.request("9", "tools/call", params).await;
    assert_progress(&sse.messages().all()[start..], &json!("t"), 30);
}

#[tokio::test]
async fn who_asks_for_no_progress_gets_json_and_none() {
    let (_gateway, client) = one(&["--faults"]).await;
    let exchange = client.request("1", "tools/call", call("one.progress", json!({ "steps": 5 }))).await;
    assert_eq!(exchange.header("content-type"), Some("application/json"));
    assert_eq!(exchange.messages.len(), 1, "{exchange:?}");
}

#[tokio::test]
async fn each_client_hears_log_messages_of_its_own_level_and_above() {
    let (gateway, client) = one(&["--faults"]).await;
    let strict = gateway.connect().await;
    assert!(strict.ask("logging/setLevel", json!({ "level": "error" })).await.get("result").is_some());
    let heard = |client: HttpClient, level: &'static str| async move {
        let params = call("one.log", json!({ "level": level, "count": 3 }));
        client.request("1", "tools/call", params).await.notifications("notifications/message").len()
    };
    assert_eq!(heard(client.clone(), "info").await, 3);
    assert_eq!(heard(client.clone(), "debug").await, 0, "not until it is asked for");
    assert_eq!(heard(strict.clone(), "warning").await, 0);
    assert_eq!(heard(strict.clone(), "error").await, 3);
    assert_eq!(heard(strict.clone(), "alert").await, 3);
    client.ask("logging/setLevel", json!({ "level": "debug" })).await;
    let is_asked = |journal: &portolan_testkit::Journal| {
        journal.of("logging/setLevel").iter().any(|asked| asked["params"]["level"] == "debug")
    };
    gateway.journal("one").wait_for("the level at the server", is_asked).await;
    assert_eq!(heard(client.clone(), "debug").await, 3);
    assert_eq!(heard(strict, "warning").await, 0, "another's level changes nothing");
    let wrong = client.ask("logging/setLevel", json!({ "level": "loud" })).await;
    assert_eq!(wrong["error"]["code"], -32602);
}

#[tokio::test]
async fn changed_lists_are_told_to_those_who_see_them_on_every_transport() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &["--faults"]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let (only_one, only_two) = (gateway.connect_to("one").await, gateway.connect_to("two").await);
    let old = SseClient::connect(&gateway.url_of("/sse")).await;
    let (all, first, second) =
        (client.open_get_stream().await, only_one.open_get_stream().await, only_two.open_get_stream().await);
    client.call("one.change_tools", json!({ "add": ["new_one"] })).await;
    let method = "notifications/tools/list_changed";
    all.wait_for_method(method).await;
    first.wait_for_method(method).await;
    old.messages().wait_for(method, |message| message["method"] == method).await;
    client.call("two.change_tools", json!({ "add": ["new_two"] })).await;
    second.wait_for_method(method).await;
    assert_eq!(first.messages.all().len(), 1, "what another server does is no news here");
    assert_eq!(second.messages.all().len(), 1);

    let (_gateway, stdio) = over_stdio(&["--faults"]).await;
    stdio.call("one:change_tools", json!({ "add": ["new_one"] })).await;
    stdio.messages().wait_for(method, |message| message["method"] == method).await;
}

#[tokio::test]
async fn batches_are_answered_where_2025_03_26_was_agreed_and_refused_elsewhere() {
    let (gateway, newest) = one(&["--faults"]).await;
    let mut noisy = call("one.progress", json!({ "steps": 20 }));
    noisy["_meta"] = json!({ "progressToken": "t" });
    let batch = json!([
        { "jsonrpc": "2.0", "id": "a", "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/unknown" },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call("one.echo", json!({ "n": 1 })) },
        { "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": noisy },
        { "jsonrpc": "2.0", "id": 4, "method": "no/such" },
    ]);
    let profile = Profile::default().revision("2025-03-26");
    let client = HttpClient::connect_as(&gateway.url(), profile.clone()).await;
    let exchange = client.post(batch.to_string()).await;
    assert_eq!(exchange.status, 200, "{exchange:?}");
    assert_batch(&exchange.messages[0]);
    let only_notices = json!([{ "jsonrpc": "2.0", "method": "notifications/unknown" }]);
    assert_eq!(client.post(only_notices.to_string()).await.status, 202);
    assert_eq!(client.post("[]").await.status, 400);
    let refused = newest.post(batch.to_string()).await;
    assert_eq!((refused.status, &refused.messages[0]["error"]["code"]), (400, &json!(-32600)));

    let (_gateway, stdio) = Gateway::builder().fixture("one", &["--faults"]).stdio(profile);
    stdio.initialize().await;
    listed(&stdio, &["one"]).await;
    stdio.send_line(&batch.to_string()).await;
    assert_batch(&stdio.messages().wait_for("the batch", Value::is_array).await);
}

#[track_caller]
fn assert_batch(answers: &Value) {
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!(2), &json!(3), &json!(4)], "{answers}");
    assert_eq!(answers[1]["result"]["content"][0]["text"], r#"{"n":1}"#);
    assert_eq!(answers[2]["result"]["content"][0]["text"], "20 steps");
    assert_eq!(answers[3]["error"]["code"], -32601);
}

#[tokio::test]
async fn every_revision_in_front_meets_every_revision_behind() {
    let revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let mut builder = Gateway::builder();
    for revision in revisions {
        builder = builder.fixture(&format!("r{revision}"), &["--revision", revision]);
    }
    let servers = revisions.map(|revision| format!("r{revision}"));
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    let (gateway, _client) = ready(builder, &servers).await;
    for asked in revisions {
        let client = HttpClient::connect_as(&gateway.url(), Profile::default().revision(asked)).await;
        assert_eq!(client.agreed_revision().as_deref(), Some(asked));
        for server in &servers {
            echoes(&client, &format!("{server}.echo")).await;
        }
    }
    for asked in ["2026-07-28", "1999-01-01", ""] {
        let client = HttpClient::connect_as(&gateway.url(), Profile::default().revision(asked)).await;
        assert_eq!(client.agreed_revision().as_deref(), Some("2025-11-25"), "asked {asked:?}");
    }
}

#[tokio::test]
async fn f48_a_client_that_does_not_read_holds_up_nobody_else() {
    let (gateway, client) = one(&["--faults"]).await;
    let raw = raw_call(&gateway, &client, "1", "one.flood", json!({ "count": 200_000 })).await;
    gateway.journal("one").wait_for_executions("flood", 1).await;
    for _ in 0..50 {
        echoes(&client, "one.echo").await;
    }
    let rss = portolan_testkit::processes::peak_rss_kib(gateway.pid());
    assert!(rss < 100 * 1024, "{rss} KiB at most in memory");
    drop(raw);
}

#[tokio::test]
async fn f48_a_client_that_stops_reading_is_let_go_and_its_call_gives_its_place_back() {
    let builder = Gateway::builder()
        .fixture("one", &["--faults"])
        .env("PORTOLAN_LIMITS_CLIENT_STALL", "300ms")
        .env("PORTOLAN_LIMITS_REQUEST_BODY_BYTES", "32MiB")
        .env("PORTOLAN_LIMITS_CALL_TIMEOUT", "3s")
        .env("PORTOLAN_LIMITS_IN_FLIGHT_PER_SERVER", "1");
    let (gateway, client) = ready(builder, &["one"]).await;
    // More than the sockets between the two hold, said during a call that never ends by itself.
    let data = "x".repeat(12 * 1024 * 1024);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "error", "data": data } });
    let raw = raw_call(&gateway, &client, "1", "one.raw", json!({ "text": format!("{note}\n") })).await;
    gateway.journal("one").wait_for_executions("raw", 1).await;
    let served = async {
        while let Err(error) = client.try_call("one.echo", json!({})).await {
            assert_eq!(error["code"], -32000, "{error}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let limit = portolan_testkit::DEADLINE;
    tokio::time::timeout(limit, served)
        .await
        .expect("the place of a call whose client does not read is free again");
    drop(raw);
}
