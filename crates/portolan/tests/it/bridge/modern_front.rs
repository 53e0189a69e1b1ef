//! 2026-07-28 in front: what each request has to say for itself, and how one that does not is refused.

use super::Form;
use crate::kit::{Raw, call, listed};
use portolan_testkit::{
    Client, Exchange, Gateway, HttpClient, Method, Modern, ModernClient, ModernStdio, Profile,
};
use serde_json::{Value, json};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

#[track_caller]
fn check(exchange: &Exchange, status: u16, code: i64, what: &str) {
    let error = &exchange.reply["error"];
    assert_eq!((exchange.status, error["code"].as_i64()), (status, Some(code)), "{what}: {}", exchange.body);
    assert_eq!(exchange.header("mcp-session-id"), None, "{what}");
}

#[tokio::test]
async fn t11_headers_that_say_something_else_than_the_body_are_400_and_nothing_is_executed() {
    let behind = Form::StdioLegacy.serve(&[]).await;
    let client = ModernClient::new(&behind.gateway.url());
    let arguments = json!({ "region": "Zürich", "limit": 42, "dry_run": true });
    let mirrored = [("region", "Zürich"), ("limit", "42"), ("dry-run", "true")];
    for (what, name, value) in [
        ("another method", "mcp-method", "prompts/get"),
        ("a method in another case", "mcp-method", "Tools/Call"),
        ("no method", "mcp-method", ""),
        ("another name", "mcp-name", "one.echo"),
        ("the name in another style", "mcp-name", "one:test_custom_header"),
        ("no name", "mcp-name", ""),
        ("a name in broken base64", "mcp-name", "=?base64?dGVz!?="),
        ("another revision", "mcp-protocol-version", "2025-11-25"),
        ("no revision", "mcp-protocol-version", ""),
        ("another argument", "mcp-param-region", "Bern"),
        ("another number", "mcp-param-limit", "43"),
        ("another truth", "mcp-param-dry-run", "false"),
        ("no argument", "mcp-param-region", ""),
        ("an argument that the body has not", "mcp-param-place", "here"),
    ] {
        let client = client.clone().header(name, value);
        let params = call("one.test_custom_header", arguments.clone());
        let answer = client.start_mirrored("7", "tools/call", params, &mirrored).await.finish().await;
        check(&answer, 400, -32020, what);
        assert_eq!(answer.reply["id"], 7, "{what}");
    }
    assert_eq!(behind.journal.executions("test_custom_header"), 0);
    let params = call("one.test_custom_header", arguments);
    let well = client.start_mirrored("7", "tools/call", params, &mirrored).await.finish().await;
    assert_eq!(well.status, 200, "{}", well.body);
    assert_eq!(behind.journal.executions("test_custom_header"), 1);
}

#[tokio::test]
async fn t11_a_header_that_is_given_twice_is_400() {
    let behind = Form::StdioLegacy.serve(&[]).await;
    let params = Profile::default().stamped(call("one.echo", json!({})));
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
    let good = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: one.echo"];
    let mut raw = Raw::open(behind.gateway.address()).await;
    for twice in good {
        let headers = format!("{}\r\n{twice}\r\n", good.join("\r\n"));
        let answer = raw.post("/mcp", &headers, &body).await;
        let reply: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, &reply["error"]["code"]),
            (400, &json!(-32020)),
            "{twice}: {}",
            answer.body
        );
    }
    let answer = raw.post("/mcp", &format!("{}\r\n", good.join("\r\n")), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(behind.journal.executions("echo"), 1);
}

#[tokio::test]
async fn a_request_that_does_not_say_who_sends_it_is_400() {
    let behind = Form::StdioLegacy.serve(&[]).await;
    let url = behind.gateway.url();
    let send = |params: Value| {
        let client = HttpClient::new(&url).header("mcp-protocol-version", "2026-07-28");
        let client = client.header("mcp-method", "tools/list");
        async move { client.request("7", "tools/list", params).await }
    };
    let good = Profile::default().stamped(json!({}));
    assert_eq!(send(good.clone()).await.status, 200);
    check(&send(Value::Null).await, 400, -32602, "no params");
    check(&send(json!({})).await, 400, -32602, "no _meta");
    check(&send(json!({ "_meta": {} })).await, 400, -32602, "an empty _meta");
    let with = |key: &str, value: Value| {
        let mut params = good.clone();
        params["_meta"][key] = value;
        params
    };
    let without = |key: &str| {
        let mut params = good.clone();
        params["_meta"].as_object_mut().unwrap().remove(key);
        params
    };
    check(&send(without(CAPABILITIES)).await, 400, -32602, "no capabilities");
    check(&send(with(CAPABILITIES, json!([]))).await, 400, -32602, "capabilities that are none");
    check(&send(without(VERSION)).await, 400, -32602, "no revision");
    check(&send(with(VERSION, json!(20_260_728))).await, 400, -32602, "a revision that is a number");
    check(&send(with(LOG_LEVEL, json!("loud"))).await, 400, -32602, "a level that is none");
}

#[tokio::test]
async fn a_revision_that_nobody_speaks_or_that_needs_a_handshake_is_400_and_says_which_are_spoken() {
    let behind = Form::StdioLegacy.serve(&[]).await;
    for asked in ["2099-01-01", "2025-11-25", "2024-11-05", "DRAFT"] {
        for method in ["tools/list", "server/discover"] {
            let params = json!({ "_meta": { VERSION: asked } });
            let client = ModernClient::new(&behind.gateway.url());
            let answer = client.start("7", method, params).await.finish().await;
            check(&answer, 400, -32022, &format!("{method} in {asked:?}"));
            let data = &answer.reply["error"]["data"];
            assert_eq!(data["requested"], asked);
            assert!(data["supported"].as_array().unwrap().contains(&json!("2026-07-28")), "{data}");
        }
    }
}

#[tokio::test]
async fn what_the_revision_does_not_have_is_404() {
    let behind = Form::HttpLegacy.serve(&[]).await;
    let client = ModernClient::new(&behind.gateway.url());
    for method in [
        "no/such/method",
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "tasks/result",
    ] {
        let answer =
            client.start("\"x\"", method, json!({ "uri": "test://static-text" })).await.finish().await;
        check(&answer, 404, -32601, method);
        assert_eq!(answer.reply["id"], "x", "{method}");
    }
    assert!(!behind.journal.saw("resources/subscribe"));
    assert!(!behind.journal.saw("no/such/method"));
}

#[tokio::test]
async fn there_is_no_stream_and_no_session_to_end_and_a_session_header_means_nothing() {
    let behind = Form::HttpLegacy.serve(&[]).await;
    let url = behind.gateway.url();
    for method in [Method::GET, Method::DELETE] {
        for session in ["", "00000000000000000000000000000000"] {
            let client = HttpClient::new(&url).header("mcp-protocol-version", "2026-07-28");
            let client = client.header("mcp-session-id", session);
            let answer = client.send(method.clone(), "", None).await.finish().await;
            assert_eq!(answer.status, 405, "{method} with {session:?}");
            assert_eq!(answer.header("allow"), Some("POST"), "{method}");
        }
    }
    let old = behind.gateway.connect().await;
    for session in ["nobody's", &old.session().unwrap()] {
        let client = ModernClient::new(&url).header("mcp-session-id", session);
        let answer = client.exchange("tools/call", call("one.echo", json!({ "a": 1 }))).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.result()["resultType"], "complete");
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    let notified = HttpClient::new(&url).header("mcp-protocol-version", "2026-07-28");
    assert_eq!(notified.notify("notifications/cancelled", json!({ "requestId": 1 })).await.status, 202);
}

#[tokio::test]
async fn both_eras_are_served_side_by_side_at_one_address() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        let (old, new) = (behind.gateway.connect().await, ModernClient::new(&behind.gateway.url()));
        for n in 0..3 {
            let arguments = json!({ "n": n });
            for (client, has_type) in [
                (&old.ask("tools/call", call("one.echo", arguments.clone())).await, false),
                (&new.ask("tools/call", call("one.echo", arguments.clone())).await, true),
            ] {
                let result = &client["result"];
                assert_eq!(result["content"][0]["text"], arguments.to_string(), "{form:?}: {client}");
                assert_eq!(result.get("resultType").is_some(), has_type, "{form:?}: {client}");
            }
        }
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            let (old, new) = (old.ask(method, json!({})).await, new.ask(method, json!({})).await);
            for key in ["resultType", "ttlMs", "cacheScope"] {
                assert_eq!(old["result"].get(key), None, "{form:?} {method}");
                assert!(new["result"].get(key).is_some(), "{form:?} {method}: {key}");
            }
        }
    }
}

#[tokio::test]
async fn both_eras_are_served_on_one_pair_of_pipes_in_any_order() {
    for form in Form::ALL {
        let (_behind, pipes) = form.over_stdio(&[], Profile::default()).await;
        let client = ModernStdio::over(pipes, Profile::default());
        let found = client.once("server/discover", Value::Null).await;
        assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28", "{form:?}: {found}");
        listed(&client, &["one"]).await;
        assert_eq!(client.call_text("one.echo", json!({ "first": 1 })).await, r#"{"first":1}"#);
        let welcome = client.pipes.initialize().await;
        assert_eq!(welcome["result"]["protocolVersion"], "2025-11-25", "{form:?}");
        for n in 0..3 {
            let arguments = json!({ "n": n });
            let (old, new) = tokio::join!(
                client.pipes.ask("tools/call", call("one.echo", arguments.clone())),
                client.once("tools/call", call("one.echo", arguments.clone())),
            );
            assert_eq!(old["result"]["content"], new["result"]["content"], "{form:?}");
            assert_eq!(old["result"].get("resultType"), None, "{form:?}: {old}");
            assert_eq!(new["result"]["resultType"], "complete", "{form:?}: {new}");
        }
        let (old, new) = (client.pipes.ask("ping", json!({})).await, client.once("ping", json!({})).await);
        assert_eq!(old["result"], json!({}), "{form:?}");
        assert_eq!(new["error"]["code"], -32601, "{form:?}: {new}");
        let wrong = client.once("tools/list", json!({ "_meta": { VERSION: "2099-01-01" } })).await;
        assert_eq!(wrong["error"]["code"], -32022, "{form:?}: {wrong}");
    }
}

#[tokio::test]
async fn log_messages_come_only_with_a_request_that_asks_for_them_and_from_its_level_on() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let client = ModernClient::new(&behind.gateway.url());
        let logged = |asked: Option<&'static str>, level: &'static str| {
            let client = client.clone();
            async move {
                let mut params = call("one.log", json!({ "level": level, "count": 3 }));
                if let Some(asked) = asked {
                    params["_meta"] = json!({ LOG_LEVEL: asked });
                }
                let answer = client.exchange("tools/call", params).await;
                assert_eq!(answer.result()["content"][0]["text"], "logged");
                answer.notifications("notifications/message").len()
            }
        };
        assert_eq!(logged(None, "emergency").await, 0, "{form:?}");
        assert_eq!(logged(Some("warning"), "error").await, 3, "{form:?}");
        assert_eq!(logged(Some("debug"), "debug").await, 3, "{form:?}");
        assert_eq!(logged(Some("error"), "warning").await, 0, "{form:?}");
        assert_eq!(logged(None, "emergency").await, 0, "{form:?}, after others had asked");
        // Nor do clients of the other era hear more than before.
        let old = behind.gateway.connect().await;
        for (level, expected) in [("debug", 0), ("info", 3)] {
            let params = call("one.log", json!({ "level": level, "count": 3 }));
            let answer = old.request("7", "tools/call", params).await;
            assert_eq!(answer.notifications("notifications/message").len(), expected, "{form:?}, {level}");
        }
    }
}

#[tokio::test]
async fn t06_f49_requests_with_one_id_at_once_each_get_their_own_answer() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let client = ModernClient::new(&behind.gateway.url());
        let calls = (0..40).map(|n| {
            let client = client.clone();
            // Every second one is slower, so that answers overtake one another.
            let (tool, arguments) = if n % 2 == 0 {
                ("one.slow", json!({ "ms": 100 + n }))
            } else {
                ("one.echo", json!({ "n": n }))
            };
            tokio::spawn(async move {
                (n, client.start("1", "tools/call", call(tool, arguments)).await.finish().await)
            })
        });
        for task in calls.collect::<Vec<_>>() {
            let (n, answer): (u64, Exchange) = task.await.unwrap();
            let expected =
                if n % 2 == 0 { format!("slept {} ms", 100 + n) } else { json!({ "n": n }).to_string() };
            assert_eq!(answer.result()["content"][0]["text"], expected, "{form:?}");
        }
    }
}

#[tokio::test]
async fn progress_comes_under_the_clients_own_token_in_order_and_before_the_answer() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let (old, new) = (behind.gateway.connect().await, ModernClient::new(&behind.gateway.url()));
        let mut params = call("one.progress", json!({ "steps": 20 }));
        params["_meta"] = json!({ "progressToken": "mine" });
        for answer in
            [old.request("7", "tools/call", params.clone()).await, new.exchange("tools/call", params).await]
        {
            let told = answer.notifications("notifications/progress");
            let steps: Vec<&Value> = told.iter().map(|message| &message["params"]["progress"]).collect();
            assert_eq!(json!(steps), json!((1..=20).collect::<Vec<u64>>()), "{form:?}");
            assert!(told.iter().all(|message| message["params"]["progressToken"] == "mine"), "{form:?}");
            assert_eq!(answer.messages.last(), Some(&answer.reply), "{form:?}");
        }
        // Whoever did not ask for it gets none, and never sees a token of ours.
        let params = call("one.progress", json!({ "steps": 20 }));
        for answer in
            [old.request("8", "tools/call", params.clone()).await, new.exchange("tools/call", params).await]
        {
            assert_eq!(answer.messages, std::slice::from_ref(&answer.reply), "{form:?}");
        }
    }
}

#[tokio::test]
async fn an_error_has_the_code_of_the_clients_revision() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        for url in [behind.gateway.url(), behind.gateway.server_url("one")] {
            let (old, new) = (HttpClient::connect(&url).await, ModernClient::new(&url));
            let nothing = json!({ "uri": "test://nothing" });
            let missing = old.ask("resources/read", nothing.clone()).await;
            assert_eq!(missing["error"]["code"], -32002, "{form:?}: {missing}");
            let missing = new.exchange("resources/read", nothing).await;
            check(&missing, 200, -32602, &format!("{form:?}"));
            let name = if url.ends_with("/servers/one/mcp") { "" } else { "one." };
            let params = call(&format!("{name}test_missing_capability"), json!({}));
            let refused = new.exchange("tools/call", params).await;
            check(&refused, 400, -32021, &format!("{form:?}"));
            let required = &refused.reply["error"]["data"]["requiredCapabilities"];
            assert_eq!(required, &json!({ "sampling": {} }), "{form:?}");
        }
    }
}

#[tokio::test]
async fn discovery_says_what_the_handshake_says() {
    let builder = Gateway::builder();
    let behind = Form::StdioLegacy.serve_as(&["--instructions", "Ask nicely."], json!({}), builder).await;
    let url = behind.gateway.server_url("one");
    let found = ModernClient::new(&url).exchange("server/discover", Value::Null).await;
    let old = HttpClient::new(&url).initialize().await;
    let (new, old) = (found.result(), old.result());
    assert_eq!(new["instructions"], "Ask nicely.");
    assert_eq!(new["instructions"], old["instructions"]);
    assert_eq!(new["_meta"]["io.modelcontextprotocol/serverInfo"], old["serverInfo"]);
    for part in ["tools", "prompts", "resources", "completions"] {
        assert_eq!(new["capabilities"][part], old["capabilities"][part], "{part}");
    }
    assert_eq!((&new["resultType"], &new["ttlMs"]), (&json!("complete"), &json!(0)));
}
