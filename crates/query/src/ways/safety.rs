//! What may be called unasked: what says that it only reads, or plainly does.

use super::roles::{Role, role};
use super::schema::{Accepts, Argument, Definition, among, says};

/// Verbs of reading.
const READING: &str = "search list get read find query fetch lookup look show describe view browse retrieve \
     inspect recall select";
/// Verbs that change something wherever they stand in a name: `get_or_create` creates.
const CHANGING: &str = "create delete remove write insert drop replace overwrite destroy purge erase \
     truncate send publish deploy upload install uninstall kill terminate append edit modify rename patch \
     revoke grant approve reject pay purchase buy sell wipe reset rollback subscribe unsubscribe enable \
     disable upsert mutate shutdown reboot encrypt eject unlock transfer withdraw deposit alter clear cleanup";
/// Words that are verbs of changing where no verb of reading stands before them: `update_x`, but not `list_updates`.
const PERHAPS_CHANGING: &str = "set add update put post push pull commit move copy merge close start stop \
     restart cancel trigger toggle call click type navigate press fill submit save store import sync schedule \
     book order reply comment assign label tag star fork share invite join leave archive checkout rebase \
     apply generate make do record play pause build mark pin mute ban block change configure connect register \
     login logout sign download print turn switch draw drag scroll forward notify request complete";
/// Verbs that do whatever they are told.
const EXECUTING: &str = "run execute exec perform invoke eval";

/// Arguments that only something takes that writes.
const WRITTEN: &str = "content body payload overwrite force dryrun confirm newname newvalue";

/// What nobody wants in an answer that did not ask for it.
const PRIVATE: &str = "env environ secret secrets credential credentials password passwords token tokens";

/// The word that says what a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Reads,
    Changes,
    Executes,
    Unknown,
}

/// Why a tool is not called unasked, if it is not.
pub(super) fn refusal(definition: &Definition) -> Option<&'static str> {
    if let Some(marked) = marked(definition) {
        return Some(marked);
    }
    let is_marked_safe = definition.read_only == Some(true);
    let takes_sql = definition.arguments.iter().any(|argument| role(definition, argument) == Role::Sql);
    match verb(definition) {
        Verb::Changes => return Some("its name says that it may change something"),
        Verb::Executes if !(is_marked_safe && takes_sql) => {
            return Some("its name says that it does whatever it is told");
        }
        Verb::Unknown if !is_marked_safe => return Some("nothing says that it only reads"),
        Verb::Reads | Verb::Executes | Verb::Unknown => {}
    }
    if definition.has_word(PRIVATE) {
        return Some("its name says that it tells what is private");
    }
    if is_marked_safe {
        return None;
    }
    if takes_sql && !definition.has_word("read readonly select") {
        return Some("it executes SQL, and nothing says that it only reads");
    }
    let writes = |argument: &&Argument| among(WRITTEN, &argument.words.concat());
    if definition.arguments.iter().filter(|argument| argument.accepts != Accepts::Number).any(|a| writes(&a))
    {
        return Some("its arguments say that it may change something");
    }
    None
}

/// Why a tool is not even called when people have named it, if it is not: it says itself that it changes something.
pub(super) fn marked(definition: &Definition) -> Option<&'static str> {
    if definition.destructive == Some(true) && definition.read_only != Some(true) {
        return Some("it is marked as destructive");
    }
    if definition.destructive == Some(true) {
        return Some("it is marked as destructive, though as read-only too");
    }
    (definition.read_only == Some(false)).then_some("it is marked as one that changes something")
}

/// Whether its name has a verb that changes something wherever it stands.
pub(super) fn plainly_changes(definition: &Definition) -> bool {
    definition.has_word(CHANGING)
}

/// Whether its name says that it looks for something, and does not only fetch what is named.
pub(super) fn searches(definition: &Definition) -> bool {
    definition.has_word("search find query lookup ask recall retrieve")
}

fn verb(definition: &Definition) -> Verb {
    if plainly_changes(definition) {
        return Verb::Changes;
    }
    let mut joined = false;
    let mut found = Verb::Unknown;
    for word in &definition.words {
        let word = word.as_str();
        let here = if among(READING, word) {
            Verb::Reads
        } else if among(PERHAPS_CHANGING, word) {
            Verb::Changes
        } else if among(EXECUTING, word) {
            Verb::Executes
        } else {
            Verb::Unknown
        };
        // The first verb says what a tool does; one after `and` or `or` says what it does as well.
        if found == Verb::Unknown || (joined && matches!(here, Verb::Changes | Verb::Executes)) {
            found = here;
        }
        joined = matches!(word, "and" | "or");
    }
    if found == Verb::Unknown && says(&definition.description, "executes deletes writes") {
        // A name that says nothing, and a description that does.
        return if definition.read_only == Some(true) { Verb::Unknown } else { Verb::Changes };
    }
    found
}
