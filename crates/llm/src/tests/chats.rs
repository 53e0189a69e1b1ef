//! Conversations that go well.

use portolan_testkit::model_server::Reply;
use portolan_testkit::{ModelServer, model_server};
use serde_json::json;

use super::kit::{DIALECTS, KEY, client, question, tool};
use crate::{Chat, ChatModel as _, Dialect, Message, Outcome, Stop, ToolResult, Usage};

#[tokio::test]
async fn a_question_gets_its_answer_with_what_it_took() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        server.then(Reply::text("In Oslo.").using(Some((12, 3))));
        let turn = client(&server, kind).turn(&question("Where?")).await.unwrap();
        assert_eq!((turn.text.as_str(), turn.stop), ("In Oslo.", Stop::End));
        assert_eq!(turn.usage, Usage { input: 12, output: 3 });
        let asked = server.asked().all().remove(0);
        assert_eq!(asked.last_words(), "Where?");
        assert_eq!(asked.body["model"], "scripted");
        assert_eq!(asked.body["temperature"], 0);
        assert_eq!(asked.body["max_tokens"], 100);
    }
}

#[tokio::test]
async fn each_dialect_has_its_own_place_for_the_key() {
    let server = ModelServer::start().await;
    for kind in DIALECTS {
        server.then(Reply::text("Hi"));
        client(&server, kind).turn(&question("Hi")).await.unwrap();
    }
    let asked = server.asked().all();
    assert_eq!(asked[0].wanted, model_server::Wanted::OpenAiChat);
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked[1].wanted, model_server::Wanted::AnthropicChat);
    assert_eq!(asked[1].header("x-api-key"), Some(KEY));
    assert_eq!(asked[1].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked[1].header("authorization"), None);
}

#[tokio::test]
async fn several_calls_at_once_go_out_and_their_results_come_back() {
    for kind in DIALECTS {
        let server = ModelServer::start().await;
        let calls = [("find", json!({ "q": "a" })), ("count", json!({ "of": ["b"] }))];
        server.then(Reply::calls(calls).saying("Looking.")).then(Reply::text("Two."));
        let client = client(&server, kind);
        let mut chat = Chat { tools: vec![tool("find"), tool("count")], ..question("How many?") };

        let turn = client.turn(&chat).await.unwrap();
        assert_eq!((turn.text.as_str(), &turn.stop), ("Looking.", &Stop::Tools));
        let wanted: Vec<(&str, &str)> =
            turn.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.get())).collect();
        assert_eq!(wanted, [("find", r#"{"q":"a"}"#), ("count", r#"{"of":["b"]}"#)]);

        let result = |at: usize, text: &str, outcome| ToolResult {
            call: turn.tool_calls[at].id.clone(),
            text: text.to_owned(),
            outcome,
        };
        let results = vec![result(0, "a1", Outcome::Done), result(1, "no b", Outcome::Failed)];
        chat.messages.push(Message::Assistant { text: turn.text.clone(), calls: turn.tool_calls.clone() });
        chat.messages.push(Message::Results(results));
        assert_eq!(client.turn(&chat).await.unwrap().text, "Two.");

        let second = &server.bodies()[1]["messages"];
        match kind {
            Dialect::OpenAi => {
                assert_eq!(second[1]["tool_calls"][1]["id"], "call-1");
                assert_eq!(second[2], json!({ "role": "tool", "tool_call_id": "call-0", "content": "a1" }));
                assert_eq!(second[3]["content"], "Error: no b");
            }
            Dialect::Anthropic => {
                assert_eq!(second[1]["content"][2]["id"], "call-1");
                assert_eq!(second[2]["content"][0]["tool_use_id"], "call-0");
                assert_eq!(second[2]["content"][1]["is_error"], true);
            }
        }
    }
}

#[tokio::test]
async fn fewer_tokens_than_the_provider_s_own_limit_may_be_asked_for_but_not_more() {
    for kind in DIALECTS {
        let server = ModelServer::answering(|_| Reply::text("Hi")).await;
        let client = client(&server, kind);
        for max_tokens in [7, 700] {
            client.turn(&Chat { max_tokens: Some(max_tokens), ..question("Hi") }).await.unwrap();
        }
        let limits: Vec<_> = server.bodies().iter().map(|body| body["max_tokens"].clone()).collect();
        assert_eq!(limits, [7, 100]);
    }
}
