//! What a server says during a call, as its client gets it.

use crate::client::Client;
use crate::questions::Form;
use crate::request::Request;
use bytes::Bytes;
use portolan_router::Note;
use portolan_wire::json::{self, Members};
use portolan_wire::level::Level;
use portolan_wire::progress;

/// Progress under the client's own token, log messages by the client's level, questions under an id of ours, the rest as it
/// is. `None` for what the client does not want.
pub(crate) fn told(client: &Client, request: &Request, note: &Note) -> Option<Bytes> {
    match note {
        Note::Progress(params) => {
            progress::with_token(std::str::from_utf8(params).ok()?, request.progress_token()?)
                .map(Bytes::from)
        }
        Note::Other(message) => is_wanted(client, request, message).then(|| message.clone()),
        Note::Question(question) => client.questions.ask(question.clone(), &form(client, request)),
        Note::Withdrawn(question) => client.questions.withdraw(question),
    }
}

pub(crate) fn form(client: &Client, request: &Request) -> Form {
    let terms = request.terms(client);
    Form {
        revision: terms.revision,
        abilities: terms.abilities.clone(),
        names_server: client.view.alone().is_none(),
    }
}

fn is_wanted(client: &Client, request: &Request, message: &[u8]) -> bool {
    let terms = request.terms(client);
    match level_of(message) {
        Judged::Log(level) if terms.revision.has_handshake() => client.wants(level),
        // From 2026-07-28 on a request that does not ask for log messages gets none.
        Judged::Log(level) => terms.level.is_some_and(|asked| level >= asked),
        Judged::Other => true,
        Judged::Unreadable => false,
    }
}

/// Whether a notification outside of any call is one that this client wants: log messages only of its level and above.
pub(crate) fn is_wanted_outside(client: &Client, message: &[u8]) -> bool {
    match level_of(message) {
        Judged::Log(level) => client.wants(level),
        Judged::Other => true,
        Judged::Unreadable => false,
    }
}

enum Judged {
    Log(Level),
    Other,
    Unreadable,
}

fn level_of(message: &[u8]) -> Judged {
    let Ok(text) = std::str::from_utf8(message) else { return Judged::Unreadable };
    let Ok(members) = Members::parse(text) else { return Judged::Unreadable };
    if members.get("method").and_then(json::text).as_deref() != Some("notifications/message") {
        return Judged::Other;
    }
    // A level that nobody knows is passed on like anything else that we do not understand.
    Level::in_params(members.get("params")).map_or(Judged::Other, Judged::Log)
}
