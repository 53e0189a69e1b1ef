//! Tries a provider that needs no key: a question, an answer bound to a schema, a tool, embeddings.
//!
//! `cargo run -p portolan-llm --example chat -- http://127.0.0.1:11434/v1 MODEL`, and `anthropic` behind it for the other
//! dialect.

#![expect(clippy::print_stdout, reason = "it shows what the provider answers")]

use std::error::Error;
use std::time::Duration;

use portolan_llm::{Answer, Chat, ChatModel as _, Client, Dialect, Message, Provider, ToolSpec, json};
use portolan_outbound::{Options, Origin, Outbound};
use serde_json::Value;
use serde_json::value::RawValue;

const CITY: &str = r#"{
    "type": "object",
    "properties": { "city": { "type": "string" } },
    "required": ["city"],
    "additionalProperties": false
}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(base_url), Some(model)) = (arguments.next(), arguments.next()) else {
        return Err("say where the provider is and what its model is called".into());
    };
    let kind = match arguments.next().as_deref() {
        Some("anthropic") => Dialect::Anthropic,
        _ => Dialect::OpenAi,
    };
    let provider =
        Provider { kind, base_url, model, api_key: None, timeout: Duration::from_mins(2), max_tokens: 100 };
    let client = Client::new(Outbound::new(Options::default())?, Origin::File, provider)?;
    let schema = RawValue::from_string(CITY.to_owned())?;
    let question = Chat {
        system: "You are a guide. Be brief.".to_owned(),
        messages: vec![Message::User("What is the capital of France?".to_owned())],
        ..Chat::default()
    };
    println!("question: {:?}\n", client.turn(&question).await);

    let answer = Answer::Object { name: "city".to_owned(), schema: schema.clone() };
    let bound = client.turn(&Chat { answer, ..question.clone() }).await;
    println!("bound to a schema: {bound:?}");
    println!("read as JSON: {:?}\n", bound.and_then(|turn| json::read::<Value>(&turn.text)));

    let description = "The weather in a city.".to_owned();
    let tools = vec![ToolSpec { name: "weather".to_owned(), description, parameters: schema }];
    let messages = vec![Message::User("Call the tool for the weather in Paris.".to_owned())];
    println!("with a tool: {:?}\n", client.turn(&Chat { messages, tools, ..question }).await);

    let vectors = client.embeddings(&["a cat", "a dog"], None).await;
    println!("dimensions: {:?}", vectors.map(|vectors| vectors.iter().map(Vec::len).collect::<Vec<_>>()));
    Ok(())
}
