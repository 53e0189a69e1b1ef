//! A client of the scripted provider, in either dialect.

use std::time::Duration;

use portolan_outbound::{Options, Origin, Outbound};
use portolan_testkit::ModelServer;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Chat, Client, Dialect, Message, Provider, ToolSpec};

/// What must never be shown.
pub(super) const KEY: &str = "sk-canary-0123456789";

/// Too long to pass in a test that goes well.
pub(super) const AMPLE: Duration = Duration::from_secs(30);

/// Passes soon in a test that waits for it; nothing has to be done within it.
pub(super) const SHORT: Duration = Duration::from_millis(50);

pub(super) const DIALECTS: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

pub(super) fn client(server: &ModelServer, kind: Dialect) -> Client {
    let base_url = match kind {
        Dialect::OpenAi => server.openai_url(),
        Dialect::Anthropic => server.anthropic_url(),
    };
    client_at(base_url, kind, AMPLE)
}

pub(super) fn client_at(base_url: String, kind: Dialect, timeout: Duration) -> Client {
    let provider = Provider {
        kind,
        base_url,
        model: "scripted".to_owned(),
        api_key: Some(KEY.into()),
        timeout,
        max_tokens: 100,
    };
    Client::new(Outbound::new(Options::default()).unwrap(), Origin::File, provider).unwrap()
}

pub(super) fn question(text: &str) -> Chat {
    Chat { messages: vec![Message::User(text.to_owned())], ..Chat::default() }
}

pub(super) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        parameters: raw(&serde_json::json!({ "type": "object" })),
    }
}

pub(super) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}
