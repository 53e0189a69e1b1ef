//! The client's own model, with tools and in words.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::kit::{Does, FakeHands, ask, asked};
use crate::{Mind, Report, SampleFailed, Sampler, Sampling};

/// A client that answers what it is scripted to, and records what it is asked.
struct Scripted {
    can_use_tools: bool,
    answers: Mutex<VecDeque<Result<Value, SampleFailed>>>,
    asked: Mutex<Vec<Value>>,
}

impl Scripted {
    fn new<const N: usize>(can_use_tools: bool, answers: [Value; N]) -> Arc<Self> {
        let answers = answers.into_iter().map(Ok).collect();
        Arc::new(Self { can_use_tools, answers: Mutex::new(answers), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Sampler for Scripted {
    fn can_use_tools(&self) -> bool {
        self.can_use_tools
    }

    async fn create_message(&self, params: Box<RawValue>) -> Result<Box<RawValue>, SampleFailed> {
        self.asked.lock().unwrap().push(serde_json::from_str(params.get()).unwrap());
        let refused = || Err(SampleFailed { reason: "User rejected sampling request".to_owned() });
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_else(refused);
        answer.map(|answer| to_raw_value(&answer).unwrap())
    }
}

fn spoken(text: &str) -> Value {
    json!({ "role": "assistant", "model": "claude-x", "content": { "type": "text", "text": text } })
}

fn hands() -> FakeHands {
    FakeHands::described([(
        "find",
        json!({ "description": "Finds.", "inputSchema": { "type": "object", "properties": { "q": {} } } }),
        Does::Says("found".to_owned()),
    )])
}

async fn run(sampler: &Arc<Scripted>, hands: &FakeHands) -> Report {
    let model = Sampling::new(Arc::clone(sampler) as Arc<dyn Sampler>);
    asked(hands, Mind::Client(Arc::new(model)), &ask("find x")).await
}

#[tokio::test]
async fn a_client_that_has_tools_is_asked_with_tools() {
    let call = json!({
        "role": "assistant", "model": "claude-x", "stopReason": "toolUse",
        "content": [
            { "type": "text", "text": "Looking." },
            { "type": "tool_use", "id": "u1", "name": "find", "input": { "q": "x" } },
            { "type": "tool_use", "id": "u2", "name": "nothing", "input": {} },
        ],
    });
    let sampler = Scripted::new(true, [call, spoken("Found.")]);
    let hands = hands();
    let report = run(&sampler, &hands).await;
    assert_eq!((&report.failure, report.answer.as_str()), (&None, "Found."));
    assert_eq!(hands.log()[0], r#"find {"q":"x"}"#);
    assert_eq!((report.model.as_deref(), report.cost), (Some("claude-x"), None));
    assert!(report.usage.input > 0 && report.usage.output > 0);

    let [first, second] = <[Value; 2]>::try_from(sampler.asked()).unwrap();
    let tool = json!({
        "name": "find", "description": "Finds.", "inputSchema": { "type": "object", "properties": { "q": {} } },
    });
    assert_eq!((&first["tools"], &first["toolChoice"]), (&json!([tool]), &json!({ "mode": "auto" })));
    assert_eq!(
        first["messages"],
        json!([{ "role": "user", "content": { "type": "text", "text": "find x" } }])
    );
    assert!(first["systemPrompt"].as_str().unwrap().starts_with("You are a github MCP connector agent."));
    assert!(first["maxTokens"].is_u64());
    let said = json!([
        { "type": "text", "text": "Looking." },
        { "type": "tool_use", "id": "u1", "name": "find", "input": { "q": "x" } },
        { "type": "tool_use", "id": "u2", "name": "nothing", "input": {} },
    ]);
    assert_eq!(second["messages"][1], json!({ "role": "assistant", "content": said }));
    // Results stand by themselves in a message of the user.
    let results = second["messages"][2]["content"].as_array().unwrap();
    assert_eq!(second["messages"][2]["role"], "user");
    assert_eq!((&results[0]["type"], &results[0]["toolUseId"]), (&json!("tool_result"), &json!("u1")));
    assert!(results[0]["content"][0]["text"].as_str().unwrap().contains("found"));
    assert_eq!((results[0].get("isError"), &results[1]["isError"]), (None, &json!(true)));
}

#[tokio::test]
async fn a_client_without_tools_is_asked_in_words() {
    let sampler = Scripted::new(
        false,
        [
            spoken("Sure:\n```json\n{\"tool\": \"find\", \"arguments\": {\"q\": \"x\"}}\n```"),
            spoken(r#"{"tools": [{"name": "find", "args": {"q": 1}}, {"tool": "find"}]}"#),
            spoken(r#"{"answer": "Found three times."}"#),
        ],
    );
    let hands = hands();
    let report = run(&sampler, &hands).await;
    assert_eq!((&report.failure, report.answer.as_str()), (&None, "Found three times."));
    let calls: Vec<String> = hands.log().into_iter().filter(|line| line.starts_with("find {")).collect();
    assert_eq!(calls, [r#"find {"q": "x"}"#, r#"find {"q": 1}"#, "find {}"]);
    let asked = sampler.asked();
    for params in &asked {
        assert_eq!((params.get("tools"), params.get("toolChoice")), (None, None));
        let prompt = params["systemPrompt"].as_str().unwrap();
        assert!(prompt.contains("- find: Finds.") && prompt.contains(r#"{"answer": "…"}"#), "{prompt}");
    }
    // Older clients know one block a message.
    let messages = asked[2]["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert!(messages.iter().all(|message| message["content"]["type"] == "text"));
    assert!(messages[2]["content"]["text"].as_str().unwrap().starts_with("Result of find:\n<data-"));
}

#[tokio::test]
async fn f60_garbage_is_complained_about_once() {
    let sampler = Scripted::new(false, [spoken("{broken"), spoken(r#"{"answer": "Mended."}"#)]);
    let report = run(&sampler, &hands()).await;
    assert_eq!(report.answer, "Mended.");
    let again = &sampler.asked()[1]["messages"];
    assert_eq!(again[1]["content"]["text"], "{broken");
    assert!(
        again[2]["content"]["text"]
            .as_str()
            .unwrap()
            .starts_with("That could not be used: it holds no JSON object.")
    );

    let stubborn = Scripted::new(false, [spoken("{broken"), spoken("{broken")]);
    let failure = run(&stubborn, &hands()).await.failure.unwrap().to_string();
    assert!(failure.contains("the model's answer cannot be used"), "{failure}");
    assert_eq!(stubborn.asked().len(), 2);

    let prose = Scripted::new(false, [spoken("It is 7."), spoken("As I said: 7.")]);
    assert_eq!(run(&prose, &hands()).await.answer, "As I said: 7.");
}

#[tokio::test]
async fn when_calls_are_over_plain_words_are_an_answer() {
    let call = spoken(r#"{"tool": "find", "arguments": {}}"#);
    let sampler = Scripted::new(false, [call, spoken("Once, then.")]);
    let model = Sampling::new(Arc::clone(&sampler) as Arc<dyn Sampler>);
    let once = crate::Ask { max_tools: Some(1), ..ask("find x") };
    let report = asked(&hands(), Mind::Client(Arc::new(model)), &once).await;
    assert_eq!(report.answer, "Once, then.");
    let prompt = sampler.asked()[1]["systemPrompt"].as_str().unwrap().to_owned();
    assert!(prompt.contains("No more tools can be called."), "{prompt}");
}

#[tokio::test]
async fn a_client_that_declines_to_sample_is_named_as_the_reason() {
    let report = run(&Scripted::new(true, []), &hands()).await;
    let failure = report.failure.unwrap().to_string();
    assert!(failure.contains("the client did not sample: User rejected sampling request"), "{failure}");
    assert_eq!(report.model.as_deref(), Some("the client's model"));
}

#[tokio::test]
async fn f60_an_answer_that_is_no_sampling_result_is_an_error() {
    for odd in [json!({}), json!([1]), json!({ "content": [{ "type": "tool_use", "id": "u1" }] })] {
        let failure = run(&Scripted::new(true, [odd]), &hands()).await.failure.unwrap().to_string();
        assert!(failure.contains("cannot be used"), "{failure}");
    }
}
