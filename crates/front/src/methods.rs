//! What clients can ask: one short function a method.

use crate::Front;
use crate::client::{Client, Terms, UNASKED};
use crate::fault;
use crate::styles::Transport;
use bytes::Bytes;
use portolan_catalog::{Peer, View};
use portolan_model::NameStyle;
use portolan_router::{Aside, Call, Note, Reply};
use portolan_wire::call::CallParams;
use portolan_wire::json::Members;
use portolan_wire::level::Level;
use portolan_wire::meta::{INSTANCES, VIA};
use portolan_wire::{Message, Revision, answer, envelope, json, progress, project};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const BUSY: i32 = -32000;

/// What a batch may hold at most.
const MOST_IN_BATCH: usize = 100;

/// A request after its envelope was read; it owns its bytes, for its answer may take a while.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) id: Bytes,
    pub(crate) method: Method,
    pub(crate) params: Option<Bytes>,
    /// The client's progress token, looked up when the first progress comes: progress is rare and calls are not.
    token: OnceLock<Option<Bytes>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    ListTools,
    CallTool,
    SetLevel,
    Unknown(String),
}

impl Method {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "initialize" => Self::Initialize,
            "ping" => Self::Ping,
            "tools/list" => Self::ListTools,
            "tools/call" => Self::CallTool,
            "logging/setLevel" => Self::SetLevel,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl Request {
    pub(crate) fn new(line: &Bytes, id: &str, method: &str, params: Option<&str>) -> Self {
        let part = |text: &str| line.slice_ref(text.as_bytes());
        Self { id: part(id), method: Method::parse(method), params: params.map(part), token: OnceLock::new() }
    }

    /// The id as the client wrote it. It came out of a `str`, so it is one.
    pub(crate) fn id(&self) -> &str {
        std::str::from_utf8(&self.id).unwrap_or("null")
    }

    fn progress_token(&self) -> Option<&str> {
        let token = self.token.get_or_init(|| {
            let token = CallParams::parse(self.params()).ok()?.progress_token()?.to_owned();
            Some(Bytes::from(token))
        });
        token.as_deref().and_then(|token| std::str::from_utf8(token).ok())
    }

    fn params(&self) -> Option<&str> {
        self.params.as_deref().and_then(|params| std::str::from_utf8(params).ok())
    }
}

/// An answer in the pieces it is sent in: the large one, if there is one, is not copied.
#[derive(Debug, Clone)]
pub(crate) enum Pieces {
    Whole(Bytes),
    /// A result that others share, between its head and `}`.
    Shared {
        head: Bytes,
        result: Bytes,
    },
}

impl Pieces {
    /// As one piece of memory, for transports that frame messages.
    pub(crate) fn whole(self) -> Bytes {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Shared { head, result } => [&head[..], &result[..], b"}"].concat().into(),
        }
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Whole(bytes.into())
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InitializeParams {
    protocol_version: String,
    client_info: ClientInfo,
    #[serde(rename = "_meta")]
    meta: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClientInfo {
    name: String,
    version: String,
}

impl Front {
    /// `initialize`: settles the terms with a client, or says why not. It waits for no server.
    pub(crate) fn initialize(
        &self,
        client: &Client,
        request: &Request,
        transport: Transport,
    ) -> Result<Pieces, Pieces> {
        let id = request.id();
        let params: InitializeParams = request
            .params()
            .map(serde_json::from_str)
            .transpose()
            .map_err(|e| refusal(id, INVALID_PARAMS, &format!("initialize: {e}")))?
            .unwrap_or_default();
        let via: Vec<&str> = params
            .meta
            .get(VIA)
            .and_then(|v| v.as_array())
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str())
            .collect();
        if via.contains(&self.options.instance.as_str()) {
            let text =
                format!("{VIA}: this Portolan is connecting to itself; remove the entry that points here");
            return Err(refusal(id, INVALID_REQUEST, &text));
        }
        let revision = Revision::negotiate(&params.protocol_version);
        let style = match client.view {
            View::Server(_) => NameStyle::Bare,
            View::All => self.options.names.choose(transport, &params.client_info.name),
        };
        let (name, version) = (&params.client_info.name, &params.client_info.version);
        tracing::debug!(client = name, version, %revision, ?style, "a client initializes");
        let peer = via.first().map(|v| (*v).to_owned());
        let result = self.welcome(revision, peer.is_some());
        if !client.agree(Terms { revision, style, peer }) {
            return Err(refusal(id, INVALID_REQUEST, "initialize was sent before; a session has one"));
        }
        // What the client knows is what is there now; only later changes are news.
        client.has_news(&self.catalog().snapshot());
        Ok(answer::result(id, result.as_bytes()).into())
    }

    fn welcome(&self, revision: Revision, is_peer: bool) -> String {
        let mut welcome = serde_json::json!({
            "protocolVersion": revision.as_str(),
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "serverInfo": {"name": self.options.name, "version": self.options.version},
        });
        if is_peer {
            let snapshot = self.catalog().snapshot();
            let mut instances = snapshot.instances();
            instances.push(&self.options.instance);
            welcome["_meta"] = serde_json::json!({ INSTANCES: instances });
        }
        welcome.to_string()
    }

    /// Answers a request of a client; `None` where no answer is due. Only calls have something beside them.
    pub(crate) async fn answer(
        &self,
        client: &Client,
        request: &Request,
        aside: &Arc<Aside>,
    ) -> Option<Pieces> {
        let id = request.id();
        Some(match &request.method {
            Method::Ping => answer::result(id, b"{}").into(),
            Method::ListTools => self.list_tools(client, request).await,
            Method::CallTool => return self.call_tool(client, request, aside).await,
            Method::SetLevel => self.log_level(client, request).await,
            Method::Initialize => {
                refusal(id, INVALID_REQUEST, "initialize was sent before; a session has one")
            }
            Method::Unknown(method) => refusal(id, METHOD_NOT_FOUND, &format!("method not found: {method}")),
        })
    }

    async fn list_tools(&self, client: &Client, request: &Request) -> Pieces {
        if has_cursor(request.params()) {
            return refusal(
                request.id(),
                INVALID_PARAMS,
                "unknown cursor: the list has one page, start without one",
            );
        }
        self.catalog().settled(self.lists_wait_until).await;
        let snapshot = self.catalog().snapshot();
        let terms = client.terms();
        let result = match &terms.peer {
            Some(asking) if client.view == View::All => {
                let peer = Peer { asking, own: &self.options.instance };
                snapshot.tool_list_for_peer(&peer, terms.style, terms.revision)
            }
            _ => snapshot.tool_list(&client.view, terms.style, terms.revision),
        };
        let mut head = Vec::with_capacity(64);
        answer::result_head(request.id(), &mut head);
        Pieces::Shared { head: head.into(), result }
    }

    async fn call_tool(&self, client: &Client, request: &Request, aside: &Arc<Aside>) -> Option<Pieces> {
        let id = request.id();
        let params = match CallParams::parse(request.params()) {
            Ok(params) => params,
            Err(error) => return Some(refusal(id, INVALID_PARAMS, &error.to_string())),
        };
        let Ok(_slot) = client.slots.try_acquire() else {
            let limit = self.options.limits.in_flight_per_client;
            let text =
                format!("this client has {limit} calls in flight, which is the limit; try again later");
            return Some(refusal(id, BUSY, &text));
        };
        let _in_flight = client.begin(request.id.clone(), aside);
        let call = Call { view: &client.view, params: &params, aside };
        match self.router.call(call).await {
            Ok(answered) => Some(match answered.reply {
                Reply::Result(result) => {
                    // It was parsed as text when it came in.
                    let result = std::str::from_utf8(&result).unwrap_or("null");
                    answer::result(id, &project::call_result(result, client.terms().revision)).into()
                }
                Reply::Error(error) => {
                    let error = std::str::from_utf8(&error).unwrap_or("null");
                    match client.view {
                        View::All => {
                            answer::raw_error(id, &answer::with_server(error, answered.server.as_str()))
                                .into()
                        }
                        View::Server(_) => answer::raw_error(id, error.as_bytes()).into(),
                    }
                }
            }),
            Err(error) => fault::reply(id, &error).map(Pieces::from),
        }
    }

    async fn log_level(&self, client: &Client, request: &Request) -> Pieces {
        match Level::in_params(request.params()) {
            Some(level) => {
                client.set_level(level);
                // Clients that have not asked hear of this much, so no server is asked for less.
                self.router.set_level(level.min(UNASKED)).await;
                answer::result(request.id(), b"{}").into()
            }
            None => {
                let known = Level::ALL.map(Level::as_str).join(", ");
                refusal(request.id(), INVALID_PARAMS, &format!("`level` must be one of {known}"))
            }
        }
    }

    /// Takes a notification of a client.
    pub(crate) fn notified(client: &Client, method: &str, params: Option<&str>) {
        if method == "notifications/cancelled"
            && let Some(Ok(members)) = params.map(Members::parse)
            && let Some(id) = members.get("requestId")
        {
            client.cancel(id, members.get("reason"));
        }
    }
}

/// What a server said during a call, as its client gets it: progress under the client's own token, log messages by the
/// client's level, the rest as it is. `None` for what the client does not want.
pub(crate) fn told(client: &Client, request: &Request, note: &Note) -> Option<Bytes> {
    match note {
        Note::Progress(params) => {
            progress::with_token(std::str::from_utf8(params).ok()?, request.progress_token()?)
                .map(Bytes::from)
        }
        Note::Other(message) => is_wanted(client, message).then(|| message.clone()),
    }
}

/// Whether a notification is one that this client wants: log messages only of its level and above.
pub(crate) fn is_wanted(client: &Client, message: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(message) else { return false };
    let Ok(members) = Members::parse(text) else { return false };
    if members.get("method") != Some("\"notifications/message\"") {
        return true;
    }
    Level::in_params(members.get("params")).is_none_or(|level| client.wants(level))
}

fn has_cursor(params: Option<&str>) -> bool {
    let members = params.and_then(|params| Members::parse(params).ok());
    members.is_some_and(|m| m.get("cursor").and_then(json::text).is_some_and(|c| !c.is_empty()))
}

pub(crate) fn refusal(id: &str, code: i32, text: &str) -> Pieces {
    answer::error(id, code, text, None).into()
}

impl Front {
    /// The answer to a batch, as one array with the answers in the order of their requests; `None` where none is due.
    pub(crate) async fn batch(
        &self,
        client: &Client,
        line: &Bytes,
        entries: &[&str],
    ) -> Result<Option<Bytes>, Pieces> {
        if !client.terms().revision.has_batches() {
            let text = format!("batches are part of {} only", Revision::V2025_03_26);
            return Err(refusal("null", INVALID_REQUEST, &text));
        }
        if entries.is_empty() || entries.len() > MOST_IN_BATCH {
            let text = format!("a batch holds 1 to {MOST_IN_BATCH} messages");
            return Err(refusal("null", INVALID_REQUEST, &text));
        }
        let answers = entries.iter().map(async |entry| match envelope::parse_one(entry) {
            Ok(Message::Request { id, method, params }) => {
                let request = Request::new(line, id, &method, params);
                // A batch has one answer: what servers say meanwhile has no place in it.
                self.answer(client, &request, &Arc::default()).await.map(Pieces::whole)
            }
            Ok(Message::Notification { method, params }) => {
                Self::notified(client, &method, params);
                None
            }
            Ok(Message::Reply { .. }) => None,
            Err(malformed) => Some(refusal("null", malformed.code(), &malformed.to_string()).whole()),
        });
        let answers: Vec<Bytes> =
            futures_util::future::join_all(answers).await.into_iter().flatten().collect();
        let array = || Bytes::from([&b"["[..], &answers.join(&b","[..]), b"]"].concat());
        Ok((!answers.is_empty()).then(array))
    }
}
