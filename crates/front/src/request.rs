//! A request after its envelope was read, and an answer in the pieces it is sent in.

use crate::client::{Client, Terms};
use crate::fault::{INVALID_PARAMS, refusal};
use bytes::Bytes;
use portolan_model::Kind;
use portolan_router::{TaskMethod, What};
use portolan_wire::envelope::Malformed;
use portolan_wire::params::Params;
use portolan_wire::tasks::Form;

/// A request owns its bytes, for its answer may take a while.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: Bytes,
    pub(crate) method: Method,
    /// Read once, here, or not to be read.
    params: Result<Params, Malformed>,
    /// What the request says for itself, from 2026-07-28 on; before that, its client has said it once and for all.
    pub(crate) own_terms: Option<Terms>,
    /// The number of a client that comes with this one request and is forgotten after it.
    pub(crate) number: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Discover,
    Ping,
    List(Kind),
    /// What a server answers.
    Ask(What),
    Subscribe,
    Unsubscribe,
    Listen,
    SetLevel,
    Unknown(String),
}

impl Method {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "tools/call" => Self::Ask(What::Tool),
            "tools/list" => Self::List(Kind::Tools),
            "prompts/get" => Self::Ask(What::Prompt),
            "prompts/list" => Self::List(Kind::Prompts),
            "resources/read" => Self::Ask(What::Resource),
            "resources/list" => Self::List(Kind::Resources),
            "resources/templates/list" => Self::List(Kind::Templates),
            "resources/subscribe" => Self::Subscribe,
            "resources/unsubscribe" => Self::Unsubscribe,
            "completion/complete" => Self::Ask(What::Completion),
            "tasks/get" => Self::Ask(What::Task(TaskMethod::Get)),
            "tasks/result" => Self::Ask(What::Task(TaskMethod::Result)),
            "tasks/update" => Self::Ask(What::Task(TaskMethod::Update)),
            "tasks/cancel" => Self::Ask(What::Task(TaskMethod::Cancel)),
            "tasks/list" => Self::Ask(What::Tasks),
            "subscriptions/listen" => Self::Listen,
            "initialize" => Self::Initialize,
            "server/discover" => Self::Discover,
            "ping" => Self::Ping,
            "logging/setLevel" => Self::SetLevel,
            other => Self::Unknown(other.to_owned()),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::Ping => "ping",
            Self::List(kind) => kind.method(),
            Self::Ask(what) => what.method(),
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::Listen => "subscriptions/listen",
            Self::SetLevel => "logging/setLevel",
            Self::Unknown(name) => name,
        }
    }

    /// Whether the era of the request has this method at all.
    pub(crate) fn is_of(&self, terms: &Terms) -> bool {
        let has_handshake = terms.revision.has_handshake();
        match self {
            Self::Initialize | Self::Ping | Self::Subscribe | Self::Unsubscribe | Self::SetLevel => {
                has_handshake
            }
            Self::Discover | Self::Listen => !has_handshake,
            Self::Ask(What::Task(method)) => method.is_of(terms.revision),
            Self::Ask(What::Tasks) => Form::of(terms.revision) == Some(Form::Experimental),
            Self::List(_) | Self::Ask(_) | Self::Unknown(_) => true,
        }
    }
}

impl Request {
    pub(crate) fn new(line: &Bytes, id: &str, method: &str, params: Option<&str>) -> Self {
        let part = |text: &str| line.slice_ref(text.as_bytes());
        Self {
            id: part(id),
            method: Method::parse(method),
            params: Params::parse(line, params),
            own_terms: None,
            number: None,
        }
    }

    /// The id as the client wrote it. It came out of a `str`, so it is one.
    pub(crate) fn id(&self) -> &str {
        std::str::from_utf8(&self.id).unwrap_or("null")
    }

    /// What the request stands under.
    pub(crate) fn terms<'t>(&'t self, client: &'t Client) -> &'t Terms {
        self.own_terms.as_ref().unwrap_or_else(|| client.terms())
    }

    pub(crate) fn progress_token(&self) -> Option<&str> {
        self.params.as_ref().ok()?.progress_token()
    }

    /// The params, or the answer to a request whose params cannot be read.
    pub(crate) fn params(&self) -> Result<&Params, Pieces> {
        self.params.as_ref().map_err(|malformed| refusal(self.id(), INVALID_PARAMS, &malformed.to_string()))
    }

    /// An entry of `_meta` as raw JSON.
    pub(crate) fn meta(&self, key: &str) -> Option<&str> {
        self.params.as_ref().ok()?.meta(key)
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
