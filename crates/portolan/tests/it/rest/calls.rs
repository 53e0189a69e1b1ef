//! BR-005: calls without MCP: every way to name a tool, and every way in which a call can end.

use super::{call, call_text, connected, one, registered, server, stdio, with};
use portolan_testkit::{Gateway, Method, Rest};
use serde_json::json;

/// Two servers: both have `echo`, only `a` has `test_simple_text`.
async fn two() -> (Gateway, Rest) {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, stdio(&gateway, "a", &["--only", "echo,test_simple_text"])).await;
    connected(&rest, stdio(&gateway, "b", &["--only", "echo"])).await;
    (gateway, rest)
}

#[tokio::test]
async fn br_005_a_tool_is_found_by_every_style_of_its_name_on_both_places() {
    let (gateway, rest) = two().await;
    for (number, name) in ["a.echo", "a:echo", "a__echo"].into_iter().enumerate() {
        let arguments = json!({ "number": number });
        let answer = call(&rest, name, arguments.clone()).await.json(200);
        assert_eq!(answer["content"][0]["text"], arguments.to_string(), "{name}");
        let executed =
            rest.post("/aggregator/execute", json!({ "tool_name": name, "arguments": arguments })).await;
        assert_eq!(executed.json(200)["content"], answer["content"], "{name}");
    }
    // A bare name that one server alone has.
    assert_eq!(call(&rest, "test_simple_text", json!({})).await.json(200)["metadata"]["routed_to"], "a");
    let journal = gateway.journal("a");
    assert_eq!((journal.executions("echo"), gateway.journal("b").executions("echo")), (6, 0));
}

#[tokio::test]
async fn br_005_the_answer_says_where_the_call_went_and_how_long_it_took() {
    let (_gateway, rest) = one(&[]).await;
    let answer = call(&rest, "one.echo", json!({ "a": [1] })).await.json(200);
    assert_eq!(answer["content"], json!([{ "type": "text", "text": r#"{"a":[1]}"# }]));
    assert_eq!(answer["isError"], false);
    let metadata = &answer["metadata"];
    assert_eq!(metadata["routed_to"], "one");
    assert_eq!(metadata["server_id"], server(&rest, "one").await["id"]);
    assert!(metadata["routing_time_ms"].as_f64().unwrap() >= 0.0, "{metadata}");
    assert!(metadata["execution_time_ms"].as_f64().unwrap() > 0.0, "{metadata}");
}

#[tokio::test]
async fn br_005_a_server_may_be_named_beside_the_tool_by_its_id_or_its_name() {
    let (gateway, rest) = two().await;
    let id = server(&rest, "b").await["id"].clone();
    for key in [id, json!("b")] {
        for name in ["echo", "b.echo", "b__echo"] {
            let body = json!({ "name": name, "arguments": {}, "server_id": key });
            let answer = rest.post("/tools/call", body).await.json(200);
            assert_eq!(answer["metadata"]["routed_to"], "b", "{name} of {key}");
            let body = json!({ "tool_name": name, "arguments": {}, "server_id": key });
            rest.post("/aggregator/execute", body).await.json(200);
        }
    }
    assert_eq!(gateway.journal("a").executions("echo"), 0);
    for name in ["a.echo", "test_simple_text", "nothing"] {
        let body = json!({ "name": name, "arguments": {}, "server_id": "b" });
        rest.post("/tools/call", body).await.problem(404, "TOOL_NOT_FOUND");
    }
    for key in ["nobody", "00000000-0000-4000-8000-000000000000"] {
        let body = json!({ "name": "echo", "arguments": {}, "server_id": key });
        let problem = rest.post("/tools/call", body).await.problem(404, "SERVER_NOT_FOUND");
        assert_eq!(problem["detail"], format!("Server not found: {key}"));
    }
}

#[tokio::test]
async fn br_005_br_009_t20_a_bare_name_that_two_servers_have_is_400_with_the_candidates() {
    let (gateway, rest) = two().await;
    let problem = call(&rest, "echo", json!({})).await.problem(400, "TOOL_AMBIGUOUS");
    assert_eq!(problem["candidates"], json!(["a.echo", "b.echo"]));
    rest.post_nothing("/aggregator/servers/b/disconnect").await.json(200);
    let answer = call(&rest, "echo", json!({})).await.json(200);
    assert_eq!(answer["metadata"]["routed_to"], "a", "one that is not connected does not count");
    assert_eq!(gateway.journal("b").executions("echo"), 0);
}

#[tokio::test]
async fn br_005_a_tool_that_nobody_has_is_404() {
    let (_gateway, rest) = two().await;
    for name in [
        "nothing",
        "a.nothing",
        "nobody.echo",
        "a",
        "a.",
        ".echo",
        "",
        "A.echo",
        "a.echo ",
        "a..echo",
        "a__nothing",
    ] {
        let problem = call(&rest, name, json!({})).await.problem(404, "TOOL_NOT_FOUND");
        assert_eq!(problem["detail"], format!("Tool not found: {name}"));
    }
}

#[tokio::test]
async fn br_005_a_server_that_is_not_connected_is_503_with_its_state_and_its_reason() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    registered(&rest, with(stdio(&gateway, "off", &[]), json!({ "auto_connect": false }))).await;
    let locked = portolan_testkit::Fixture::http(&["--unauthorized"]).await;
    registered(&rest, super::http("locked", &locked)).await;
    super::in_state(&rest, "locked", "ERROR").await;
    for (server, state) in [("off", "DISCONNECTED"), ("locked", "ERROR")] {
        let names = [format!("{server}.echo"), format!("{server}:echo"), format!("{server}__echo")];
        let mut answers = Vec::new();
        for name in names {
            answers.push(call(&rest, &name, json!({})).await);
        }
        let body = json!({ "tool_name": "echo", "server_id": server });
        answers.push(rest.post("/aggregator/execute", body).await);
        for answer in answers {
            let problem = answer.problem(503, "SERVER_UNAVAILABLE");
            assert_eq!((&problem["server"], &problem["server_status"]), (&json!(server), &json!(state)));
            assert!(problem["tool"].is_string(), "{problem}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(server) && detail.contains(state), "{detail}");
        }
    }
    let problem = call(&rest, "locked.echo", json!({})).await.problem(503, "SERVER_UNAVAILABLE");
    assert!(problem["error_message"].as_str().unwrap().contains("401"), "{problem}");
}

#[tokio::test]
async fn br_005_an_error_of_the_tool_is_an_answer_and_one_of_the_protocol_is_502_as_it_came() {
    let (_gateway, rest) = one(&["--faults"]).await;
    let answer = call(&rest, "one.tool_error", json!({ "message": "no such file" })).await.json(200);
    assert_eq!(answer["isError"], true);
    assert_eq!(answer["content"][0]["text"], "no such file");
    let arguments = json!({ "code": -32_099, "message": "out of ink", "data": { "left": 0.50, "ü": null } });
    let answer = call(&rest, "one.fail", arguments).await;
    let problem = answer.problem(502, "UPSTREAM_ERROR");
    assert_eq!(
        problem["upstream"],
        json!({ "code": -32_099, "message": "out of ink", "data": { "left": 0.5, "ü": null } })
    );
    assert_eq!((&problem["server"], &problem["tool"]), (&json!("one"), &json!("one.fail")));
    assert!(problem["detail"].as_str().unwrap().contains("out of ink"), "{problem}");
    for (tool, arguments) in [
        ("one.both", json!({})),
        ("one.neither", json!({})),
        ("one.raw", json!({ "text": "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":7}\n" })),
    ] {
        let problem = call(&rest, tool, arguments).await.problem(502, "PROTOCOL_ERROR");
        assert_eq!(problem["server"], "one", "{tool}");
    }
    assert_eq!(call_text(&rest, "one.echo", json!({})).await, "{}");
}

#[tokio::test]
async fn br_005_a_server_that_does_not_answer_in_its_own_time_is_504() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, with(stdio(&gateway, "one", &["--faults"]), json!({ "timeout": 0.4 }))).await;
    let problem = call(&rest, "one.hang", json!({})).await.problem(504, "CALL_TIMED_OUT");
    assert_eq!((&problem["server"], &problem["tool"]), (&json!("one"), &json!("one.hang")));
    assert!(problem["detail"].as_str().unwrap().contains("400ms"), "{problem}");
    gateway.journal("one").wait_for_method("notifications/cancelled").await;
    // More time, from the next session on.
    let shown = rest.patch("/aggregator/servers/one", json!({ "timeout": 20 })).await.json(200);
    assert_eq!(shown["timeout"], 20.0);
    assert_eq!(call_text(&rest, "one.slow", json!({ "ms": 600 })).await, "slept 600 ms");
}

#[tokio::test]
async fn br_005_what_a_server_answers_passes_through_byte_for_byte() {
    let (_gateway, rest) = one(&["--faults"]).await;
    let odd = r#"{"z":1E+2,"a":0.10,"n":123456789012345678901234567890,"u":"\u00fc\ud83e\udd80","deep":[[[{}]]],"e":""}"#;
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"ok","annotations":{{"priority":1.0}}}}],"structuredContent":{odd},"_meta":{{"x/y":-0.0}},"unknown":[null]}}"#
    );
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{{id}},\"result\":{result}}}\n");
    let answer = call(&rest, "one.raw", json!({ "text": text })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    for part in [
        r#""content":[{"type":"text","text":"ok","annotations":{"priority":1.0}}]"#,
        &format!(r#""structuredContent":{odd}"#),
        r#""_meta":{"x/y":-0.0}"#,
        r#""unknown":[null]"#,
        r#""isError":false"#,
    ] {
        assert!(answer.body.contains(part), "{part} is not in {}", answer.body);
    }
    // Nor do the arguments change on their way there.
    let body = format!(r#"{{"name":"one.echo","arguments":{odd}}}"#);
    let answer = rest.send(Method::POST, "/api/v1/tools/call", Some(body)).await;
    assert_eq!(answer.json(200)["content"][0]["text"], odd);
}

#[tokio::test]
async fn br_005_a_number_that_we_could_not_hold_passes_all_the_same() {
    let (_gateway, rest) = one(&["--faults"]).await;
    let text =
        "{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"content\":[],\"structuredContent\":{\"n\":1e400}}}\n";
    let answer = call(&rest, "one.raw", json!({ "text": text })).await;
    assert!(answer.status == 200 && answer.body.contains(r#""structuredContent":{"n":1e400}"#), "{answer:?}");
}

#[tokio::test]
async fn br_005_a_number_that_we_could_not_hold_reaches_the_server_as_it_is() {
    let gateway = Gateway::builder().serve().await;
    let rest = gateway.rest();
    connected(&rest, with(stdio(&gateway, "one", &[]), json!({ "timeout": 0.3 }))).await;
    let body = r#"{"name":"one.echo","arguments":{"n":1e400}}"#.to_owned();
    let answer = rest.send(Method::POST, "/api/v1/tools/call", Some(body)).await;
    // The fixture cannot hold it either, and says so by not answering.
    answer.problem(504, "CALL_TIMED_OUT");
    let seen = gateway.journal("one").events("unparsed");
    assert!(seen[0]["details"]["text"].as_str().unwrap().contains(r#""arguments":{"n":1e400}"#), "{seen:?}");
}

#[tokio::test]
async fn br_005_t10_a_call_that_cannot_be_read_reaches_nobody() {
    let (gateway, rest) = one(&["--faults"]).await;
    for (body, field) in [
        (json!({ "arguments": {} }), "body.name"),
        (json!({ "name": 7 }), "body.name"),
        (json!({ "name": "one.echo", "arguments": [1] }), "body.arguments"),
        (json!({ "name": "one.echo", "arguments": "x" }), "body.arguments"),
        (json!({ "name": "one.echo", "server_id": 7 }), "body.server_id"),
        (json!({ "name": "one.echo", "Arguments": {} }), "body.Arguments"),
        (json!({ "tool_name": "one.echo" }), "body.tool_name"),
    ] {
        assert_eq!(rest.post("/tools/call", body.clone()).await.wrong_fields(), [field], "{body}");
    }
    for body in [
        r#"{"name":"one.echo","name":"one.pid"}"#,
        r#"{"name":"one.echo","arguments":{"a":1,"a":2}}"#,
        r#"{"name":"one.echo","arguments":{"deep":[{"b":1,"b":1}]}}"#,
        r#"{"name":"one.echo","n\u0061me":"one.pid"}"#,
    ] {
        let answer = rest.send(Method::POST, "/api/v1/tools/call", Some(body.to_owned())).await;
        assert_eq!(answer.wrong_fields().len(), 1, "{body}");
        assert!(answer.body.contains("once"), "{}", answer.body);
    }
    let journal = gateway.journal("one");
    assert_eq!((journal.executions("echo"), journal.executions("pid")), (0, 0));
    // No arguments are no mistake.
    for body in [json!({ "name": "one.echo" }), json!({ "name": "one.echo", "arguments": null })] {
        assert_eq!(rest.post("/tools/call", body).await.json(200)["content"][0]["text"], "{}");
    }
}
