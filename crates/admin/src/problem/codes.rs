//! The kinds of problems, each once: its code and its status.

use http::StatusCode;
use serde::{Serialize, Serializer};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! codes {
    ($($name:ident = $text:literal, $status:ident;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code {
            $($name,)+
        }

        impl Code {
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];

            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            pub(crate) const fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)+
                }
            }
        }
    };
}

codes! {
    InvalidJson = "INVALID_JSON", BAD_REQUEST;
    InvalidPath = "INVALID_PATH", BAD_REQUEST;
    BodyUnreadable = "BODY_UNREADABLE", BAD_REQUEST;
    ToolAmbiguous = "TOOL_AMBIGUOUS", BAD_REQUEST;
    StdioRegistrationDisabled = "STDIO_REGISTRATION_DISABLED", FORBIDDEN;
    NotFound = "NOT_FOUND", NOT_FOUND;
    ServerNotFound = "SERVER_NOT_FOUND", NOT_FOUND;
    ToolNotFound = "TOOL_NOT_FOUND", NOT_FOUND;
    SecretNotFound = "SECRET_NOT_FOUND", NOT_FOUND;
    SkillNotFound = "SKILL_NOT_FOUND", NOT_FOUND;
    SuggestionNotFound = "SUGGESTION_NOT_FOUND", NOT_FOUND;
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED;
    RequestTimeout = "REQUEST_TIMEOUT", REQUEST_TIMEOUT;
    ServerAlreadyExists = "SERVER_ALREADY_EXISTS", CONFLICT;
    ServerInFile = "SERVER_IN_FILE", CONFLICT;
    ServerNotConnected = "SERVER_NOT_CONNECTED", CONFLICT;
    TooManyServers = "TOO_MANY_SERVERS", CONFLICT;
    SkillExists = "SKILL_EXISTS", CONFLICT;
    SuggestionSettled = "SUGGESTION_SETTLED", CONFLICT;
    BodyTooLarge = "BODY_TOO_LARGE", PAYLOAD_TOO_LARGE;
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE;
    ValidationError = "VALIDATION_ERROR", UNPROCESSABLE_ENTITY;
    TooManyQueries = "TOO_MANY_QUERIES", TOO_MANY_REQUESTS;
    InternalError = "INTERNAL_ERROR", INTERNAL_SERVER_ERROR;
    UpstreamError = "UPSTREAM_ERROR", BAD_GATEWAY;
    ProtocolError = "PROTOCOL_ERROR", BAD_GATEWAY;
    AnswerTooLarge = "ANSWER_TOO_LARGE", BAD_GATEWAY;
    ServerUnavailable = "SERVER_UNAVAILABLE", SERVICE_UNAVAILABLE;
    ServerLost = "SERVER_LOST", SERVICE_UNAVAILABLE;
    ServerBusy = "SERVER_BUSY", SERVICE_UNAVAILABLE;
    AgentBusy = "AGENT_BUSY", SERVICE_UNAVAILABLE;
    AggregationFailed = "AGGREGATION_FAILED", SERVICE_UNAVAILABLE;
    CallCancelled = "CALL_CANCELLED", SERVICE_UNAVAILABLE;
    StoreBusy = "STORE_BUSY", SERVICE_UNAVAILABLE;
    StoreUnavailable = "STORE_UNAVAILABLE", SERVICE_UNAVAILABLE;
    StoreSealed = "STORE_SEALED", SERVICE_UNAVAILABLE;
    ShuttingDown = "SHUTTING_DOWN", SERVICE_UNAVAILABLE;
    CallTimedOut = "CALL_TIMED_OUT", GATEWAY_TIMEOUT;
    StoreFull = "STORE_FULL", INSUFFICIENT_STORAGE;
}

impl Code {
    /// `urn:portolan:problem:server-not-found`.
    pub(crate) fn urn(self) -> String {
        format!("urn:portolan:problem:{}", self.as_str().to_ascii_lowercase().replace('_', "-"))
    }

    /// `Server not found`.
    pub(crate) fn title(self) -> String {
        let (first, rest) = self.as_str().split_at(1);
        format!("{first}{}", rest.to_ascii_lowercase().replace('_', " ").replace("json", "JSON"))
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(Self::ALL.iter().map(|code| code.as_str())))
            .description(Some("The kind of problem, for programs."))
            .into()
    }
}

impl ToSchema for Code {
    fn name() -> std::borrow::Cow<'static, str> {
        "ErrorCode".into()
    }
}
