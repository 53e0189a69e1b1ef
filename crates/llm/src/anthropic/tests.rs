//! Requests and answers of Anthropic's dialect, without a server.

use super::*;
use crate::chat::{ToolResult, ToolSpec};
use serde_json::{Value, json};

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn call(id: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "find".to_owned(), arguments: raw(arguments) }
}

fn result(id: &str, outcome: Outcome) -> ToolResult {
    ToolResult { call: id.to_owned(), text: "none".to_owned(), outcome }
}

fn find() -> ToolSpec {
    ToolSpec {
        name: "find".to_owned(),
        description: "Finds.".to_owned(),
        parameters: raw(&json!({ "type": "object" })),
    }
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
                text: "Looking.".to_owned(),
                calls: vec![call("a", &json!({ "q": 1 })), call("b", &json!("{q"))],
            },
            Said::Results(vec![result("a", Outcome::Done), result("b", Outcome::Failed)]),
        ],
        tools: vec![find()],
        tool_use: ToolUse::Over,
        ..Chat::default()
    };
    let expected = json!({
        "model": "m",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Where?" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Looking." },
                { "type": "tool_use", "id": "a", "name": "find", "input": { "q": 1 } },
                { "type": "tool_use", "id": "b", "name": "find", "input": { "arguments": "{q" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": "none" },
                { "type": "tool_result", "tool_use_id": "b", "content": "none", "is_error": true },
            ] },
        ],
        "tools": [{ "name": "find", "description": "Finds.", "input_schema": { "type": "object" } }],
        "tool_choice": { "type": "none" },
        "temperature": 0,
    });
    assert_eq!(request(&chat, Manners::default()), expected);
}

fn bound_chat(tools: Vec<ToolSpec>) -> Chat {
    let answer = Answer::Object { name: "plan".to_owned(), schema: raw(&json!({ "type": "object" })) };
    Chat { tools, answer, ..Chat::default() }
}

fn manners(binding: Binding) -> Manners {
    Manners { binding, ..Manners::default() }
}

#[test]
fn an_answer_is_bound_as_far_as_the_provider_goes_along() {
    let strong = request(&bound_chat(vec![]), manners(Binding::Schema));
    let format = json!({ "format": { "type": "json_schema", "schema": { "type": "object" } } });
    assert_eq!(strong["output_config"], format);
    assert_eq!(strong.get("tools"), None);
    let weaker = request(&bound_chat(vec![]), manners(Binding::Object));
    assert_eq!(weaker.get("output_config"), None);
    assert_eq!(weaker["tool_choice"], json!({ "type": "tool", "name": "answer" }));
    assert_eq!(weaker["tools"][0]["input_schema"], json!({ "type": "object" }));
    let weakest = request(&bound_chat(vec![]), manners(Binding::Prompt));
    assert_eq!(weakest.get("tool_choice"), None);
    for request in [strong, weaker, weakest] {
        assert!(request["system"].as_str().unwrap().ends_with(r#"{"type":"object"}"#), "{request}");
    }
}

#[test]
fn beside_other_tools_no_answer_is_forced() {
    let request = request(&bound_chat(vec![find()]), manners(Binding::Object));
    assert_eq!(request["tools"][0]["name"], "find");
    assert_eq!(request.get("tool_choice"), None);
}

fn answer(content: &Value, stop: &str, chat: &Chat, manners: Manners) -> Result<Turn, LlmError> {
    let body = json!({ "content": content, "stop_reason": stop, "usage": {
        "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3,
    } });
    read(body.to_string().as_bytes(), 30, chat, manners)
}

#[test]
fn an_answer_through_the_forced_tool_is_a_text_like_any_other() {
    let content = json!([{ "type": "tool_use", "id": "x", "name": "answer", "input": { "id": 7 } }]);
    let turn = answer(&content, "tool_use", &bound_chat(vec![]), manners(Binding::Object)).unwrap();
    assert_eq!((turn.text.as_str(), turn.tool_calls.len()), (r#"{"id":7}"#, 0));
    assert_eq!(turn.stop, Stop::End);
    assert_eq!(turn.usage, Usage { input: 13, output: 5 });
}

#[track_caller]
fn check_stop(content: &Value, stop: &str, expected: &Stop) {
    let turn = answer(content, stop, &Chat::default(), Manners::default()).unwrap();
    assert_eq!(&turn.stop, expected, "{content} {stop}");
}

#[test]
fn why_the_model_stopped_is_told_in_one_s_own_words() {
    let said = json!([{ "type": "thinking", "thinking": "…" }, { "type": "text", "text": "Hi" }]);
    let calling = json!([{ "type": "tool_use", "id": "x", "name": "find", "input": {} }]);
    check_stop(&said, "end_turn", &Stop::End);
    check_stop(&said, "stop_sequence", &Stop::End);
    check_stop(&said, "max_tokens", &Stop::Length);
    check_stop(&said, "refusal", &Stop::Refused);
    check_stop(&said, "pause_turn", &Stop::Other("pause_turn".to_owned()));
    check_stop(&calling, "tool_use", &Stop::Tools);
    check_stop(&calling, "max_tokens", &Stop::Length);
}

#[test]
fn f60_what_is_no_message_is_garbage() {
    for body in ["", "<html>", "{}", r#"{"content":"Hi"}"#, r#"{"content":[{"type":"tool_use","id":"x"}]}"#] {
        let refused = read(body.as_bytes(), 0, &Chat::default(), Manners::default()).unwrap_err();
        assert!(matches!(refused, LlmError::Garbage { .. }), "{body}: {refused}");
    }
}

#[test]
fn tokens_that_are_not_told_are_estimated() {
    let turn = read(br#"{"content":[]}"#, 30, &Chat::default(), Manners::default()).unwrap();
    assert_eq!(turn.usage, Usage { input: 10, output: 5 });
}
