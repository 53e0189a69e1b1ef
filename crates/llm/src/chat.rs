//! What a model is asked and what it answers, in words that no dialect has to itself.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;

use crate::LlmError;

/// A model that can be talked to: one of a provider, or a client's own by way of MCP sampling.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// The name that prices and traces go by.
    fn name(&self) -> &str;

    /// The next turn. Tool calls are wishes: whoever asked carries them out and goes on with their results.
    async fn turn(&self, chat: &Chat) -> Result<Turn, LlmError>;
}

/// One request, which holds the whole conversation so far. It is always asked at temperature 0, where the model has one.
#[derive(Debug, Clone, Default)]
pub struct Chat {
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub tool_use: ToolUse,
    pub answer: Answer,
    /// Fewer than the provider's own limit.
    pub max_tokens: Option<u32>,
    /// Less than the provider's own time, when whoever asks has less.
    pub within: Option<Duration>,
}

/// What the text of the answer has to be.
#[derive(Debug, Clone, Default)]
pub enum Answer {
    #[default]
    Text,
    /// One JSON object of this schema, by the provider's own means as far as they reach and by asking for it otherwise.
    /// So it is still to be checked: `json::read` does. Providers that bind strictly want every property listed in
    /// `required`, and `additionalProperties: false`.
    Object {
        /// Letters, digits, `_` and `-`.
        name: String,
        schema: Box<RawValue>,
    },
}

/// Whether the model may ask for tools in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolUse {
    #[default]
    Free,
    /// They stay listed, since earlier turns used them, but it is time to answer. Not every provider keeps to it.
    Over,
}

#[derive(Debug, Clone)]
pub enum Message {
    User(String),
    /// What the model said before, as its `Turn` had it.
    Assistant {
        text: String,
        calls: Vec<ToolCall>,
    },
    /// What came of all the calls of the turn before, in any order.
    Results(Vec<ToolResult>),
}

/// A tool as the model sees it.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Providers take `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Box<RawValue>,
}

/// A call that the model wants made.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// A JSON object. What the model wrote in place of one is kept as a JSON string, see `complaint`.
    pub arguments: Box<RawValue>,
}

#[derive(Debug, Clone)]
pub struct ToolResult {
    /// The `id` of the call.
    pub call: String,
    pub text: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed,
}

#[derive(Debug, Clone)]
pub struct Turn {
    pub text: String,
    pub tool_calls: Vec<ToolCall>,
    pub stop: Stop,
    pub usage: Usage,
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It has said what it had to say.
    End,
    /// It waits for the results of its calls.
    Tools,
    /// `max_tokens` or the model's own limit: what it said ends in the middle.
    Length,
    /// The provider or the model does not want to answer this.
    Refused,
    /// A word that is not known here.
    Other(String),
}

/// Tokens. A provider that does not say how many gets them estimated, so that budgets still hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

impl Usage {
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
        }
    }
}

impl ToolCall {
    /// What to tell the model instead of making the call, when its arguments are no object. A small model can mend that
    /// in its next turn.
    pub fn complaint(&self) -> Option<String> {
        (!is_object(&self.arguments)).then(|| {
            format!("The arguments of {} must be one JSON object. They were: {}", self.name, self.arguments)
        })
    }

    /// The arguments for telling the model what it did: servers read them again, and fail over what is no object.
    pub(crate) fn arguments_again(&self) -> String {
        if is_object(&self.arguments) {
            self.arguments.get().to_owned()
        } else {
            format!(r#"{{"arguments":{}}}"#, self.arguments)
        }
    }
}

impl Chat {
    /// What it takes at most: providers count after the fact, and a budget has to be asked before. Three bytes a token
    /// is more than any common text has.
    pub fn at_most(&self, max_tokens: u32) -> Usage {
        let tools = self
            .tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.get().len());
        let messages = self.messages.iter().map(Message::len);
        let schema = match &self.answer {
            Answer::Text => 0,
            Answer::Object { schema, .. } => schema.get().len(),
        };
        let bytes = self.system.len() + schema + tools.sum::<usize>() + messages.sum::<usize>();
        let output = self.max_tokens.map_or(max_tokens, |fewer| fewer.min(max_tokens));
        Usage { input: tokens_of(bytes), output: u64::from(output) }
    }
}

impl Message {
    fn len(&self) -> usize {
        match self {
            Self::User(text) => text.len(),
            Self::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| call.name.len() + call.arguments.get().len());
                text.len() + calls.sum::<usize>()
            }
            Self::Results(results) => results.iter().map(|result| result.text.len()).sum(),
        }
    }
}

/// An estimate that is rather too high than too low.
pub(crate) fn tokens_of(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX)
}

pub(crate) fn is_object(json: &RawValue) -> bool {
    json.get().starts_with('{')
}

/// `{}`, for calls that say nothing.
pub(crate) fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> ToolCall {
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        ToolCall { id: "c1".to_owned(), name: "find".to_owned(), arguments }
    }

    #[test]
    fn a_call_without_an_object_comes_with_words_for_the_model() {
        assert_eq!(call(r#"{"q":1}"#).complaint(), None);
        assert_eq!(
            call(r#""{q: 1""#).complaint().unwrap(),
            r#"The arguments of find must be one JSON object. They were: "{q: 1""#
        );
    }

    #[test]
    fn what_a_chat_takes_at_most_counts_all_of_it() {
        let chat = Chat {
            system: "x".repeat(30),
            messages: vec![
                Message::User("x".repeat(30)),
                Message::Assistant { text: "x".repeat(19), calls: vec![call(r#"{"q":1}"#)] },
                Message::Results(vec![ToolResult {
                    call: "c1".to_owned(),
                    text: "x".repeat(30),
                    outcome: Outcome::Done,
                }]),
            ],
            max_tokens: Some(50),
            ..Chat::default()
        };
        assert_eq!(chat.at_most(40), Usage { input: 40, output: 40 });
        assert_eq!(chat.at_most(60), Usage { input: 40, output: 50 });
    }
}
