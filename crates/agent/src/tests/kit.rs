//! A server whose tools do what a test says, a model that says what it is scripted to, and an agent between them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use portolan_llm::{Budget, Client, Dialect, PriceTable, Provider};
use portolan_model::{Moment, ServerId, ServerName, Tool};
use portolan_outbound::{Origin, Outbound};
use portolan_testkit::ModelServer;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};
use tokio_util::sync::CancellationToken;

use crate::{
    Agents, Ask, Call, CallFailed, Card, Consent, Destructive, Hands, Mind, Options, Report, Step, Traced,
    With,
};

/// Too long to pass in a test that goes well.
pub(super) const AMPLE: Duration = Duration::from_secs(30);

/// Passes soon in a test that waits for it; nothing has to be done within it.
pub(super) const SHORT: Duration = Duration::from_millis(50);

pub(super) const DIALECTS: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

pub(super) const OPTIONS: Options = Options {
    at_once: 32,
    waiting: 256,
    query_time: AMPLE,
    call_time: AMPLE,
    side_by_side: 4,
    usual_tools: 10,
};

/// What a tool does when it is called.
#[derive(Clone)]
pub(super) enum Does {
    Says(String),
    Errs(String),
    Fails(String),
    /// Answers when as many calls are in flight as the barrier wants.
    Meets(Arc<Barrier>),
    Hangs,
}

/// A server. What it sees is its own log: the agent's word is not taken for it.
pub(super) struct FakeHands {
    tools: Vec<(Arc<Tool>, Does)>,
    pub(super) consent: Consent,
    pub(super) log: Mutex<Vec<String>>,
    pub(super) questions: Mutex<Vec<String>>,
    /// Cancelled calls are told by their tokens.
    pub(super) tokens: Mutex<Vec<CancellationToken>>,
    pub(super) called: Notify,
    in_flight: AtomicUsize,
    pub(super) most_in_flight: AtomicUsize,
}

impl FakeHands {
    pub(super) fn new<const N: usize>(tools: [(&str, Does); N]) -> Self {
        Self::described(tools.map(|(name, does)| (name, json!({}), does)))
    }

    /// With what their definitions say beside the name.
    pub(super) fn described<const N: usize>(tools: [(&str, Value, Does); N]) -> Self {
        let tool = |(name, mut definition, does): (&str, Value, Does)| {
            definition["name"] = json!(name);
            let definition = to_raw_value(&definition).unwrap();
            (Arc::new(Tool { name: name.into(), definition }), does)
        };
        Self {
            tools: tools.into_iter().map(tool).collect(),
            consent: Consent::CannotAsk,
            log: Mutex::default(),
            questions: Mutex::default(),
            tokens: Mutex::default(),
            called: Notify::new(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        }
    }

    pub(super) fn saying(name: &str, text: &str) -> Self {
        Self::new([(name, Does::Says(text.to_owned()))])
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    async fn react(&self, name: &str) -> Result<Value, CallFailed> {
        let (_, does) =
            self.tools.iter().find(|(tool, _)| &*tool.name == name).expect("only known tools are called");
        let content = |text: &str| json!([{ "type": "text", "text": text }]);
        match does.clone() {
            Does::Says(text) => Ok(json!({ "content": content(&text) })),
            Does::Errs(text) => Ok(json!({ "content": content(&text), "isError": true })),
            Does::Fails(reason) => Err(CallFailed { reason }),
            Does::Meets(barrier) => {
                barrier.wait().await;
                Ok(json!({ "content": content("met") }))
            }
            Does::Hangs => std::future::pending().await,
        }
    }
}

#[async_trait]
impl Hands for FakeHands {
    fn tools(&self) -> Vec<Arc<Tool>> {
        self.tools.iter().map(|(tool, _)| Arc::clone(tool)).collect()
    }

    async fn call(&self, call: Call<'_>) -> Result<Box<RawValue>, CallFailed> {
        self.note(format!("{} {}", call.tool, call.arguments));
        self.tokens.lock().unwrap().push(call.cancelled.clone());
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        self.called.notify_one();
        let answer = self.react(call.tool).await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.note(format!("{} ended", call.tool));
        answer.map(|answer| to_raw_value(&answer).unwrap())
    }

    async fn confirm(&self, question: &str) -> Consent {
        self.questions.lock().unwrap().push(question.to_owned());
        self.consent
    }
}

pub(super) fn client(server: &ModelServer, kind: Dialect) -> Client {
    let base_url = match kind {
        Dialect::OpenAi => server.openai_url(),
        Dialect::Anthropic => server.anthropic_url(),
    };
    let provider = Provider {
        kind,
        base_url,
        model: "scripted".to_owned(),
        api_key: None,
        timeout: AMPLE,
        max_tokens: 100,
    };
    let outbound = Outbound::new(portolan_outbound::Options::default()).unwrap();
    Client::new(outbound, Origin::File, provider).unwrap()
}

pub(super) fn configured(server: &ModelServer, kind: Dialect) -> Mind {
    Mind::Configured { model: Arc::new(client(server, kind)), max_tokens: 100 }
}

pub(super) fn card(name: &str) -> Card {
    Card::new(ServerId::random(), ServerName::parse(name).unwrap())
}

pub(super) fn budget() -> Arc<Budget> {
    Arc::new(Budget::new(PriceTable::default(), Arc::new(|| Moment::from_millis(0))))
}

/// The agent of `github`, by itself.
pub(super) fn github(options: Options) -> Agents {
    let agents = Agents::new(options, budget(), None);
    agents.ensure(card("github"));
    agents
}

pub(super) fn ask(query: &str) -> Ask {
    Ask {
        connector: "github".to_owned(),
        query: query.to_owned(),
        context: None,
        max_tools: Some(10),
        destructive: Destructive::IfConfirmed,
    }
}

pub(super) async fn asked(hands: &FakeHands, mind: Mind, ask: &Ask) -> Report {
    asked_of(&github(OPTIONS), hands, mind, ask).await
}

pub(super) async fn asked_of(agents: &Agents, hands: &FakeHands, mind: Mind, ask: &Ask) -> Report {
    let cancel = CancellationToken::new();
    agents.query(ask, With { hands, mind, cancel: &cancel, watch: &|_: &Traced| {} }).await
}

/// The steps of a report, a word each.
pub(super) fn steps(report: &Report) -> Vec<String> {
    let name = |traced: &Traced| match &traced.step {
        Step::Began { .. } => "began".to_owned(),
        Step::Planned { tools, .. } => format!("planned {}", tools.join("+")),
        Step::Asked { tool, .. } => format!("asked {tool}"),
        Step::Called { tool, .. } => format!("called {tool}"),
        Step::Answered { tool, .. } => format!("answered {tool}"),
        Step::Refused { tool, .. } => format!("refused {tool}"),
        Step::Ended { .. } => "ended".to_owned(),
    };
    report.trace.iter().map(name).collect()
}

/// What the model was told by its tools in a request, however the dialect wraps it.
pub(super) fn results(body: &Value) -> Vec<String> {
    let mut results = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        match &message["content"] {
            Value::String(text) if message["role"] == "tool" => results.push(text.clone()),
            Value::Array(blocks) => {
                let told = blocks.iter().filter(|block| block["type"] == "tool_result");
                results.extend(told.map(|block| block["content"].as_str().unwrap().to_owned()));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
        }
    }
    results
}
