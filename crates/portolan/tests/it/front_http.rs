//! Streamable HTTP in front: who is let in, what is refused with which status, and what sessions are.

use crate::kit::{Raw, call, echoes, one, ready};
use portolan_testkit::{Client, Gateway, HttpClient};
use serde_json::{Value, json};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

/// The status of a POST with these header lines in place of the usual Host.
async fn status_of(gateway: &Gateway, path: &str, headers: &str) -> u16 {
    let mut raw = Raw::open(gateway.address()).await;
    let length = INITIALIZE.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
    );
    raw.write(format!("{head}{INITIALIZE}").as_bytes()).await;
    raw.answer().await.status
}

#[tokio::test]
async fn t04_only_our_own_hosts_and_friendly_origins_are_let_in_on_every_route() {
    let builder = Gateway::builder()
        .env("PORTOLAN_ALLOWED_HOSTS", "gate.example")
        .env("PORTOLAN_ALLOWED_ORIGINS", "https://app.example");
    let gateway = builder.serve().await;
    let port = gateway.address().rsplit_once(':').unwrap().1;
    for (headers, expected) in [
        ("Host: localhost\r\n".to_owned(), 200),
        (format!("Host: 127.0.0.1:{port}\r\n"), 200),
        (format!("Host: [::1]:{port}\r\n"), 200),
        ("Host: gate.example\r\n".to_owned(), 200),
        ("Host: evil.example\r\n".to_owned(), 403),
        (format!("Host: evil.example:{port}\r\n"), 403),
        ("Host: 127.0.0.1.evil.example\r\n".to_owned(), 403),
        ("Host: localhost\r\nHost: evil.example\r\n".to_owned(), 403),
        (String::new(), 403),
        ("Host: localhost\r\nOrigin: http://localhost:3000\r\n".to_owned(), 200),
        ("Host: localhost\r\nOrigin: https://app.example\r\n".to_owned(), 200),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n".to_owned(), 403),
        ("Host: localhost\r\nOrigin: null\r\n".to_owned(), 403),
        ("Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n".to_owned(), 403),
        ("Host: localhost\r\nOrigin: http://localhost.evil.example\r\n".to_owned(), 403),
        ("Host: localhost\r\nX-Forwarded-Host: evil.example\r\n".to_owned(), 200),
        ("Host: evil.example\r\nX-Forwarded-Host: localhost\r\n".to_owned(), 403),
    ] {
        let status = status_of(&gateway, "/mcp", &headers).await;
        // A request with two Hosts, or none, may be refused as no HTTP at all.
        let is_as_expected = status == expected || (expected == 403 && status == 400);
        assert!(is_as_expected, "{headers:?} got {status}, not {expected}");
    }
    let evil = |path: &str| HttpClient::new(&gateway.url_of(path)).header("host", "evil.example");
    for path in ["/mcp", "/sse", "/messages", "/servers/one/mcp", "/servers/one/sse", "/healthz", "/nowhere"]
    {
        assert_eq!(evil(path).open_get_stream().await.status, 403, "{path}");
        assert_eq!(evil(path).post(INITIALIZE).await.status, 403, "{path}");
    }
}

#[tokio::test]
async fn wrong_media_sizes_methods_and_paths_have_their_statuses() {
    let (gateway, client) = one(&[]).await;
    let sent = |client: HttpClient| async move { client.request("1", "ping", Value::Null).await };
    assert_eq!(sent(client.clone().header("content-type", "text/plain")).await.status, 415);
    assert_eq!(sent(client.clone().header("content-type", "")).await.status, 415);
    assert_eq!(
        sent(client.clone().header("content-type", "application/json; charset=utf-8")).await.status,
        200
    );
    assert_eq!(sent(client.clone().header("accept", "application/json")).await.status, 406);
    assert_eq!(sent(client.clone().header("accept", "text/event-stream")).await.status, 406);
    assert_eq!(sent(client.clone().header("accept", "")).await.status, 406);
    assert_eq!(sent(client.clone().header("accept", "*/*")).await.status, 200);
    assert_eq!(client.clone().header("accept", "application/json").open_get_stream().await.status, 406);
    let put = client.send(http_method("PUT"), "{}", None).await.finish().await;
    assert_eq!((put.status, put.header("allow")), (405, Some("POST, GET, DELETE")));
    assert_eq!(HttpClient::new(&gateway.url_of("/nowhere")).open_get_stream().await.status, 404);
    let health = HttpClient::new(&gateway.url_of("/healthz")).open_get_stream().await.finish().await;
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    let odd = sent(client.clone().header("mcp-protocol-version", "1999-01-01")).await;
    assert_eq!(odd.status, 400, "{odd:?}");
    echoes(&client, "one.echo").await;
}

fn http_method<M: std::str::FromStr>(name: &str) -> M
where
    M::Err: std::fmt::Debug,
{
    name.parse().unwrap()
}

#[tokio::test]
async fn f51_malformed_messages_are_400_with_their_code_and_the_next_request_on_the_connection_works() {
    let (gateway, client) = one(&[]).await;
    let session = format!("Mcp-Session-Id: {}\r\n", client.session().unwrap());
    let mut raw = Raw::open(gateway.address()).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}1{}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    for (body, code) in [
        ("{\"jsonrpc\": ", -32700),
        ("", -32700),
        ("nonsense", -32700),
        ("3", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (deep.as_str(), -32600),
    ] {
        let answer = raw.post("/mcp", &session, body).await;
        let reply: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &reply["error"]["code"]),
            (400, &json!(code)),
            "{body:.80}: {}",
            answer.body
        );
        assert_eq!(reply["id"], Value::Null);
        let well = raw.post("/mcp", &session, r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#).await;
        assert_eq!(
            (well.status, well.body.as_str()),
            (200, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#),
            "{}",
            well.head
        );
    }
}

#[tokio::test]
async fn f51_a_body_over_the_limit_is_413_and_others_are_served() {
    let (_gateway, client) = one(&[]).await;
    let text = "x".repeat(5_000_000);
    let big = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("one.echo", json!({ "text": text })) });
    assert_eq!(client.post(big.to_string()).await.status, 413);
    let text = "x".repeat(3_000_000);
    let echoed = client.call_text("one.echo", json!({ "text": text })).await;
    assert_eq!(echoed.len(), 3_000_000 + r#"{"text":""}"#.len());
}

#[tokio::test]
async fn t10_what_two_readers_could_read_differently_never_reaches_a_server() {
    let (gateway, client) = one(&["--faults"]).await;
    for params in [
        r#"{"name":"one.echo","name":"one.env"}"#,
        r#"{"name":"one.echo","\u006eame":"one.env"}"#,
        r#"{"Name":"one.env"}"#,
        r#"{"name":"one.echo","_meta":{"progressToken":1,"progressToken":2}}"#,
        r#"{"name":["one.env"]}"#,
        r#"["one.env"]"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let exchange = client.post(body).await;
        let code = &exchange.messages[0]["error"]["code"];
        assert!(*code == -32602 || *code == -32600, "{params}: {exchange:?}");
    }
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one.env"},"params":{"name":"one.echo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"one.env"}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"param\u{17f}\":{\"name\":\"one.env\"}}",
        r#"{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"one.env"}}"#,
    ] {
        let exchange = client.post(body).await;
        assert!(exchange.messages[0].get("error").is_some(), "{body}: {exchange:?}");
    }
    echoes(&client, "one.echo").await;
    let journal = gateway.journal("one");
    assert_eq!((journal.executions("env"), journal.executions("echo")), (0, 1));
}

#[tokio::test]
async fn sessions_are_needed_random_ended_by_delete_and_bound_to_their_view() {
    let builder = Gateway::builder().fixture("one", &[]).fixture("two", &[]);
    let (gateway, client) = ready(builder, &["one", "two"]).await;
    let stranger = HttpClient::new(&gateway.url());
    let ping = |client: HttpClient| async move { client.request("1", "ping", Value::Null).await.status };
    assert_eq!(ping(stranger.clone()).await, 400, "no session");
    stranger.set_session(Some("00000000000000000000000000000000"));
    assert_eq!(ping(stranger.clone()).await, 404, "an unknown one");
    let (own, other) = (client.session().unwrap(), gateway.connect().await.session().unwrap());
    assert!(own != other && own.len() >= 32, "{own} {other}");
    // The session of one view is unknown to every other, on every verb.
    let one = gateway.connect_to("one").await;
    let (one_session, path) = (one.session().unwrap(), gateway.server_url("two"));
    for url in [gateway.url(), path] {
        let thief = HttpClient::new(&url);
        thief.set_session(Some(&one_session));
        assert_eq!(ping(thief.clone()).await, 404);
        assert_eq!(thief.open_get_stream().await.status, 404);
        assert_eq!(thief.delete().await.status, 404);
    }
    echoes(&one, "echo").await;
    assert!(client.delete().await.status < 300);
    assert_eq!(ping(client.clone()).await, 404, "it has ended");
    assert_eq!(client.delete().await.status, 404);
    echoes(&one, "echo").await;
}

#[tokio::test]
async fn one_server_by_itself_is_shown_in_bare_names_and_nothing_else_of_the_gateway() {
    let builder = Gateway::builder().fixture("one", &["--only", "echo"]).fixture("two", &[]);
    let (gateway, _client) = ready(builder, &["one", "two"]).await;
    let one = gateway.connect_to("one").await;
    assert_eq!(one.tool_names().await, ["echo"]);
    echoes(&one, "echo").await;
    let error = one.try_call("two.echo", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    assert_eq!(gateway.journal("two").executions("echo"), 0);
}

#[tokio::test]
async fn t07_a_second_stream_takes_nothing_from_the_first_and_delete_ends_both() {
    let (_gateway, client) = one(&["--faults"]).await;
    let (first, second) = (client.open_get_stream().await, client.open_get_stream().await);
    assert_eq!((first.status, second.status), (200, 200));
    client.call("one.change_tools", json!({ "add": ["x"] })).await;
    first.wait_for_method("notifications/tools/list_changed").await;
    client.delete().await;
    first.messages.wait_closed("the first stream").await;
    second.messages.wait_closed("the second stream").await;
    assert!(second.messages.all().is_empty(), "told once only");
}

#[tokio::test]
async fn answers_are_json_when_nothing_was_streamed() {
    let (_gateway, client) = one(&["--faults"]).await;
    for (tool, arguments) in
        [("one.echo", json!({})), ("one.slow", json!({ "ms": 300 })), ("one.fail", json!({ "code": -1 }))]
    {
        let exchange = client.request("1", "tools/call", call(tool, arguments)).await;
        assert_eq!(exchange.header("content-type"), Some("application/json"), "{tool}");
    }
    let list = client.request("2", "tools/list", json!({})).await;
    assert_eq!(list.header("content-type"), Some("application/json"));
    let unknown = client.ask("no/such/method", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test]
async fn a_long_call_is_kept_alive_on_its_stream() {
    let (_gateway, client) = one(&["--faults"]).await;
    let pending = client.start_call("one.slow", json!({ "ms": 16_500 })).await;
    assert_eq!(pending.status, 200);
    let exchange = pending.finish().await;
    assert!(exchange.body.starts_with("id: 0-0\ndata: \n\n"), "a sign of life first: {:?}", exchange.body);
    assert_eq!(exchange.result()["content"][0]["text"], "slept 16500 ms");
}

#[tokio::test]
async fn results_pass_byte_for_byte() {
    let (_gateway, client) = one(&["--faults"]).await;
    let result = r#"{"content":[ ],"structuredContent":{"b":1.0,"a":[ 1 ,2e0],"\u0041":"\u00e9/\/"},"_meta":{"x":null},"new":{}}"#;
    let text = format!("{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":{{id}}}}\n");
    let exchange = client.request("1", "tools/call", call("one.raw", json!({ "text": text }))).await;
    assert!(exchange.body.contains(result), "{}", exchange.body);
}
