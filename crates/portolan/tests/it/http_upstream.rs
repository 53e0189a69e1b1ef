//! Servers over Streamable HTTP: sessions that are forgotten, answers that are none, bodies without an end.

use crate::kit::{Canned, echoes, listed, ready, refused, tool_error, until};
use portolan_testkit::{Client, Fixture, Gateway, HttpClient, Signal, processes};
use serde_json::{Value, json};

async fn behind(fixture: &Fixture) -> (Gateway, HttpClient) {
    ready(Gateway::builder().server("web", fixture.entry()), &["web"]).await
}

#[tokio::test]
async fn every_form_of_it_lists_calls_and_fails_as_its_server_does() {
    for flags in [&["--faults"][..], &["--faults", "--json"], &["--faults", "--stateless"]] {
        let fixture = Fixture::http(flags).await;
        let (_gateway, client) = behind(&fixture).await;
        assert_eq!(client.call_text("web.echo", json!({ "a": 1.0 })).await, r#"{"a":1.0}"#, "{flags:?}");
        let arguments = json!({ "code": -32042, "message": "as asked", "data": { "k": 1 } });
        let error = client.try_call("web.fail", arguments).await.unwrap_err();
        assert_eq!(
            error,
            json!({ "code": -32042, "message": "as asked", "data": { "k": 1, "server": "web" } })
        );
        assert_eq!(tool_error(&client, "web.tool_error", json!({ "message": "no" })).await, "no");
    }
}

#[tokio::test]
async fn f28_a_forgotten_session_is_opened_again_and_each_waiting_call_runs_exactly_once() {
    let fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let journal = fixture.journal();
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.call_text("web.slow", json!({ "ms": 1500 })).await }
    });
    journal.wait_for_executions("slow", 1).await;
    client.call("web.forget_sessions", json!({})).await;
    let calls = (0..10).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { (n, client.call_text("web.echo", json!({ "n": n })).await) })
    });
    for call in calls.collect::<Vec<_>>() {
        let (n, text) = call.await.unwrap();
        assert_eq!(text, json!({ "n": n }).to_string());
    }
    assert_eq!(slow.await.unwrap(), "slept 1500 ms", "what was in flight is unharmed");
    assert_eq!(journal.executions("echo"), 10, "each exactly once");
    assert_eq!(journal.executions("slow"), 1);
    assert_eq!(journal.executions("forget_sessions"), 1);
    let sessions: std::collections::BTreeSet<String> =
        journal.calls("echo").iter().map(|call| call["session"].to_string()).collect();
    assert_eq!(sessions.len(), 1, "all on the new session: {sessions:?}");
}

#[tokio::test]
async fn f28_a_call_that_outlasts_its_forgotten_session_is_never_sent_again() {
    let fixture = Fixture::http(&["--faults"]).await;
    let mut entry = fixture.entry();
    // Its own time limit is longer than the general one, by which a lost session is given up.
    entry["portolan"] = json!({ "timeout": "25s" });
    let builder = Gateway::builder().server("web", entry).env("PORTOLAN_LIMITS_CALL_TIMEOUT", "1s");
    let (_gateway, client) = ready(builder, &["web"]).await;
    let slow = tokio::spawn({
        let client = client.clone();
        async move { client.try_call("web.slow", json!({ "ms": 4000 })).await }
    });
    let journal = fixture.journal();
    journal.wait_for_executions("slow", 1).await;
    client.call("web.forget_sessions", json!({})).await;
    echoes(&client, "web.echo").await;
    // Answered in the end or given up with the session: either is well, a second execution is not.
    let outcome = slow.await.unwrap().unwrap();
    let text = outcome["content"][0]["text"].as_str().unwrap();
    assert!(text == "slept 4000 ms" || text.contains("may have taken effect"), "{outcome}");
    assert_eq!(journal.executions("slow"), 1);
}

#[tokio::test]
async fn f28_a_server_that_restarts_between_two_calls_is_met_on_a_new_session() {
    let mut fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    echoes(&client, "web.echo").await;
    fixture.stop().await;
    let fixture = Fixture::http(&["--port", &fixture.port().to_string()]).await;
    client.wait_for_tools(|names| !names.contains(&"web.hang".to_owned()) && !names.is_empty()).await;
    echoes(&client, "web.echo").await;
    assert_eq!(fixture.journal().executions("echo"), 1);
}

#[tokio::test]
async fn f05_a_server_that_is_killed_mid_call_fails_that_call_at_once_and_comes_back() {
    let mut fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let hanging = tokio::spawn({
        let client = client.clone();
        async move { tool_error(&client, "web.hang", json!({})).await }
    });
    fixture.journal().wait_for_executions("hang", 1).await;
    fixture.stop().await;
    let error = hanging.await.unwrap();
    assert!(error.contains("server web"), "{error}");
    let again = Fixture::http(&["--faults", "--port", &fixture.port().to_string()]).await;
    listed(&client, &["web"]).await;
    echoes(&client, "web.echo").await;
    assert_eq!(again.journal().executions("hang"), 0, "never sent again");
}

#[tokio::test]
async fn t14_f31_a_redirect_is_not_followed_and_nothing_reaches_the_other_place() {
    let fixture = Fixture::http(&["--faults"]).await;
    let elsewhere = Fixture::http(&[]).await;
    let moved = Canned::start(
        "HTTP/1.1 308 Permanent Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let mut entry = fixture.entry();
    entry["headers"] = json!({ "Authorization": "Bearer secret" });
    let builder =
        Gateway::builder().server("web", entry).server("moved", json!({ "type": "http", "url": moved.url }));
    let (_gateway, client) = ready(builder, &["web"]).await;
    let error = refused(&client, "web.redirect", json!({ "to": elsewhere.url() }), -32603).await;
    assert!(error["message"].as_str().unwrap().contains("307"), "{error}");
    let error = tool_error(&client, "moved.anything", json!({})).await;
    assert!(error.contains("redirects elsewhere"), "{error}");
    assert!(elsewhere.journal().messages().is_empty() && elsewhere.journal().events("get").is_empty());
    echoes(&client, "web.echo").await;
}

#[tokio::test]
async fn f30_f36_statuses_pages_and_empty_answers_are_errors_at_once() {
    let fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let error = refused(&client, "web.html", json!({}), -32603).await;
    assert!(error["message"].as_str().unwrap().contains("without a JSON-RPC message"), "{error}");
    for code in [200, 202, 204, 400, 429, 500, 502, 503] {
        let error = refused(&client, "web.status", json!({ "code": code }), -32603).await;
        assert!(error["message"].as_str().unwrap().contains(&code.to_string()), "{error}");
        assert_eq!(error["data"]["server"], "web");
    }
    echoes(&client, "web.echo").await;
    assert_eq!(fixture.journal().executions("status"), 8, "none was sent again");
}

#[tokio::test]
async fn f36_places_that_do_not_speak_mcp_are_errors_with_their_reason() {
    let page = Canned::start(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>",
    )
    .await;
    let empty = Canned::start("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let accepted = Canned::start("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").await;
    let no_http = Canned::start("220 mail.example ESMTP\r\n").await;
    let fixture = Fixture::http(&[]).await;
    let mut builder = Gateway::builder().server("web", fixture.entry());
    for (name, place) in [("page", &page), ("empty", &empty), ("accepted", &accepted), ("mail", &no_http)] {
        builder = builder.server(name, json!({ "type": "http", "url": place.url }));
    }
    let (_gateway, client) = ready(builder, &["web"]).await;
    for name in ["page", "empty", "accepted", "mail"] {
        let error = tool_error(&client, &format!("{name}.anything"), json!({})).await;
        assert!(error.contains(&format!("server {name} is")) && error.len() > 40, "{error}");
    }
    echoes(&client, "web.echo").await;
}

#[tokio::test]
async fn f33_a_place_where_nobody_listens_delays_nobody_and_is_found_once_somebody_does() {
    let mut early = Fixture::http(&[]).await;
    let port = early.port();
    let url = early.url().to_owned();
    early.stop().await;
    let builder =
        Gateway::builder().fixture("well", &[]).server("late", json!({ "type": "http", "url": url }));
    let (_gateway, client) = ready(builder, &["well"]).await;
    echoes(&client, "well.echo").await;
    let _late = Fixture::http(&["--port", &port.to_string()]).await;
    listed(&client, &["late"]).await;
    echoes(&client, "late.echo").await;
}

#[tokio::test]
async fn f33_a_place_that_takes_connections_and_says_nothing_is_an_error_at_the_limit() {
    let hole = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", hole.local_addr().unwrap());
    let builder = Gateway::builder()
        .fixture("well", &[])
        .server("hole", json!({ "type": "http", "url": url }))
        .env("PORTOLAN_LIMITS_CONNECT_TIMEOUT", "500ms");
    let (gateway, client) = ready(builder, &["well"]).await;
    let told = gateway.stderr_contains("not connected").await;
    assert!(told.contains("500ms"), "{told}");
    echoes(&client, "well.echo").await;
}

#[tokio::test]
async fn f34_an_answer_that_drips_ends_at_the_deadline_and_gives_its_slot_back() {
    for flags in [&["--faults"][..], &["--faults", "--json"]] {
        let fixture = Fixture::http(flags).await;
        let mut entry = fixture.entry();
        entry["portolan"] = json!({ "timeout": "600ms" });
        let builder =
            Gateway::builder().server("web", entry).env("PORTOLAN_LIMITS_IN_FLIGHT_PER_SERVER", "1");
        let (_gateway, client) = ready(builder, &["web"]).await;
        let error = refused(&client, "web.drip", json!({ "bytes": 1000, "ms": 10_000 }), -32603).await;
        assert_eq!(error["data"]["timeout_ms"], 600, "{error}");
        echoes(&client, "web.echo").await;
        fixture.journal().wait_for_method("notifications/cancelled").await;
    }
}

#[tokio::test]
async fn f35_a_stream_that_is_cut_before_the_answer_is_an_error_at_once() {
    let fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let error = tool_error(&client, "web.cut", json!({})).await;
    assert!(error.contains("may have taken effect"), "{error}");
    let half = "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[";
    let error = tool_error(&client, "web.raw", json!({ "text": half })).await;
    assert!(error.contains("server web"), "{error}");
    echoes(&client, "web.echo").await;
    assert_eq!(fixture.journal().executions("cut"), 1, "never sent again");
}

#[tokio::test]
async fn f37_a_body_without_an_end_is_cut_at_the_limit() {
    for flags in [&["--faults"][..], &["--faults", "--json"]] {
        let fixture = Fixture::http(flags).await;
        let builder = Gateway::builder()
            .server("web", fixture.entry())
            .env("PORTOLAN_LIMITS_UPSTREAM_MESSAGE_BYTES", "1MiB");
        let (gateway, client) = ready(builder, &["web"]).await;
        let error = refused(&client, "web.big", json!({ "bytes": 3_000_000 }), -32603).await;
        assert_eq!(error["data"], json!({ "server": "web", "limit_bytes": 1 << 20 }));
        refused(&client, "web.endless_line", json!({ "bytes": 300_000_000 }), -32603).await;
        echoes(&client, "web.echo").await;
        let peak = processes::peak_rss_kib(gateway.pid());
        assert!(peak < 100 * 1024, "{peak} KiB at most in memory");
    }
}

#[tokio::test]
async fn f13_f16_f18_noise_double_answers_and_ids_as_strings_on_a_stream() {
    let fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    assert_eq!(client.call_text("web.garbage", json!({ "lines": 200 })).await, "after the noise");
    assert_eq!(client.call_text("web.twice", json!({})).await, "the first answer");
    assert_eq!(client.call_text("web.string_id", json!({})).await, "string_id");
    assert_eq!(client.call_text("web.drip", json!({ "bytes": 200, "ms": 1 })).await, "d".repeat(200));
    echoes(&client, "web.echo").await;
}

#[tokio::test]
async fn f17_f21_f22_answers_that_are_none_are_protocol_errors_on_a_stream_and_in_json() {
    for flags in [&["--faults"][..], &["--faults", "--json"]] {
        let fixture = Fixture::http(flags).await;
        let (_gateway, client) = behind(&fixture).await;
        for (tool, arguments) in
            [("web.both", json!({})), ("web.neither", json!({})), ("web.deep", json!({ "levels": 200_000 }))]
        {
            let error = refused(&client, tool, arguments, -32603).await;
            assert_eq!(error["data"]["server"], "web", "{flags:?} {tool}");
        }
        let reply = client.ask("tools/call", json!({ "name": "web.wrong_id", "arguments": {} })).await;
        assert_ne!(reply["result"]["content"][0]["text"], "wrong_id", "{flags:?}: {reply}");
        echoes(&client, "web.echo").await;
    }
}

#[tokio::test]
async fn f24_a_server_that_asks_on_the_stream_of_a_call_is_declined_at_once() {
    let fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    let seen: Value = serde_json::from_str(&client.call_text("web.ask_roots", json!({})).await).unwrap();
    assert_eq!(seen["error"]["code"], -32601, "{seen}");
}

#[tokio::test]
async fn f29_refused_credentials_are_told_and_not_hammered() {
    let fixture = Fixture::http(&["--unauthorized"]).await;
    let builder = Gateway::builder().fixture("well", &[]).server("locked", fixture.entry());
    let (gateway, client) = ready(builder, &["well"]).await;
    let told = gateway.stderr_contains("refuses the credentials").await;
    assert!(told.contains("401"), "{told}");
    let error = tool_error(&client, "locked.anything", json!({})).await;
    assert!(error.contains("ERROR") && error.contains("401"), "{error}");
    assert_eq!(fixture.journal().events("unauthorized").len(), 1, "asked once");
}

#[tokio::test]
async fn a_server_without_a_type_is_tried_over_http_first_and_over_sse_after() {
    let (http, sse) = (Fixture::http(&[]).await, Fixture::sse(&[]).await);
    let builder = Gateway::builder()
        .server("first", json!({ "url": http.url() }))
        .server("second", json!({ "url": sse.url() }));
    let (_gateway, client) = ready(builder, &["first", "second"]).await;
    echoes(&client, "first.echo").await;
    echoes(&client, "second.echo").await;
}

#[tokio::test]
async fn the_session_is_ended_at_the_server_when_the_gateway_ends() {
    let fixture = Fixture::http(&[]).await;
    let (mut gateway, _client) = behind(&fixture).await;
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait_exit().await.code(), Some(0));
    assert_eq!(fixture.journal().events("delete").len(), 1);
}

#[tokio::test]
async fn what_belongs_to_no_call_comes_over_the_servers_own_stream() {
    let fixture = Fixture::http(&["--faults"]).await;
    let (_gateway, client) = behind(&fixture).await;
    until("its stream is open", || fixture.journal().events("get").len() == 1).await;
    let listener = client.open_get_stream().await;
    client.call("web.change_tools", json!({ "add": ["new_one"], "remove": ["echo"] })).await;
    listener.wait_for_method("notifications/tools/list_changed").await;
    let names = client.tool_names().await;
    assert!(names.contains(&"web.new_one".to_owned()) && !names.contains(&"web.echo".to_owned()));
}
