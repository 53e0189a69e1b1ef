//! The two dialects of chat, as the scripted provider writes and reads them.

use serde_json::{Value, json};

use super::Wanted;

/// What the model says and wants called.
pub(super) fn turn(
    wanted: Wanted,
    text: &str,
    calls: &[(String, Value)],
    usage: Option<(u64, u64)>,
    stop: Option<String>,
) -> Value {
    match wanted {
        Wanted::OpenAiChat => openai(text, calls, usage, stop),
        Wanted::AnthropicChat => anthropic(text, calls, usage, stop),
        Wanted::Embeddings => panic!("a turn was scripted, but embeddings were asked for"),
    }
}

pub(super) fn refusal(wanted: Wanted, message: &str) -> Value {
    match wanted {
        Wanted::OpenAiChat | Wanted::Embeddings => {
            json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } })
        }
        Wanted::AnthropicChat => {
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
        }
    }
}

fn openai(text: &str, calls: &[(String, Value)], usage: Option<(u64, u64)>, stop: Option<String>) -> Value {
    let stop = stop.unwrap_or_else(|| if calls.is_empty() { "stop" } else { "tool_calls" }.to_owned());
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        let call = |(at, (name, arguments)): (usize, &(String, Value))| {
            // Arguments that are a string are passed as they are: so garbage can be scripted.
            let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            json!({ "id": id(at), "type": "function", "function": { "name": name, "arguments": arguments } })
        };
        message["tool_calls"] = calls.iter().enumerate().map(call).collect();
        if text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    let mut answer = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "scripted",
        "choices": [{ "index": 0, "message": message, "finish_reason": stop }],
    });
    if let Some((input, output)) = usage {
        let total = input + output;
        answer["usage"] =
            json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": total });
    }
    answer
}

fn anthropic(
    text: &str,
    calls: &[(String, Value)],
    usage: Option<(u64, u64)>,
    stop: Option<String>,
) -> Value {
    let stop = stop.unwrap_or_else(|| if calls.is_empty() { "end_turn" } else { "tool_use" }.to_owned());
    let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    let calls = calls.iter().enumerate().map(
        |(at, (name, arguments))| json!({ "type": "tool_use", "id": id(at), "name": name, "input": arguments }),
    );
    let content: Vec<Value> = text.into_iter().chain(calls).collect();
    let mut answer = json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": stop,
    });
    if let Some((input, output)) = usage {
        answer["usage"] = json!({ "input_tokens": input, "output_tokens": output });
    }
    answer
}

fn id(at: usize) -> String {
    format!("call-{at}")
}

/// The last thing that was said to the model.
pub(super) fn last(body: &Value) -> String {
    let Some(message) = body["messages"].as_array().and_then(|messages| messages.last()) else {
        return String::new();
    };
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let block = blocks.last().unwrap_or(&Value::Null);
            let text = block.get("text").or_else(|| block.get("content")).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}
