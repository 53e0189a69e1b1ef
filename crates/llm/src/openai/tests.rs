//! Requests and answers of the OpenAI dialect, without a server.

use super::*;
use crate::chat::ToolResult;
use serde_json::{Value, json};

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// The arguments are given as the JSON that a `ToolCall` holds.
fn call(id: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "find".to_owned(), arguments: raw(arguments) }
}

fn result(id: &str, outcome: Outcome) -> ToolResult {
    ToolResult { call: id.to_owned(), text: "none".to_owned(), outcome }
}

fn request(chat: &Chat, manners: Manners) -> Value {
    serde_json::to_value(Request::new("m", chat, 100, manners)).unwrap()
}

#[test]
fn a_conversation_with_tools_is_written_as_the_dialect_has_it() {
    let chat = Chat {
        system: "Be brief.".to_owned(),
        messages: vec![
            Said::User("Where?".to_owned()),
            Said::Assistant {
                text: String::new(),
                calls: vec![call("a", &json!({ "q": 1 })), call("b", &json!("{q"))],
            },
            Said::Results(vec![result("a", Outcome::Done), result("b", Outcome::Failed)]),
        ],
        tools: vec![ToolSpec {
            name: "find".to_owned(),
            description: "Finds.".to_owned(),
            parameters: raw(&json!({ "type": "object" })),
        }],
        tool_use: ToolUse::Over,
        ..Chat::default()
    };
    let function = |arguments: &str| json!({ "name": "find", "arguments": arguments });
    let expected = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Where?" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "a", "type": "function", "function": function(r#"{"q":1}"#) },
                { "id": "b", "type": "function", "function": function(r#"{"arguments":"{q"}"#) },
            ] },
            { "role": "tool", "tool_call_id": "a", "content": "none" },
            { "role": "tool", "tool_call_id": "b", "content": "Error: none" },
        ],
        "tools": [{ "type": "function", "function": {
            "name": "find", "description": "Finds.", "parameters": { "type": "object" },
        } }],
        "tool_choice": "none",
        "max_tokens": 100,
        "temperature": 0,
    });
    assert_eq!(request(&chat, Manners::default()), expected);
}

#[test]
fn an_answer_is_bound_as_far_as_the_provider_goes_along() {
    let answer = Answer::Object { name: "plan".to_owned(), schema: raw(&json!({ "type": "object" })) };
    let chat = Chat { answer, messages: vec![Said::User("Plan.".to_owned())], ..Chat::default() };
    let bound = |binding| request(&chat, Manners { binding, ..Manners::default() });
    let schema = json!({ "name": "plan", "strict": true, "schema": { "type": "object" } });
    let strong = bound(Binding::Schema);
    assert_eq!(strong["response_format"], json!({ "type": "json_schema", "json_schema": schema }));
    let weaker = bound(Binding::Object);
    assert_eq!(weaker["response_format"], json!({ "type": "json_object" }));
    let weakest = bound(Binding::Prompt);
    assert_eq!(weakest.get("response_format"), None);
    for request in [strong, weaker, weakest] {
        let system = &request["messages"][0];
        assert_eq!(system["role"], "system");
        assert!(system["content"].as_str().unwrap().ends_with(r#"{"type":"object"}"#), "{system}");
    }
}

#[test]
fn what_a_model_does_not_take_is_left_out() {
    let manners = Manners {
        temperature: Temperature::LeftOut,
        limit: LimitName::MaxCompletionTokens,
        ..Manners::default()
    };
    let expected = json!({ "model": "m", "messages": [], "max_completion_tokens": 100 });
    assert_eq!(request(&Chat::default(), manners), expected);
}

fn answer(message: &Value, finish_reason: &Value) -> Turn {
    let body = json!({ "choices": [{ "message": message, "finish_reason": finish_reason }] });
    read(body.to_string().as_bytes(), 30).unwrap()
}

#[track_caller]
fn check_stop(message: &Value, finish_reason: &Value, expected: &Stop) {
    assert_eq!(&answer(message, finish_reason).stop, expected, "{message} {finish_reason}");
}

#[test]
fn why_the_model_stopped_is_told_in_one_s_own_words() {
    let said = json!({ "content": "Hi" });
    let calling = json!({ "content": null, "tool_calls": [{ "function": { "name": "find" } }] });
    check_stop(&said, &json!("stop"), &Stop::End);
    check_stop(&said, &json!(null), &Stop::End);
    check_stop(&json!({ "content": "Hi", "refusal": "" }), &json!("stop"), &Stop::End);
    check_stop(&said, &json!("length"), &Stop::Length);
    check_stop(&said, &json!("content_filter"), &Stop::Refused);
    check_stop(
        &said,
        &json!("insufficient_system_resource"),
        &Stop::Other("insufficient_system_resource".into()),
    );
    check_stop(&json!({ "content": null, "refusal": "No." }), &json!("stop"), &Stop::Refused);
    check_stop(&calling, &json!("tool_calls"), &Stop::Tools);
    check_stop(&calling, &json!("stop"), &Stop::Tools);
    check_stop(&calling, &json!("length"), &Stop::Length);
}

#[track_caller]
fn check_arguments(written: &Value, expected: &str) {
    let message =
        json!({ "tool_calls": [{ "id": "", "function": { "name": "find", "arguments": written } }] });
    let turn = answer(&message, &json!("tool_calls"));
    assert_eq!(turn.tool_calls[0].id, "call_0");
    assert_eq!(turn.tool_calls[0].arguments.get(), expected, "{written}");
}

#[test]
fn arguments_are_an_object_or_what_was_written_in_its_place() {
    check_arguments(&json!(r#" {"q": 1} "#), r#"{"q": 1}"#);
    check_arguments(&json!({ "q": 1 }), r#"{"q":1}"#);
    check_arguments(&json!(""), "{}");
    check_arguments(&json!(null), "{}");
    check_arguments(&json!("{q: 1"), r#""{q: 1""#);
    check_arguments(&json!("[1]"), r#""[1]""#);
}

#[test]
fn tokens_that_are_not_told_are_estimated() {
    let turn = answer(&json!({ "content": "Hi" }), &json!("stop"));
    assert_eq!(turn.usage.input, 10);
    assert!(turn.usage.output > 0);
}

#[test]
fn f60_what_is_no_completion_is_garbage() {
    for body in
        ["", "<html>", "{}", r#"{"choices":[]}"#, r#"{"choices":[{"message":{"content":7}}]}"#, "null"]
    {
        let refused = read(body.as_bytes(), 0).unwrap_err();
        assert!(matches!(refused, LlmError::Garbage { .. }), "{body}: {refused}");
    }
}
