//! What can go wrong on the way out, told apart by whether the server may have seen the request.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;

use hyper_util::client::legacy;

/// Reasons name the cause and never hold header values, queries or credentials of a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// Nothing of the request was written: it may be sent again.
    #[error("not sent: {reason}")]
    NotSent { reason: String },
    /// Written, or perhaps written, and then the connection broke: the server may have acted on it.
    #[error("connection lost: {reason}")]
    Lost { reason: String },
    /// The answer was cut at the limit.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The policy forbids the address that the host stands for. Never sent, and no retry helps.
    #[error("address {address} is refused: {reason}")]
    Refused { address: IpAddr, reason: &'static str },
    /// The options cannot work; comes only from `Outbound::new`.
    #[error("outbound settings: {reason}")]
    Misconfigured { reason: String },
}

impl OutboundError {
    /// Whether the server may have seen the request; in doubt it has.
    pub fn was_sent(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::TooLarge { .. } => true,
            Self::NotSent { .. } | Self::Refused { .. } | Self::Misconfigured { .. } => false,
        }
    }

    pub(crate) fn not_sent(reason: impl Into<String>) -> Self {
        Self::NotSent { reason: reason.into() }
    }

    /// hyper-util keeps its kinds private, so the line is drawn by what each of them carries.
    ///
    /// An error without connection info arose before a connection was chosen for the request. With one, the
    /// request was handed to the connection: a `hyper::Error` that is *canceled* gave it back unwritten (the
    /// three places in hyper that make this kind all return the request with it), and no `hyper::Error` at all
    /// means that hyper-util refused to hand it over. Whatever else comes is doubtful, so it counts as sent.
    pub(crate) fn from_client(failure: &legacy::Error) -> Self {
        let source = failure.source();
        if let Some(own) = source.and_then(|source| source.downcast_ref::<Self>()) {
            return own.clone();
        }
        let from_hyper = source.and_then(|source| source.downcast_ref::<hyper::Error>());
        let reason = from_hyper.map_or_else(|| failure.to_string(), hyper_cause);
        let is_unwritten = failure.is_connect()
            || failure.connect_info().is_none()
            || from_hyper.is_none_or(hyper::Error::is_canceled);
        if is_unwritten { Self::NotSent { reason } } else { Self::Lost { reason } }
    }

    pub(crate) fn from_body(failure: &hyper::Error) -> Self {
        Self::Lost { reason: hyper_cause(failure) }
    }
}

/// The words of hyper, followed by those of the innermost cause. hyper's own errors quote nothing of a message.
fn hyper_cause(failure: &hyper::Error) -> String {
    let Some(innermost) = std::iter::successors(failure.source(), |&cause| cause.source()).last() else {
        return failure.to_string();
    };
    let cause = innermost.downcast_ref::<io::Error>().map_or_else(|| innermost.to_string(), io_cause);
    format!("{failure}: {cause}")
}

/// The plain name of an I/O error ("connection refused") instead of the system's numbered one.
pub(crate) fn io_cause(failure: &io::Error) -> String {
    let kind = failure.kind().to_string();
    // What did not come from the system, or has no name in std, says more in its own words.
    if failure.raw_os_error().is_none() || kind == "uncategorized error" { failure.to_string() } else { kind }
}
