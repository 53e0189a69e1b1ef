//! The dialect that OpenAI began: `chat/completions`.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::LlmError;
use crate::chat::{
    Answer, Chat, Message as Said, Outcome, Stop, ToolCall, ToolSpec, ToolUse, Turn, Usage, is_object,
    no_arguments, tokens_of,
};
use crate::concession::{Binding, LimitName, Manners, Temperature, system};
use crate::excerpt::excerpt;

#[derive(Serialize)]
pub(crate) struct Request<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<u8>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallAgain<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

#[derive(Serialize)]
struct CallAgain<'a> {
    id: &'a str,
    r#type: &'static str,
    function: FunctionAgain<'a>,
}

#[derive(Serialize)]
struct FunctionAgain<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { json_schema: Bound<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct Bound<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Choice {
    message: Reply,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Reply {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Wanted,
}

#[derive(Deserialize)]
struct Wanted {
    name: String,
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(model: &'a str, chat: &'a Chat, max_tokens: u32, manners: Manners) -> Self {
        let (max_tokens, max_completion_tokens) = match manners.limit {
            LimitName::MaxTokens => (Some(max_tokens), None),
            LimitName::MaxCompletionTokens => (None, Some(max_tokens)),
        };
        let temperature = match manners.temperature {
            Temperature::Zero => Some(0),
            Temperature::LeftOut => None,
        };
        Self {
            model,
            messages: messages(chat),
            tools: tools(chat),
            tool_choice: tool_choice(chat),
            response_format: format(&chat.answer, manners.binding),
            max_tokens,
            max_completion_tokens,
            temperature,
        }
    }
}

fn messages(chat: &Chat) -> Vec<Message<'_>> {
    let mut messages = Vec::with_capacity(chat.messages.len() + 1);
    let content = system(chat);
    if !content.is_empty() {
        messages.push(Message::System { content });
    }
    for said in &chat.messages {
        match said {
            Said::User(text) => messages.push(Message::User { content: text }),
            Said::Assistant { text, calls } => {
                let content = Some(text.as_str()).filter(|text| !text.is_empty() || calls.is_empty());
                messages.push(Message::Assistant { content, tool_calls: calls.iter().map(again).collect() });
            }
            Said::Results(results) => {
                messages.extend(results.iter().map(|result| Message::Tool {
                    tool_call_id: &result.call,
                    // There is no field that says so.
                    content: match result.outcome {
                        Outcome::Done => result.text.clone(),
                        Outcome::Failed => format!("Error: {}", result.text),
                    },
                }));
            }
        }
    }
    messages
}

fn again(call: &ToolCall) -> CallAgain<'_> {
    let arguments = call.arguments_again();
    CallAgain { id: &call.id, r#type: "function", function: FunctionAgain { name: &call.name, arguments } }
}

fn tools<'a>(chat: &'a Chat) -> Vec<Tool<'a>> {
    let tool = |tool: &'a ToolSpec| {
        let ToolSpec { name, description, parameters } = tool;
        Tool { r#type: "function", function: Function { name, description, parameters } }
    };
    chat.tools.iter().map(tool).collect()
}

fn tool_choice(chat: &Chat) -> Option<&'static str> {
    match chat.tool_use {
        ToolUse::Free => None,
        ToolUse::Over => (!chat.tools.is_empty()).then_some("none"),
    }
}

fn format(answer: &Answer, binding: Binding) -> Option<Format<'_>> {
    match (answer, binding) {
        (Answer::Text, _) | (Answer::Object { .. }, Binding::Prompt) => None,
        (Answer::Object { name, schema }, Binding::Schema) => {
            Some(Format::JsonSchema { json_schema: Bound { name, strict: true, schema } })
        }
        (Answer::Object { .. }, Binding::Object) => Some(Format::JsonObject),
    }
}

/// The turn in an answer to a request of `asked` bytes.
pub(crate) fn read(body: &[u8], asked: usize) -> Result<Turn, LlmError> {
    let garbage =
        |reason: String| LlmError::Garbage { reason, excerpt: excerpt(&String::from_utf8_lossy(body)) };
    let completion: Completion = serde_json::from_slice(body).map_err(|error| garbage(error.to_string()))?;
    let Some(Choice { message, finish_reason }) = completion.choices.into_iter().next() else {
        return Err(garbage("it holds no choice".to_owned()));
    };
    let Reply { content, refusal, tool_calls } = message;
    let refusal = refusal.filter(|words| !words.is_empty());
    let tool_calls: Vec<ToolCall> =
        tool_calls.unwrap_or_default().into_iter().enumerate().map(|(at, call)| wish(at, call)).collect();
    let stop = match finish_reason.as_deref() {
        Some("content_filter") => Stop::Refused,
        _ if refusal.is_some() => Stop::Refused,
        Some("length") => Stop::Length,
        // Some say `stop` beside their calls.
        _ if !tool_calls.is_empty() => Stop::Tools,
        None | Some("stop" | "tool_calls" | "function_call" | "eos" | "") => Stop::End,
        Some(other) => Stop::Other(excerpt(other)),
    };
    let text = content.or(refusal).unwrap_or_default();
    let (input, output) =
        completion.usage.map_or((None, None), |counted| (counted.prompt_tokens, counted.completion_tokens));
    let usage = Usage {
        input: input.unwrap_or_else(|| tokens_of(asked)),
        output: output.unwrap_or_else(|| tokens_of(body.len())),
    };
    Ok(Turn { text, tool_calls, stop, usage })
}

fn wish(at: usize, call: Call) -> ToolCall {
    let Wanted { name, arguments } = call.function;
    // Providers that leave the id out do not look at it again.
    let id = call.id.filter(|id| !id.is_empty()).unwrap_or_else(|| format!("call_{at}"));
    ToolCall { id, name, arguments: arguments.map_or_else(no_arguments, arguments_of) }
}

/// They come as JSON inside of a string. Some providers send the object itself, and a tool without arguments may get an
/// empty string. What is no JSON stays the string that it was.
fn arguments_of(written: Box<RawValue>) -> Box<RawValue> {
    match serde_json::from_str::<Option<String>>(written.get()) {
        Ok(Some(text)) if !text.trim().is_empty() => match RawValue::from_string(text.trim().to_owned()) {
            Ok(inner) if is_object(&inner) => inner,
            Ok(_) | Err(_) => written,
        },
        Ok(_) => no_arguments(),
        Err(_) => written,
    }
}
