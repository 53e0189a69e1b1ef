//! Clients of 2026-07-28: every request says who sends it, and one that has to be answered first is sent again.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::Client;
use super::exchange::{Exchange, Pending};
use super::http::HttpClient;
use super::profile::Profile;
use super::stdio::StdioClient;

const REVISION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A server that asks more often for one answer would never give it.
const MOST_ROUNDS: usize = 12;

impl Profile {
    /// Params with what every request of this era says of its sender; what is there already stays.
    #[must_use]
    pub fn stamped(&self, params: Value) -> Value {
        let mut params = if params.is_null() { json!({}) } else { params };
        let own = [
            (VERSION_KEY, json!(REVISION)),
            (INFO_KEY, json!({ "name": self.name, "version": "1.0.0" })),
            (CAPABILITIES_KEY, self.capabilities.clone()),
        ];
        for (key, value) in own {
            if params["_meta"].get(key).is_none() {
                params["_meta"][key] = value;
            }
        }
        params
    }

    /// The same request once more, with an answer to whatever the result asks for; `None` for a result that asks nothing.
    /// What this client does not answer is left out, as by somebody who overlooks it.
    #[must_use]
    pub fn retried(&self, params: &Value, result: &Value) -> Option<Value> {
        if result["resultType"] != "input_required" {
            return None;
        }
        let asked = result["inputRequests"].as_object().into_iter().flatten();
        let answers = asked.filter_map(|(key, request)| {
            let method = request["method"].as_str().unwrap_or_default();
            Some((key.clone(), self.result_for(method, &request["params"])?))
        });
        let answers: Map<String, Value> = answers.collect();
        let mut params = params.clone();
        params["inputResponses"] = Value::Object(answers);
        match result.get("requestState") {
            Some(state) => params["requestState"] = state.clone(),
            None => drop(params.as_object_mut().and_then(|params| params.remove("requestState"))),
        }
        Some(params)
    }
}

/// What a test does with a client of this era, whatever the transport.
pub trait Modern: Client {
    fn profile(&self) -> &Profile;

    /// Sends one request, stamped, and returns its reply even if that asks for something.
    fn once(&self, method: &str, params: Value) -> impl Future<Output = Value> + Send;

    /// Sends a request as often as it takes to be answered.
    fn rounds(&self, method: &str, params: Value) -> impl Future<Output = Value> + Send {
        async move {
            let mut params = params;
            for _ in 0..MOST_ROUNDS {
                let reply = self.once(method, params.clone()).await;
                match self.profile().retried(&params, &reply["result"]) {
                    Some(again) => params = again,
                    None => return reply,
                }
            }
            panic!("{method} still asks for something after {MOST_ROUNDS} rounds: {params}");
        }
    }
}

/// A client over Streamable HTTP. Every request stands for itself; clones share their ids.
#[derive(Clone)]
pub struct ModernClient {
    http: HttpClient,
    profile: Profile,
}

impl ModernClient {
    pub fn new(url: &str) -> Self {
        Self::with(url, Profile::default())
    }

    pub fn with(url: &str, profile: Profile) -> Self {
        Self { http: HttpClient::new(url), profile }
    }

    /// Sent with every request in place of the client's own header of that name, or left out if it is empty.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.http = self.http.header(name, value);
        self
    }

    /// A request whose answer is read while it comes. Returns once the status is there; dropped, it closes the stream,
    /// which is how a client of this era cancels.
    pub async fn start(&self, id_raw_json: &str, method: &str, params: Value) -> Pending {
        self.start_mirrored(id_raw_json, method, params, &[]).await
    }

    /// The same with arguments that the tool wants in headers too, as `(name without its prefix, value)`.
    pub async fn start_mirrored(
        &self,
        id_raw_json: &str,
        method: &str,
        params: Value,
        mirrored: &[(&str, &str)],
    ) -> Pending {
        let params = self.profile.stamped(params);
        let mut headers = labels(method, &params);
        let mirrored = mirrored.iter().map(|(name, value)| (format!("mcp-param-{name}"), encoded(value)));
        headers.extend(mirrored);
        self.http.with_headers(&headers).start(id_raw_json, method, params).await
    }

    /// One request under a fresh id, to the end of its answer.
    pub async fn exchange(&self, method: &str, params: Value) -> Exchange {
        self.start(&self.http.next_id(), method, params).await.finish().await
    }

    /// Opens a stream of changes and waits until it is acknowledged; the acknowledgement is its first message.
    pub async fn listen(&self, id_raw_json: &str, notifications: Value) -> Pending {
        let params = json!({ "notifications": notifications });
        let stream = self.start(id_raw_json, "subscriptions/listen", params).await;
        assert_eq!(stream.status, 200, "no stream: {:?}", stream.messages.all());
        stream.wait_for_method("notifications/subscriptions/acknowledged").await;
        stream
    }
}

impl Modern for ModernClient {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn once(&self, method: &str, params: Value) -> Value {
        let exchange = self.exchange(method, params).await;
        assert!(!exchange.reply.is_null(), "{method} was not answered: {exchange:?}");
        exchange.reply
    }
}

impl Client for ModernClient {
    async fn ask(&self, method: &str, params: Value) -> Value {
        self.rounds(method, params).await
    }
}

/// A client of this era over pipes. The pipes may carry the other era as well, by the client that is in it.
pub struct ModernStdio {
    pub pipes: StdioClient,
    profile: Profile,
    counter: AtomicU64,
}

impl ModernStdio {
    /// Speaks over pipes on which nothing, or the other era, was spoken before.
    pub fn over(pipes: StdioClient, profile: Profile) -> Self {
        Self { pipes, profile, counter: AtomicU64::new(0) }
    }

    /// Sends a request and returns at once; `StdioClient::reply_to` waits for its answer.
    pub async fn start(&self, id_raw_json: &str, method: &str, params: Value) {
        self.pipes.start(id_raw_json, method, self.profile.stamped(params)).await;
    }

    /// Opens a stream of changes and waits until it is acknowledged.
    pub async fn listen(&self, id_raw_json: &str, notifications: Value) {
        let at = self.pipes.messages().len();
        self.start(id_raw_json, "subscriptions/listen", json!({ "notifications": notifications })).await;
        let is_it = |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
        self.pipes.messages().wait_after(at, "the acknowledgement", is_it).await;
    }
}

impl Modern for ModernStdio {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn once(&self, method: &str, params: Value) -> Value {
        // Ids that the other era on the same pipes does not use.
        let id = format!("\"m{}\"", self.counter.fetch_add(1, Ordering::Relaxed));
        self.pipes.request(&id, method, self.profile.stamped(params)).await
    }
}

impl Client for ModernStdio {
    async fn ask(&self, method: &str, params: Value) -> Value {
        self.rounds(method, params).await
    }
}

/// The headers that repeat what the body says.
fn labels(method: &str, params: &Value) -> Vec<(String, String)> {
    let source = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => "",
    };
    let version = params["_meta"][VERSION_KEY].as_str().unwrap_or(REVISION);
    let own = [("mcp-protocol-version", version), ("mcp-method", method)];
    let name = params[source].as_str().map(|name| ("mcp-name", name));
    own.into_iter().chain(name).map(|(header, value)| (header.to_owned(), encoded(value))).collect()
}

/// What a header cannot carry as it is goes in base64.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && value.trim() == value;
    if is_plain { value.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(value)) }
}
