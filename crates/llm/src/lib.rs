//! The only code that talks to a language model: chats with tools, embeddings, what they cost and may cost.
//!
//! Two dialects cover the field: the one that OpenAI began and Ollama, vLLM, TEI and LM Studio speak too, and that of
//! Anthropic. Nothing is streamed: whoever asks needs the whole answer before the next step. Everything goes out through
//! `portolan-outbound`, with a deadline, a limit on the size of the answer, and three tries at most.

mod anthropic;
mod budget;
mod chat;
mod client;
mod concession;
mod embeddings;
mod error;
mod excerpt;
pub mod json;
mod metered;
mod openai;
mod post;
mod price;
mod provider;
#[cfg(test)]
mod tests;

pub use crate::budget::{Admission, Budget, Clock, Limits, Owner, Permit, Refusal, Spent};
pub use crate::chat::{
    Answer, Chat, ChatModel, Message, Outcome, Stop, ToolCall, ToolResult, ToolSpec, ToolUse, Turn, Usage,
};
pub use crate::client::Client;
pub use crate::error::LlmError;
pub use crate::metered::Metered;
pub use crate::price::{Cost, Price, PriceTable};
pub use crate::provider::{Dialect, Provider};
