//! Sampling as MCP 2025-11-25 writes it: content blocks, calls and their results among them.

use portolan_llm::{Chat, LlmError, Message as Said, Outcome, Stop, ToolCall, ToolUse, Turn, Usage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Params, USUAL_TOKENS};
use crate::shorten::beginning;

/// What an error quotes.
const EXCERPT: usize = 400;

#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a>,
}

/// Older clients know one block a message; several stand only where calls and results are.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    One(Block<'a>),
    Many(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Object<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: [Text<'a>; 1],
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
pub(super) struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// Arguments as an object, whatever the model wrote.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Object<'a> {
    AsItIs(&'a RawValue),
    Wrapped { arguments: &'a RawValue },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
pub(super) struct Choice {
    mode: &'static str,
}

pub(super) fn params<'a>(system: &'a str, chat: &'a Chat) -> Params<'a> {
    let tools = chat.tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
    });
    let mode = match chat.tool_use {
        ToolUse::Free => "auto",
        ToolUse::Over => "none",
    };
    Params {
        messages: chat.messages.iter().map(message).collect(),
        system_prompt: system,
        max_tokens: chat.max_tokens.unwrap_or(USUAL_TOKENS),
        tools: tools.collect(),
        tool_choice: (!chat.tools.is_empty()).then_some(Choice { mode }),
    }
}

fn message(said: &Said) -> Message<'_> {
    match said {
        Said::User(text) => Message { role: "user", content: Content::One(Block::Text { text }) },
        Said::Assistant { text, calls } => {
            let text = (!text.is_empty() || calls.is_empty()).then_some(Block::Text { text });
            let calls = calls.iter().map(|call| Block::ToolUse {
                id: &call.id,
                name: &call.name,
                input: input(call),
            });
            Message { role: "assistant", content: Content::Many(text.into_iter().chain(calls).collect()) }
        }
        // Results stand in a message of their own, and nothing else in it.
        Said::Results(results) => {
            let results = results.iter().map(|result| Block::ToolResult {
                tool_use_id: &result.call,
                content: [Text { r#type: "text", text: &result.text }],
                is_error: result.outcome == Outcome::Failed,
            });
            Message { role: "user", content: Content::Many(results.collect()) }
        }
    }
}

fn input(call: &ToolCall) -> Object<'_> {
    match call.complaint() {
        None => Object::AsItIs(&call.arguments),
        Some(_) => Object::Wrapped { arguments: &call.arguments },
    }
}

/// What a client answered.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) model: Option<String>,
    /// How long it was.
    pub(super) bytes: usize,
    calls: Vec<ToolCall>,
    stop: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    content: Box<RawValue>,
    model: Option<String>,
    stop_reason: Option<String>,
}

/// A block. There are kinds that are none of ours.
#[derive(Deserialize)]
struct Piece {
    r#type: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

pub(super) fn read(answer: &RawValue) -> Result<Reply, LlmError> {
    let unreadable = |error: serde_json::Error| garbage(error.to_string(), answer.get());
    let sampled: Sampled = serde_json::from_str(answer.get()).map_err(unreadable)?;
    let content = sampled.content.get();
    let pieces: Vec<Piece> = if content.starts_with('[') {
        serde_json::from_str(content).map_err(unreadable)?
    } else {
        vec![serde_json::from_str(content).map_err(unreadable)?]
    };
    let mut text = String::new();
    let mut calls = Vec::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        match piece.r#type.as_str() {
            "text" => text.push_str(&piece.text.unwrap_or_default()),
            "tool_use" => {
                let call =
                    wish(at, piece).ok_or_else(|| garbage("a call has no name".to_owned(), answer.get()))?;
                calls.push(call);
            }
            _ => {}
        }
    }
    let model = sampled.model.filter(|model| !model.is_empty());
    Ok(Reply { text, model, bytes: answer.get().len(), calls, stop: sampled.stop_reason })
}

fn wish(at: usize, piece: Piece) -> Option<ToolCall> {
    let id = piece.id.unwrap_or_else(|| format!("call_{at}"));
    Some(ToolCall { id, name: piece.name?, arguments: piece.input.unwrap_or_else(no_arguments) })
}

impl Reply {
    pub(super) fn into_turn(self, usage: Usage) -> Turn {
        let stop = self.stop();
        let stop = if !self.calls.is_empty() && stop != Stop::Length { Stop::Tools } else { stop };
        Turn { text: self.text, tool_calls: self.calls, stop, usage }
    }

    pub(super) fn stop(&self) -> Stop {
        match self.stop.as_deref() {
            Some("maxTokens") => Stop::Length,
            None | Some("endTurn" | "stopSequence" | "toolUse") => Stop::End,
            Some(other) => Stop::Other(beginning(other, EXCERPT).into_owned()),
        }
    }
}

/// `{}`, for calls that say nothing.
pub(super) fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

pub(super) fn garbage(reason: String, answer: &str) -> LlmError {
    let excerpt: String = beginning(answer.trim(), EXCERPT).replace(char::is_control, " ");
    LlmError::Garbage { reason, excerpt }
}
