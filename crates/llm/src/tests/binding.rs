//! Answers bound to a schema, by providers that can and by those that cannot.

use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Asked, Reply};
use serde::Deserialize;
use serde_json::{Value, json};

use super::kit::{DIALECTS, client, question, raw};
use crate::{Answer, Chat, ChatModel as _, Dialect, LlmError, json};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    steps: Vec<String>,
}

fn planning() -> Chat {
    let schema = json!({
        "type": "object",
        "properties": { "steps": { "type": "array", "items": { "type": "string" } } },
        "required": ["steps"],
        "additionalProperties": false,
    });
    Chat { answer: Answer::Object { name: "plan".to_owned(), schema: raw(&schema) }, ..question("Plan!") }
}

/// Which binding a request asked for.
fn bound_by(body: &Value) -> &str {
    if let Some(kind) = body["response_format"]["type"].as_str() {
        return kind;
    }
    match (body.get("output_config"), body.get("tool_choice")) {
        (Some(_), _) => "output_config",
        (None, Some(_)) => "tool",
        (None, None) => "prompt",
    }
}

fn steps(dialect: Dialect) -> [&'static str; 3] {
    match dialect {
        Dialect::OpenAi => ["json_schema", "json_object", "prompt"],
        Dialect::Anthropic => ["output_config", "tool", "prompt"],
    }
}

/// A provider that takes the bindings from `weakest` on, and refuses all before it.
async fn provider_with(weakest: usize, dialect: Dialect) -> ModelServer {
    let known = &steps(dialect)[weakest..];
    let known: Vec<&str> = known.to_vec();
    ModelServer::answering(move |asked: &Asked| match bound_by(&asked.body) {
        refused if !known.contains(&refused) => Reply::refusal(400, format!("{refused} is not supported")),
        "tool" => Reply::calls([("answer", json!({ "steps": ["one"] }))]),
        "prompt" => Reply::text("Here it is:\n```json\n{\"steps\": [\"one\"]}\n```"),
        _ => Reply::text(r#"{"steps":["one"]}"#),
    })
    .await
}

#[tokio::test]
async fn an_answer_is_bound_as_tightly_as_the_provider_can_and_that_is_remembered() {
    for kind in DIALECTS {
        for weakest in 0..3 {
            let server = provider_with(weakest, kind).await;
            let client = client(&server, kind);
            for _ in 0..2 {
                let turn = client.turn(&planning()).await.unwrap();
                assert_eq!(json::read::<Plan>(&turn.text).unwrap().steps, ["one"]);
            }
            let mut expected = steps(kind)[..=weakest].to_vec();
            expected.push(steps(kind)[weakest]);
            let bodies = server.bodies();
            assert_eq!(bodies.iter().map(bound_by).collect::<Vec<_>>(), expected);
        }
    }
}

#[tokio::test]
async fn a_provider_that_refuses_everything_is_asked_three_times_and_nothing_is_learned_from_it() {
    for kind in DIALECTS {
        let server = ModelServer::answering(|_| Reply::refusal(400, "too long")).await;
        let client = client(&server, kind);
        let refused = client.turn(&planning()).await.unwrap_err();
        assert_eq!(refused, LlmError::Rejected { status: 400, reason: "too long".to_owned() });
        client.turn(&planning()).await.unwrap_err();
        let bodies = server.bodies();
        let bound: Vec<&str> = bodies.iter().map(bound_by).collect();
        assert_eq!(bound, [steps(kind), steps(kind)].concat());
    }
}

#[tokio::test]
async fn a_model_without_a_temperature_and_with_another_name_for_the_limit_is_asked_its_way() {
    let server = ModelServer::answering(|asked| match &asked.body {
        body if body.get("max_tokens").is_some() => {
            Reply::refusal(400, "'max_tokens' is not supported, use 'max_completion_tokens' instead")
        }
        body if body.get("temperature").is_some() => Reply::refusal(400, "'temperature' is not supported"),
        _ => Reply::text("Hi"),
    })
    .await;
    let client = client(&server, Dialect::OpenAi);
    assert_eq!(client.turn(&question("Hi")).await.unwrap().text, "Hi");
    assert_eq!(client.turn(&question("Hi")).await.unwrap().text, "Hi");
    assert_eq!(server.asked().len(), 4);
    assert_eq!(server.bodies()[3]["max_completion_tokens"], 100);
}

#[tokio::test]
async fn f60_an_answer_of_another_shape_is_garbage() {
    for kind in DIALECTS {
        let server = ModelServer::answering(|_| Reply::text(r#"{"steps":"one"}"#)).await;
        let turn = client(&server, kind).turn(&planning()).await.unwrap();
        let refused = json::read::<Plan>(&turn.text).unwrap_err().to_string();
        assert!(
            refused.contains("steps: invalid type") && refused.contains(r#"{"steps":"one"}"#),
            "{refused}"
        );
    }
}
