//! Anthropic's dialect: `v1/messages`.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::LlmError;
use crate::chat::{
    Answer, Chat, Message as Said, Outcome, Stop, ToolCall, ToolUse, Turn, Usage, no_arguments, tokens_of,
};
use crate::concession::{Binding, Manners, Temperature, system};
use crate::excerpt::excerpt;

/// What the tool is called that an answer has to be given through, where the provider cannot bind it otherwise.
const ANSWER_TOOL: &str = "answer";

#[derive(Serialize)]
pub(crate) struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    system: String,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<u8>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    None,
    Tool { name: &'static str },
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: &'a RawValue,
}

#[derive(Deserialize)]
struct Reply {
    content: Vec<Piece>,
    stop_reason: Option<String>,
    usage: Option<Counted>,
}

/// A block of the answer. There are kinds that are none of ours, thoughts for instance.
#[derive(Deserialize)]
struct Piece {
    r#type: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Counted {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    /// What was written to or read from the provider's cache is not in `input`.
    #[serde(rename = "cache_creation_input_tokens")]
    cache_written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(model: &'a str, chat: &'a Chat, max_tokens: u32, manners: Manners) -> Self {
        let (tools, tool_choice) = tools(chat, manners.binding);
        let output_config = match (&chat.answer, manners.binding) {
            (Answer::Object { schema, .. }, Binding::Schema) => {
                Some(OutputConfig { format: Format { r#type: "json_schema", schema } })
            }
            (Answer::Object { .. }, Binding::Object | Binding::Prompt) | (Answer::Text, _) => None,
        };
        let temperature = match manners.temperature {
            Temperature::Zero => Some(0),
            Temperature::LeftOut => None,
        };
        Self {
            model,
            max_tokens,
            system: system(chat),
            messages: chat.messages.iter().map(message).collect(),
            tools,
            tool_choice,
            output_config,
            temperature,
        }
    }
}

fn message(said: &Said) -> Message<'_> {
    match said {
        Said::User(text) => Message { role: "user", content: vec![Block::Text { text }] },
        Said::Assistant { text, calls } => {
            // An empty text is refused.
            let text = (!text.is_empty()).then_some(Block::Text { text });
            let content = text.into_iter().chain(calls.iter().map(again)).collect();
            Message { role: "assistant", content }
        }
        // All results of a turn belong into one message, or the model unlearns to call several tools at once.
        Said::Results(results) => {
            let content = results.iter().map(|result| Block::ToolResult {
                tool_use_id: &result.call,
                content: &result.text,
                is_error: result.outcome == Outcome::Failed,
            });
            Message { role: "user", content: content.collect() }
        }
    }
}

fn again(call: &ToolCall) -> Block<'_> {
    let input = RawValue::from_string(call.arguments_again()).unwrap_or_else(|_| no_arguments());
    Block::ToolUse { id: &call.id, name: &call.name, input }
}

fn tools(chat: &Chat, binding: Binding) -> (Vec<Tool<'_>>, Option<Choice>) {
    if let Some(schema) = answer_tool(chat, binding) {
        let description = "Gives the answer.";
        let tool = Tool { name: ANSWER_TOOL, description, input_schema: schema };
        return (vec![tool], Some(Choice::Tool { name: ANSWER_TOOL }));
    }
    let tools = chat.tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
    });
    let choice = match chat.tool_use {
        ToolUse::Free => None,
        ToolUse::Over => (!chat.tools.is_empty()).then_some(Choice::None),
    };
    (tools.collect(), choice)
}

/// The schema of the tool that the model has to answer through. Beside other tools it would forbid those, so there the
/// prompt has to do.
fn answer_tool(chat: &Chat, binding: Binding) -> Option<&RawValue> {
    match (&chat.answer, binding) {
        (Answer::Object { schema, .. }, Binding::Object) if chat.tools.is_empty() => Some(schema),
        (Answer::Object { .. } | Answer::Text, _) => None,
    }
}

/// The turn in an answer to a request of `asked` bytes.
pub(crate) fn read(body: &[u8], asked: usize, chat: &Chat, manners: Manners) -> Result<Turn, LlmError> {
    let garbage =
        |reason: String| LlmError::Garbage { reason, excerpt: excerpt(&String::from_utf8_lossy(body)) };
    let reply: Reply = serde_json::from_slice(body).map_err(|error| garbage(error.to_string()))?;
    let is_through_tool = answer_tool(chat, manners.binding).is_some();
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for (at, piece) in reply.content.into_iter().enumerate() {
        match piece.r#type.as_str() {
            "text" => text.push_str(&piece.text.unwrap_or_default()),
            "tool_use" => {
                let call = wish(at, piece).ok_or_else(|| garbage("a call has no name".to_owned()))?;
                tool_calls.push(call);
            }
            _ => {}
        }
    }
    if is_through_tool && let Some(answer) = tool_calls.iter().find(|call| call.name == ANSWER_TOOL) {
        answer.arguments.get().clone_into(&mut text);
        tool_calls.clear();
    }
    let stop = match reply.stop_reason.as_deref() {
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Refused,
        _ if !tool_calls.is_empty() => Stop::Tools,
        None | Some("end_turn" | "stop_sequence" | "tool_use") => Stop::End,
        Some(other) => Stop::Other(excerpt(other)),
    };
    let usage = used(reply.usage, asked, body.len());
    Ok(Turn { text, tool_calls, stop, usage })
}

fn wish(at: usize, piece: Piece) -> Option<ToolCall> {
    let id = piece.id.unwrap_or_else(|| format!("call_{at}"));
    Some(ToolCall { id, name: piece.name?, arguments: piece.input.unwrap_or_else(no_arguments) })
}

fn used(counted: Option<Counted>, asked: usize, answered: usize) -> Usage {
    let estimate = Usage { input: tokens_of(asked), output: tokens_of(answered) };
    let Some(counted) = counted else { return estimate };
    let cached = [counted.cache_written, counted.cache_read];
    let input = counted.input.map(|fresh| cached.into_iter().flatten().fold(fresh, u64::saturating_add));
    Usage { input: input.unwrap_or(estimate.input), output: counted.output.unwrap_or(estimate.output) }
}
