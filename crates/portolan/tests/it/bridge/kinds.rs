//! The kinds of questions that came later: pages to open, and sampling with tools.

use super::asker::{Asker, Era};
use super::fronts::everything;
use super::{AnyClient, Form, Front};
use crate::kit::{call, listed};
use portolan_testkit::{Client, Gateway, HttpClient, Modern, ModernClient, Profile, SseClient};
use serde_json::{Value, json};

const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";

fn page() -> Value {
    json!({ "mode": "url", "url": "https://example.org/sign?x=1&y=2", "message": "Please sign in",
        "elicitationId": "e-1", "x-more": [1.0] })
}

fn with_tools() -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Which?" } });
    let tool = json!({ "name": "look", "inputSchema": { "type": "object", "x-more": 1.0 } });
    json!({ "messages": [message], "maxTokens": 10, "tools": [tool], "toolChoice": { "mode": "auto" } })
}

fn answers() -> Profile {
    let used = json!({ "type": "tool_use", "id": "u", "name": "look", "input": { "a": 1.0 } });
    let sampled = json!({ "role": "assistant", "content": [used], "model": "m", "stopReason": "toolUse" });
    Profile::default().answer(ELICIT, json!({ "action": "accept" })).answer(SAMPLE, sampled)
}

struct Set {
    gateway: Gateway,
    asker: Asker,
}

async fn asking(era: Era, method: &'static str, params: Value) -> Set {
    let asker = Asker::start(era, method, params).await;
    let gateway = Gateway::builder().server("one", asker.entry()).serve().await;
    listed(&gateway.connect().await, &["one"]).await;
    Set { gateway, asker }
}

impl Set {
    async fn client(&self, front: Front, profile: Profile) -> AnyClient {
        let gateway = &self.gateway;
        match front {
            Front::Http => AnyClient::Http(HttpClient::connect_as(&gateway.url(), profile).await),
            Front::Sse => AnyClient::Sse(SseClient::connect_as(&gateway.url_of("/sse"), profile).await),
            Front::Modern => AnyClient::Modern(ModernClient::with(&gateway.url(), profile)),
        }
    }
}

#[tokio::test]
async fn a_page_to_open_is_asked_for_in_the_words_of_each_era() {
    for era in [Era::Legacy, Era::Modern] {
        let mut params = page();
        if era == Era::Modern {
            // From then on it has no id.
            params.as_object_mut().unwrap().remove("elicitationId");
        }
        let set = asking(era, ELICIT, params).await;
        for (at, front) in Front::ALL.into_iter().enumerate() {
            let profile = answers().capabilities(everything());
            let client = set.client(front, profile.clone()).await;
            let text = client.call_text("one.ask", json!({})).await;
            assert_eq!(text, json!({ "result": { "action": "accept" } }).to_string(), "{era:?} {front:?}");
            let asked = profile.asked().all();
            assert_eq!(asked.len(), 1, "{era:?} {front:?}: {asked:?}");
            let params = &asked[0]["params"];
            for key in ["mode", "url", "x-more"] {
                assert_eq!(params[key], page()[key], "{era:?} {front:?}: {params}");
            }
            let message = params["message"].as_str().unwrap();
            // Between two of the newer era the whole answer passes as it is.
            let is_as_it_was = era == Era::Modern && front.is_modern();
            let expected = if is_as_it_was { "Please sign in" } else { "one: Please sign in" };
            assert_eq!(message, expected, "{era:?} {front:?}");
            match (era, front.is_modern()) {
                (Era::Legacy, false) => assert_eq!(params["elicitationId"], "e-1", "{front:?}"),
                (Era::Modern, false) => assert!(params["elicitationId"].is_string(), "{front:?}: {params}"),
                (_, true) => assert_eq!(params.get("elicitationId"), None, "{era:?}: {params}"),
            }
            assert_eq!(set.asker.executions(), at + 1, "{era:?} {front:?}");
        }
    }
}

#[tokio::test]
async fn sampling_with_tools_passes_both_ways_unchanged() {
    for era in [Era::Legacy, Era::Modern] {
        let set = asking(era, SAMPLE, with_tools()).await;
        for (at, front) in Front::ALL.into_iter().enumerate() {
            let profile = answers().capabilities(everything());
            let client = set.client(front, profile.clone()).await;
            let text = client.call_text("one.ask", json!({})).await;
            let seen: Value = serde_json::from_str(&text).unwrap();
            let used = &seen["result"]["content"][0];
            assert_eq!((&used["type"], &used["input"]), (&json!("tool_use"), &json!({ "a": 1.0 })), "{text}");
            let asked = profile.asked().all();
            assert_eq!(asked.len(), 1, "{era:?} {front:?}");
            assert_eq!(asked[0]["params"], with_tools(), "{era:?} {front:?}");
            assert_eq!(set.asker.executions(), at + 1, "{era:?} {front:?}");
        }
    }
}

#[tokio::test]
async fn f24_whoever_declared_only_the_older_kind_is_not_asked_the_newer_one() {
    let bare = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    for (method, params) in [(ELICIT, page()), (SAMPLE, with_tools())] {
        for era in [Era::Legacy, Era::Modern] {
            let set = asking(era, method, params.clone()).await;
            for front in Front::ALL {
                let profile = answers().capabilities(bare.clone());
                let client = set.client(front, profile.clone()).await;
                // A modern server that asks a modern client for what that has not declared has only itself to blame.
                if let AnyClient::Modern(client) = &client
                    && era == Era::Modern
                {
                    let reply = client.once("tools/call", call("one.ask", json!({}))).await;
                    assert!(
                        reply.get("error").is_some() || reply["result"]["resultType"] == "input_required",
                        "{reply}"
                    );
                    continue;
                }
                let called = client.try_call("one.ask", json!({})).await;
                let is_declined = match &called {
                    Ok(result) => result["content"][0]["text"].as_str().unwrap().contains("-32601"),
                    Err(error) => error["message"].as_str().unwrap().contains("declared"),
                };
                assert!(is_declined, "{era:?} {front:?} {method}: {called:?}");
                assert!(profile.asked().is_empty(), "{era:?} {front:?} {method}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_that_wants_a_page_opened_first_is_a_question_in_the_newer_era() {
    for form in [Form::StdioLegacy, Form::HttpLegacy, Form::HttpStateless, Form::Sse] {
        let behind = form.serve(&["--faults"]).await;
        let data = json!({ "elicitations": [page()] });
        let arguments = json!({ "code": -32042, "message": "sign in first", "data": data });
        let profile = answers().capabilities(everything());
        let old = HttpClient::connect_as(&behind.gateway.url(), profile.clone()).await;
        let error = old.try_call("one.fail", arguments.clone()).await.unwrap_err();
        assert_eq!(
            (&error["code"], &error["data"]["elicitations"][0]),
            (&json!(-32042), &page()),
            "{form:?}"
        );
        let new = ModernClient::with(&behind.gateway.url(), profile);
        let reply = new.once("tools/call", call("one.fail", arguments)).await;
        let asked = &reply["result"];
        assert_eq!(asked["resultType"], "input_required", "{form:?}: {reply}");
        let question = asked["inputRequests"].as_object().unwrap().values().next().unwrap();
        assert_eq!(
            (&question["method"], &question["params"]["url"]),
            (&json!(ELICIT), &page()["url"]),
            "{form:?}"
        );
        assert_eq!(question["params"].get("elicitationId"), None, "{form:?}: {question}");
    }
}
