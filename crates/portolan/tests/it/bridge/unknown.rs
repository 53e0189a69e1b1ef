//! What nobody knows is passed on: members that no revision has, at every level, in both directions.

use super::fronts::everything;
use super::{Answering, Form};
use crate::kit::call;
use portolan_testkit::{
    Client, Exchange, Fixture, HttpClient, ModernClient, Profile, SseClient, StdioClient, bin,
};
use serde_json::{Value, json};

/// The member that the fixture puts everywhere, byte for byte.
const MEMBER: &str = r#""x-unknown":{"nested":[1,"é",null,1.0,1e2]}"#;
/// Members that belong to one era or to one hop.
const OF_ONE_HOP: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// A client of the server itself, in the era of the server.
async fn direct(form: Form, flags: &[&str]) -> (super::AnyClient, Option<Fixture>) {
    let era: &[&str] = if form.is_modern() { &["--era", "modern"] } else { &[] };
    let flags = [era, flags].concat();
    match form {
        Form::StdioLegacy => {
            let client = StdioClient::connect(&bin("portolan-fixture"), &flags).await;
            (super::AnyClient::Stdio(client), None)
        }
        Form::StdioModern => {
            let pipes = StdioClient::spawn(&bin("portolan-fixture"), &flags, Profile::default());
            let client = portolan_testkit::ModernStdio::over(pipes, Profile::default());
            (super::AnyClient::ModernStdio(client), None)
        }
        Form::HttpLegacy | Form::HttpStateless => {
            let fixture = Fixture::http(&flags).await;
            (super::AnyClient::Http(HttpClient::connect(fixture.url()).await), Some(fixture))
        }
        Form::HttpModern => {
            let fixture = Fixture::http(&flags).await;
            (super::AnyClient::Modern(ModernClient::new(fixture.url())), Some(fixture))
        }
        Form::Sse => {
            let fixture = Fixture::sse(&flags).await;
            (super::AnyClient::Sse(SseClient::connect(fixture.url()).await), Some(fixture))
        }
    }
}

/// Without what belongs to one era or to one hop.
fn essence(mut result: Value) -> Value {
    if let Some(members) = result.as_object_mut() {
        for key in OF_ONE_HOP {
            members.remove(key);
        }
        let is_bare = members.get_mut("_meta").and_then(Value::as_object_mut).is_some_and(|meta| {
            meta.remove(SERVER_INFO);
            meta.is_empty()
        });
        if is_bare {
            members.remove("_meta");
        }
    }
    result
}

/// How many times the member is in a value.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let own = usize::from(members.contains_key("x-unknown"));
            // What is inside the member itself is no place for another.
            own + members
                .iter()
                .filter(|(key, _)| *key != "x-unknown")
                .map(|(_, value)| count(value))
                .sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}

/// The same result, and every unknown member in it with its own bytes.
#[track_caller]
fn same(direct: &Value, through: &Exchange, what: &str) {
    let result = essence(through.result().clone());
    assert_eq!(result, essence(direct.clone()), "{what}");
    assert!(count(&result) > 0, "{what}: {result}");
    assert_eq!(through.body.matches(MEMBER).count(), count(&result), "{what}: {}", through.body);
}

const REQUESTS: [(&str, &str); 8] = [
    ("tools/call", r#"{"name":"test_simple_text","arguments":{}}"#),
    ("tools/call", r#"{"name":"test_multiple_content_types","arguments":{}}"#),
    ("tools/call", r#"{"name":"test_error_handling","arguments":{}}"#),
    (
        "prompts/get",
        r#"{"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://x"}}"#,
    ),
    ("prompts/get", r#"{"name":"test_prompt_with_image"}"#),
    ("resources/read", r#"{"uri":"test://static-text"}"#),
    ("resources/read", r#"{"uri":"test://template/7/data"}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"par"}}"#,
    ),
];

#[tokio::test]
async fn results_arrive_with_every_member_that_nobody_knows() {
    for form in Form::ALL {
        let (direct, _fixture) = direct(form, &["--extra-fields"]).await;
        let behind = form.serve(&["--extra-fields"]).await;
        let url = behind.gateway.server_url("one");
        let (old, new) = (HttpClient::connect(&url).await, ModernClient::new(&url));
        for (method, params) in REQUESTS {
            let params: Value = serde_json::from_str(params).unwrap();
            let expected = direct.ask(method, params.clone()).await;
            let expected = expected.get("result").unwrap_or_else(|| panic!("{expected}"));
            same(
                expected,
                &old.request("7", method, params.clone()).await,
                &format!("{form:?}, legacy: {method}"),
            );
            same(expected, &new.exchange(method, params).await, &format!("{form:?}, modern: {method}"));
        }
    }
}

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
];

#[tokio::test]
async fn definitions_arrive_with_every_member_that_nobody_knows() {
    for form in Form::ALL {
        let (direct, _fixture) = direct(form, &["--extra-fields"]).await;
        let behind = form.serve(&["--extra-fields"]).await;
        for is_own in [true, false] {
            let url = if is_own { behind.gateway.server_url("one") } else { behind.gateway.url() };
            let (old, new) = (HttpClient::connect(&url).await, ModernClient::new(&url));
            for (method, list, key) in LISTS {
                let mut expected = direct.ask(method, json!({})).await["result"][list].take();
                for definition in expected.as_array_mut().unwrap() {
                    shown_as(definition, key, is_own);
                }
                for (era, through) in [
                    ("legacy", old.request("7", method, json!({})).await),
                    ("modern", new.exchange(method, json!({})).await),
                ] {
                    let what = format!("{form:?}, {era}, by itself {is_own}: {method}");
                    let mut list = through.result()[list].clone();
                    list.as_array_mut().unwrap().iter_mut().for_each(drop_execution);
                    assert_eq!(list, expected, "{what}");
                    let dropped = count(through.result()) - count(&list);
                    assert_eq!(through.body.matches(MEMBER).count(), count(&list) + dropped, "{what}");
                    assert!(count(&list) > 0, "{what}");
                }
            }
        }
    }
}

/// How a definition is shown: under another name among all, and in no revision with what only one of them has.
fn shown_as(definition: &mut Value, key: &str, is_own: bool) {
    drop_execution(definition);
    if key == "name" && !is_own {
        definition[key] = json!(format!("one.{}", definition[key].as_str().unwrap()));
    }
}

/// `execution` is of 2025-11-25 alone.
fn drop_execution(definition: &mut Value) {
    definition.as_object_mut().unwrap().remove("execution");
}

#[tokio::test]
async fn notifications_arrive_with_every_member_that_nobody_knows() {
    for form in Form::ALL {
        let behind = form.serve(&["--extra-fields", "--faults"]).await;
        let (old, new) = (behind.gateway.connect().await, ModernClient::new(&behind.gateway.url()));
        let mut progress = call("one.progress", json!({ "steps": 2 }));
        progress["_meta"] = json!({ "progressToken": 1 });
        let mut log = call("one.log", json!({ "level": "error", "count": 2 }));
        log["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        let mut other = call("one.flood", json!({ "count": 2, "method": "notifications/vendor/thing" }));
        other["_meta"] = json!({});
        for (params, method) in [
            (progress, "notifications/progress"),
            (log, "notifications/message"),
            (other, "notifications/vendor/thing"),
        ] {
            for (era, through) in [
                ("legacy", old.request("7", "tools/call", params.clone()).await),
                ("modern", new.exchange("tools/call", params.clone()).await),
            ] {
                let told = through.notifications(method);
                assert_eq!(told.len(), 2, "{form:?}, {era}: {method}: {}", through.body);
                assert!(told.iter().all(|message| message["params"].get("x-unknown").is_some()), "{form:?}");
                let all: usize = through.messages.iter().map(count).sum();
                assert_eq!(through.body.matches(MEMBER).count(), all, "{form:?}, {era}: {}", through.body);
            }
        }
    }
}

#[tokio::test]
async fn updates_of_resources_arrive_with_every_member_that_nobody_knows() {
    for form in Form::LASTING {
        let behind = form.serve(&["--extra-fields"]).await;
        let (old, new) = (behind.gateway.connect().await, ModernClient::new(&behind.gateway.url()));
        let stream = old.open_get_stream().await;
        let uri = "test://watched-resource";
        old.ask("resources/subscribe", json!({ "uri": uri })).await;
        let listening = new.listen("1", json!({ "resourceSubscriptions": [uri] })).await;
        old.call("one.touch_resource", json!({ "uri": uri })).await;
        for (era, stream) in [("legacy", &stream), ("modern", &listening)] {
            let told = stream.wait_for_method("notifications/resources/updated").await;
            assert_eq!(told["params"]["x-unknown"]["nested"][1], "é", "{form:?}, {era}: {told}");
        }
    }
}

#[tokio::test]
async fn questions_and_answers_arrive_with_every_member_that_nobody_knows() {
    let strange = json!({ "nested": [1, "é", null, 1.0] });
    for form in Form::ALL {
        let behind = form.serve(&["--extra-fields"]).await;
        let answered = strange.clone();
        let profile = Profile::default().capabilities(everything()).answer_with(
            "elicitation/create",
            move |_| json!({ "action": "accept", "content": { "username": "u" }, "x-answer": answered }),
        );
        let old = HttpClient::connect_as(&behind.gateway.url(), profile.clone()).await;
        let new = ModernClient::with(&behind.gateway.url(), profile.clone());
        for text in [
            old.call_text("one.who_asks", json!({ "tag": "t" })).await,
            new.call_text("one.who_asks", json!({ "tag": "t" })).await,
        ] {
            let seen: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(seen["result"]["x-answer"], strange, "{form:?}: {text}");
        }
        let asked = profile.asked().all();
        assert_eq!(asked.len(), 2, "{form:?}");
        for question in asked {
            assert_eq!(question["params"]["x-unknown"]["nested"][1], "é", "{form:?}: {question}");
            assert_eq!(question["params"]["_meta"]["portolan.fixture/tag"], "t", "{form:?}: {question}");
        }
    }
}

#[tokio::test]
async fn capabilities_of_servers_arrive_with_every_member_that_nobody_knows() {
    for form in Form::ALL {
        let behind = form.serve(&["--extra-fields"]).await;
        let url = behind.gateway.server_url("one");
        let old = HttpClient::new(&url).initialize().await;
        let new = ModernClient::new(&url).exchange("server/discover", json!({})).await;
        for (era, welcome) in [("legacy", old), ("modern", new)] {
            let capabilities = &welcome.result()["capabilities"];
            assert_eq!(capabilities["x-unknown"]["nested"][1], "é", "{form:?}, {era}: {capabilities}");
            for part in ["tools", "prompts", "resources"] {
                let part = &capabilities[part];
                assert!(part.get("x-unknown").is_some(), "{form:?}, {era}: {capabilities}");
            }
            assert_eq!(
                welcome.body.matches(MEMBER).count(),
                count(capabilities),
                "{form:?}, {era}: {}",
                welcome.body
            );
        }
    }
}

#[tokio::test]
async fn capabilities_of_clients_reach_the_server_with_every_member_that_nobody_knows() {
    let capabilities = json!({ "elicitation": { "x-vendor": [1.0, "é"] }, "x-vendor": { "a": null },
        "experimental": { "vendor/thing": {} }, "extensions": { "vendor/other": { "b": 1 } } });
    for form in Form::ALL {
        if form == Form::HttpStateless {
            // It forgets what it was told in the handshake.
            continue;
        }
        let behind = form.serve(&[]).await;
        let who = Answering::named("a", capabilities.clone());
        let old = HttpClient::connect_as(&behind.gateway.url(), who.profile.clone()).await;
        let new = ModernClient::with(&behind.gateway.url(), who.profile.clone());
        for text in [
            old.call_text("one.capabilities", json!({})).await,
            new.call_text("one.capabilities", json!({})).await,
        ] {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), capabilities, "{form:?}");
        }
    }
}

#[tokio::test]
async fn params_reach_the_server_with_every_member_that_nobody_knows() {
    for form in Form::ALL {
        let behind = form.serve(&[]).await;
        let (old, new) = (behind.gateway.connect().await, ModernClient::new(&behind.gateway.url()));
        let strange = json!({ "nested": [1, "é", null, 1.0] });
        for (method, mut params) in [
            ("tools/call", call("one.echo", json!({ "a": 1 }))),
            ("prompts/get", json!({ "name": "one.test_simple_prompt" })),
            ("resources/read", json!({ "uri": "test://static-text" })),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "one.test_simple_prompt", "x-ref": strange },
                    "argument": { "name": "a", "value": "b", "x-argument": strange } }),
            ),
        ] {
            params["x-param"] = strange.clone();
            params["_meta"] = json!({ "vendor/meta": strange, "traceparent": "00-1-2-3" });
            old.ask(method, params.clone()).await;
            new.ask(method, params.clone()).await;
            let seen = behind.journal.of(method);
            assert_eq!(seen.len(), 2, "{form:?}: {method}");
            for line in seen {
                let got = &line["params"];
                assert_eq!(got["x-param"], strange, "{form:?}: {got}");
                assert_eq!(got["_meta"]["vendor/meta"], strange, "{form:?}: {got}");
                assert_eq!(got["_meta"]["traceparent"], "00-1-2-3", "{form:?}: {got}");
                if method == "completion/complete" {
                    assert_eq!(got["ref"]["x-ref"], strange, "{form:?}: {got}");
                    assert_eq!(got["argument"]["x-argument"], strange, "{form:?}: {got}");
                }
            }
        }
    }
}

#[tokio::test]
async fn errors_arrive_with_every_member_that_nobody_knows() {
    for form in Form::ALL {
        let behind = form.serve(&["--faults"]).await;
        let url = behind.gateway.server_url("one");
        let (old, new) = (HttpClient::connect(&url).await, ModernClient::new(&url));
        let data = json!({ "nested": [1, "é", null, 1.0], "x": {} });
        let arguments = json!({ "code": -32099, "message": "as asked", "data": data });
        for error in [
            old.try_call("fail", arguments.clone()).await.unwrap_err(),
            new.try_call("fail", arguments.clone()).await.unwrap_err(),
        ] {
            assert_eq!(error, json!({ "code": -32099, "message": "as asked", "data": data }), "{form:?}");
        }
    }
}
