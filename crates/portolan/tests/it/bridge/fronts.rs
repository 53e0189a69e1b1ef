//! The clients in front: each era over each transport, all of them answering in the same way.

use super::forms::Behind;
use portolan_testkit::{
    Client, HttpClient, ModernClient, ModernStdio, Profile, Record, SseClient, StdioClient,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A way to a gateway that any number of clients may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    Http,
    Sse,
    Modern,
}

impl Front {
    pub(crate) const ALL: [Self; 3] = [Self::Http, Self::Sse, Self::Modern];

    pub(crate) fn is_modern(self) -> bool {
        self == Self::Modern
    }

    /// A client of all servers.
    pub(crate) async fn connect(self, behind: &Behind, profile: Profile) -> AnyClient {
        let gateway = &behind.gateway;
        match self {
            Self::Http => AnyClient::Http(HttpClient::connect_as(&gateway.url(), profile).await),
            Self::Sse => AnyClient::Sse(SseClient::connect_as(&gateway.url_of("/sse"), profile).await),
            Self::Modern => AnyClient::Modern(ModernClient::with(&gateway.url(), profile)),
        }
    }
}

/// A client, whichever way it came.
pub(crate) enum AnyClient {
    Http(HttpClient),
    Sse(SseClient),
    Stdio(StdioClient),
    Modern(ModernClient),
    ModernStdio(ModernStdio),
}

impl Client for AnyClient {
    async fn ask(&self, method: &str, params: Value) -> Value {
        match self {
            Self::Http(client) => client.ask(method, params).await,
            Self::Sse(client) => client.ask(method, params).await,
            Self::Stdio(client) => client.ask(method, params).await,
            Self::Modern(client) => client.ask(method, params).await,
            Self::ModernStdio(client) => client.ask(method, params).await,
        }
    }
}

/// The kinds of questions of the fixture's `who_asks`.
pub(crate) const KINDS: [&str; 3] = ["elicitation", "sampling", "roots"];

/// Somebody with a name, who answers every question with that name and the tag of the question.
pub(crate) struct Answering {
    name: String,
    pub(crate) profile: Profile,
}

impl Answering {
    /// Declares these capabilities, and would answer to others too if it were asked.
    pub(crate) fn named(name: &str, capabilities: Value) -> Self {
        let mut profile = Profile::named(name).capabilities(capabilities);
        for (kind, method) in KINDS.iter().zip(["elicitation/create", "sampling/createMessage", "roots/list"])
        {
            let name = name.to_owned();
            profile = profile.answer_with(method, move |params| answer(&name, kind, tag(params)));
        }
        Self { name: name.to_owned(), profile }
    }

    /// One that can be asked everything.
    pub(crate) fn everything(name: &str) -> Self {
        Self::named(name, everything())
    }

    /// What it says to a question of this kind and tag.
    pub(crate) fn says(&self, kind: &str, tag: &str) -> Value {
        answer(&self.name, kind, tag)
    }

    pub(crate) fn asked(&self) -> &Arc<Record<Value>> {
        self.profile.asked()
    }

    /// The tags of the questions that it was asked.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.asked().all().iter().map(|question| tag(&question["params"]).to_owned()).collect()
    }

    /// Has it call `who_asks`, and checks that its own answer came back.
    pub(crate) async fn is_asked(&self, client: &impl Client, kind: &str, tag: &str) {
        let text = client.call_text("one.who_asks", json!({ "tag": tag, "kind": kind })).await;
        let seen: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{tag}: {text}"));
        assert_eq!(seen, json!({ "result": self.says(kind, tag) }), "{tag}");
    }
}

pub(crate) fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} })
}

fn tag(params: &Value) -> &str {
    params["_meta"]["portolan.fixture/tag"].as_str().unwrap_or("untagged")
}

fn answer(name: &str, kind: &str, tag: &str) -> Value {
    let said = format!("{name} saw {tag}");
    match kind {
        "elicitation" => json!({ "action": "accept", "content": { "username": said, "email": "a@b.c" } }),
        "sampling" => {
            let content = json!({ "type": "text", "text": said });
            json!({ "role": "assistant", "content": content, "model": "m", "stopReason": "endTurn" })
        }
        _ => json!({ "roots": [{ "uri": format!("file:///{name}/{tag}"), "name": said }] }),
    }
}
