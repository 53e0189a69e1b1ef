//! Calls in plain words, for clients that sample text alone: the model answers with one JSON object.

use std::fmt::Write as _;

use portolan_llm::{Chat, LlmError, Message as Said, Outcome, Stop, ToolCall, ToolUse, Turn, Usage, json};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::blocks::{Block, Content, Message, Reply, garbage, no_arguments};
use super::{Params, USUAL_TOKENS, bound};

const PROTOCOL: &str = r#"
Answer with exactly one JSON object, and nothing before or after it. It is one of:
{"tool": "NAME", "arguments": {…}} to call one tool;
{"tools": [{"tool": "NAME", "arguments": {…}}, …]} to call several that do not depend on each other;
{"answer": "…"} to give the final answer, as text.
The results of calls come with the next message."#;

const ANSWER_NOW: &str = r#"
No more tools can be called. Answer with exactly one JSON object, and nothing before or after it: {"answer": "…"}"#;

/// One message of a conversation in words.
pub(super) struct Spoken {
    role: &'static str,
    text: String,
}

pub(super) fn said(role: &'static str, text: String) -> Spoken {
    Spoken { role, text }
}

pub(super) fn complaint(reason: &str) -> String {
    format!("That could not be used: {reason}.\n{PROTOCOL}")
}

/// The system prompt with the tools in it, and how to call them.
pub(super) fn system(chat: &Chat) -> String {
    let mut prompt = bound(chat).into_owned();
    match chat.tool_use {
        ToolUse::Free => {
            prompt.push_str("\n\nThe tools, with the JSON schemas of their arguments:\n");
            for tool in &chat.tools {
                // Writing to a string cannot fail.
                let _ = writeln!(prompt, "- {}: {}\n  {}", tool.name, tool.description, tool.parameters);
            }
            prompt.push_str(PROTOCOL);
        }
        ToolUse::Over => prompt.push_str(ANSWER_NOW),
    }
    prompt
}

/// The conversation so far. Two messages of one side in a row are none that every model takes, so calls and results are
/// turns like all others.
pub(super) fn messages(chat: &Chat) -> Vec<Spoken> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut messages = Vec::with_capacity(chat.messages.len());
    for message in &chat.messages {
        messages.push(match message {
            Said::User(text) => said("user", text.clone()),
            Said::Assistant { text, calls } if calls.is_empty() => said("assistant", text.clone()),
            Said::Assistant { calls, .. } => {
                names = calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
                let calls: Vec<String> = calls.iter().map(again).collect();
                said("assistant", format!(r#"{{"tools": [{}]}}"#, calls.join(", ")))
            }
            Said::Results(results) => {
                let name =
                    |id: &str| names.iter().find(|(call, _)| *call == id).map_or("a tool", |(_, name)| *name);
                let told = results.iter().map(|result| match result.outcome {
                    Outcome::Done => format!("Result of {}:\n{}", name(&result.call), result.text),
                    Outcome::Failed => format!("{} failed:\n{}", name(&result.call), result.text),
                });
                said("user", told.collect::<Vec<_>>().join("\n\n"))
            }
        });
    }
    messages
}

fn again(call: &ToolCall) -> String {
    let name = serde_json::to_string(&call.name).unwrap_or_default();
    format!(r#"{{"tool": {name}, "arguments": {}}}"#, call.arguments)
}

pub(super) fn params<'a>(system: &'a str, messages: &'a [Spoken], chat: &Chat) -> Params<'a> {
    let message = |spoken: &'a Spoken| Message {
        role: spoken.role,
        content: Content::One(Block::Text { text: &spoken.text }),
    };
    Params {
        messages: messages.iter().map(message).collect(),
        system_prompt: system,
        max_tokens: chat.max_tokens.unwrap_or(USUAL_TOKENS),
        tools: Vec::new(),
        tool_choice: None,
    }
}

/// What the model means.
#[derive(Debug)]
pub(super) enum Meant {
    Calls(Vec<ToolCall>),
    Answer(String),
}

/// Models call the same thing by several names.
#[derive(Deserialize)]
struct Object {
    #[serde(alias = "name", alias = "tool_name")]
    tool: Option<String>,
    #[serde(alias = "args", alias = "input", alias = "parameters")]
    arguments: Option<Box<RawValue>>,
    #[serde(alias = "tool_calls", alias = "calls")]
    tools: Option<Vec<Wish>>,
    #[serde(alias = "final_answer", alias = "response")]
    answer: Option<Value>,
}

#[derive(Deserialize)]
struct Wish {
    #[serde(alias = "name", alias = "tool_name")]
    tool: String,
    #[serde(alias = "args", alias = "input", alias = "parameters")]
    arguments: Option<Box<RawValue>>,
}

/// Garbage where it is neither calls nor an answer. When it is time to answer, plain words are one.
pub(super) fn read(reply: &Reply, chat: &Chat) -> Result<Meant, LlmError> {
    match (understood(&reply.text), chat.tool_use) {
        (Err(LlmError::Garbage { .. }), ToolUse::Over) if !reply.text.trim().is_empty() => {
            Ok(Meant::Answer(reply.text.trim().to_owned()))
        }
        (meant, ToolUse::Free | ToolUse::Over) => meant,
    }
}

/// The same after a complaint: a model that speaks in plain words again means them.
pub(super) fn read_at_last(reply: &Reply, chat: &Chat) -> Result<Meant, LlmError> {
    let is_prose = !reply.text.trim().is_empty() && !reply.text.contains('{');
    match read(reply, chat) {
        Err(LlmError::Garbage { .. }) if is_prose => Ok(Meant::Answer(reply.text.trim().to_owned())),
        meant => meant,
    }
}

fn understood(text: &str) -> Result<Meant, LlmError> {
    let object = json::object(text)?;
    let object: Object = serde_json::from_str(object).map_err(|error| garbage(error.to_string(), text))?;
    let wishes = match (object.tools, object.tool) {
        (Some(tools), _) if !tools.is_empty() => tools,
        (_, Some(tool)) => vec![Wish { tool, arguments: object.arguments }],
        (_, None) => Vec::new(),
    };
    match (wishes.is_empty(), object.answer) {
        (false, _) => Ok(Meant::Calls((0..).zip(wishes).map(|(at, wish)| call(at, wish)).collect())),
        (true, Some(Value::String(answer))) => Ok(Meant::Answer(answer)),
        (true, Some(answer)) if !answer.is_null() => Ok(Meant::Answer(answer.to_string())),
        (true, _) => Err(garbage("it has neither `tool`, `tools` nor `answer`".to_owned(), text)),
    }
}

fn call(at: usize, wish: Wish) -> ToolCall {
    ToolCall {
        id: format!("call_{at}"),
        name: wish.tool,
        arguments: wish.arguments.unwrap_or_else(no_arguments),
    }
}

impl Meant {
    pub(super) fn into_turn(self, reply: &Reply, usage: Usage) -> Turn {
        match self {
            Self::Calls(tool_calls) => Turn { text: String::new(), tool_calls, stop: Stop::Tools, usage },
            Self::Answer(text) => Turn { text, tool_calls: Vec::new(), stop: reply.stop(), usage },
        }
    }
}
