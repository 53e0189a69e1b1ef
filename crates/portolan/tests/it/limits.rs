//! What is over a limit gets a clear error, and nothing else suffers.

use crate::kit::{call, echoes, listed, one, ready, refused};
use portolan_testkit::{Client, Gateway, HttpClient, Profile, processes};
use serde_json::{Value, json};

#[tokio::test]
async fn a_client_over_its_calls_in_flight_is_told_and_others_are_served() {
    let builder =
        Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIMITS_IN_FLIGHT_PER_CLIENT", "2");
    let (gateway, client) = ready(builder, &["one"]).await;
    let slow = |client: HttpClient| {
        tokio::spawn(async move { client.call_text("one.slow", json!({ "ms": 2000 })).await })
    };
    let running = [slow(client.clone()), slow(client.clone())];
    gateway.journal("one").wait_for_executions("slow", 2).await;
    let error = refused(&client, "one.echo", json!({}), -32000).await;
    assert!(error["message"].as_str().unwrap().contains("2 calls in flight"), "{error}");
    assert!(client.ask("ping", Value::Null).await.get("result").is_some(), "only calls are counted");
    echoes(&gateway.connect().await, "one.echo").await;
    for call in running {
        assert_eq!(call.await.unwrap(), "slept 2000 ms");
    }
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn a_server_over_its_calls_in_flight_is_busy_and_other_servers_are_not() {
    let builder = Gateway::builder()
        .fixture("one", &["--faults"])
        .fixture("two", &[])
        .env("PORTOLAN_LIMITS_IN_FLIGHT_PER_SERVER", "1");
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("one.slow", json!({ "ms": 2000 })).await }
    });
    gateway.journal("one").wait_for_executions("slow", 1).await;
    let error = refused(&gateway.connect().await, "one.echo", json!({}), -32000).await;
    assert_eq!(error["data"], json!({ "server": "one", "limit": 1 }));
    echoes(&client, "two.echo").await;
    assert_eq!(slow.await.unwrap(), "slept 2000 ms");
    echoes(&client, "one.echo").await;
    assert_eq!(gateway.journal("one").executions("echo"), 1, "the refused one never went out");
}

#[tokio::test]
async fn f50_thousands_of_calls_at_once_on_one_child_are_each_answered_once() {
    let builder =
        Gateway::builder().fixture("one", &["--faults"]).env("PORTOLAN_LIMITS_IN_FLIGHT_PER_CLIENT", "10000");
    let (gateway, client) = builder.stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    let count: usize = 2500;
    let writing = async {
        for n in 0..count {
            let params = call("one:echo", json!({ "n": n }));
            client.start(&format!("\"c{n}\""), "tools/call", params).await;
        }
    };
    let is_answer = |message: &Value| message["id"].as_str().is_some_and(|id| id.starts_with('c'));
    let answered = async {
        let mut at = 0;
        for _ in 0..count {
            at = 1 + client.messages().wait_after(at, "one more answer", is_answer).await.0;
        }
    };
    tokio::join!(writing, answered);
    let mut seen = std::collections::BTreeSet::new();
    for message in client.messages().all().into_iter().filter(is_answer) {
        let id = message["id"].as_str().unwrap().to_owned();
        match message["result"]["content"][0]["text"].as_str() {
            Some(text) => assert_eq!(text, format!("{{\"n\":{}}}", &id[1..])),
            None => assert_eq!(message["error"]["code"], -32000, "{message}"),
        }
        assert!(seen.insert(id), "answered twice: {message}");
    }
    assert_eq!(seen.len(), count);
    let peak = processes::peak_rss_kib(gateway.pid());
    assert!(peak < 150 * 1024, "{peak} KiB at most in memory");
}

#[tokio::test]
async fn f50_many_clients_whose_ids_all_start_at_0_never_get_anothers_answer() {
    let builder = Gateway::builder().fixture("one", &["--faults"]).fixture("two", &["--faults"]);
    let (gateway, _client) = ready(builder, &["one", "two"]).await;
    let mut tasks = Vec::new();
    for c in 0..20 {
        let client = gateway.connect().await;
        tasks.push(tokio::spawn(async move {
            for n in 0..30 {
                let arguments = json!({ "client": c, "n": n });
                let name = if (c + n) % 2 == 0 { "one.echo" } else { "two.echo" };
                assert_eq!(client.call_text(name, arguments.clone()).await, arguments.to_string());
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn t27_sessions_over_the_limit_are_refused_until_one_ends() {
    let builder = Gateway::builder().fixture("one", &[]).env("PORTOLAN_LIMITS_CLIENT_SESSIONS", "3");
    let (gateway, first) = ready(builder, &["one"]).await;
    let (second, _third) = (gateway.connect().await, gateway.connect().await);
    for _ in 0..20 {
        let refused = HttpClient::new(&gateway.url()).initialize().await;
        assert_eq!((refused.status, &refused.reply["error"]["code"]), (503, &json!(-32000)));
        assert!(refused.header("retry-after").is_some());
    }
    assert_eq!(HttpClient::new(&gateway.url_of("/sse")).open_get_stream().await.status, 503);
    echoes(&first, "one.echo").await;
    second.delete().await;
    echoes(&gateway.connect().await, "one.echo").await;
}

#[tokio::test]
async fn t27_idle_sessions_make_room() {
    let builder = Gateway::builder()
        .fixture("one", &[])
        .env("PORTOLAN_LIMITS_CLIENT_SESSIONS", "1")
        .env("PORTOLAN_LIMITS_SESSION_IDLE", "1s");
    let gateway = builder.serve().await;
    let idle = gateway.connect().await;
    let taken = async {
        while HttpClient::new(&gateway.url()).initialize().await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(portolan_testkit::DEADLINE, taken).await.expect("the idle session makes room");
    assert_eq!(idle.request("1", "ping", Value::Null).await.status, 404);
}

#[tokio::test]
async fn tools_over_the_limits_are_left_out_and_the_list_says_so() {
    let builder = Gateway::builder()
        .fixture("a", &["--tools", "30"])
        .fixture("b", &["--tools", "30"])
        .env("PORTOLAN_LIMITS_TOOLS_PER_SERVER", "10")
        .env("PORTOLAN_LIMITS_TOOLS", "15");
    let gateway = builder.serve().await;
    let client = gateway.connect().await;
    let names = client.wait_for_tools(|names| names.len() == 15).await;
    assert!(
        names.iter().any(|name| name.starts_with("a.")) && names.iter().any(|name| name.starts_with("b."))
    );
    let list = client.ask("tools/list", json!({})).await;
    assert_eq!(list["result"]["_meta"]["portolan/partial"], json!(["a", "b"]));
}

#[tokio::test]
async fn f21_arguments_that_are_too_deep_or_too_large_never_reach_the_server() {
    let (gateway, client) = one(&[]).await;
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"one.echo","arguments":{{"a":{deep}}}}}}}"#
    );
    assert_eq!(client.post(body).await.status, 400);
    let bomb = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}",
        "[".repeat(1_000_000)
    );
    assert_eq!(client.post(bomb).await.status, 400);
    assert_eq!(gateway.journal("one").executions("echo"), 0);
    echoes(&client, "one.echo").await;
}

#[tokio::test]
async fn a_line_over_the_limit_is_told_over_stdio_and_the_next_one_is_read() {
    let (gateway, client) = Gateway::builder()
        .fixture("one", &[])
        .env("PORTOLAN_LIMITS_REQUEST_BODY_BYTES", "64KiB")
        .stdio(Profile::default());
    client.initialize().await;
    listed(&client, &["one"]).await;
    client.start("77", "tools/call", call("one:echo", json!({ "text": "x".repeat(500_000) }))).await;
    let refused = client.reply_to("77").await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    echoes(&client, "one:echo").await;
    assert_eq!(gateway.journal("one").executions("echo"), 1);
}
