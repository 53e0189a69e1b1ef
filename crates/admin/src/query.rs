//! What a query asks for. A parameter that is unknown, given twice or out of range is refused: a typo never passes.

use crate::problem::{FieldError, Refusal};
use axum::extract::FromRequestParts;
use http::request::Parts;
use portolan_model::{State, SuggestionState};
use portolan_registry::{Page, Parting, Patience};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{ObjectBuilder, Required, Type};

/// What the query of a request asks for.
pub(crate) struct Query<T>(pub(crate) T);

/// Something that queries can ask for.
pub(crate) trait Asked: Sized {
    fn read(pairs: &mut Pairs) -> Self;
}

impl<T: Asked, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let mut pairs = Pairs::new(parts.uri.query().unwrap_or(""));
        let asked = T::read(&mut pairs);
        pairs.finish().map(|()| Self(asked))
    }
}

/// The pairs of a query that nobody has read yet, and what was wrong with those that were.
pub(crate) struct Pairs {
    left: Vec<(String, String)>,
    known: Vec<&'static str>,
    errors: Vec<FieldError>,
}

impl Pairs {
    fn new(query: &str) -> Self {
        let left = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Self { left, known: Vec::new(), errors: Vec::new() }
    }

    /// Takes out a parameter that was given once.
    fn take(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let at = self.left.iter().position(|(key, _)| key == name)?;
        let (_, value) = self.left.remove(at);
        if self.left.iter().any(|(key, _)| key == name) {
            self.left.retain(|(key, _)| key != name);
            self.refuse(name, "this parameter may be given once only");
            return None;
        }
        Some(value)
    }

    fn refuse(&mut self, name: &str, msg: impl Into<String>) {
        self.errors.push(FieldError::new(&["query", name], msg));
    }

    fn number(&mut self, number: &Number) -> Option<u64> {
        let text = self.take(number.name)?;
        let value = number.parse(&text);
        if value.is_none() {
            self.refuse(number.name, number.allowed());
        }
        value
    }

    fn flag(&mut self, flag: &Flag) -> bool {
        match self.take(flag.name).as_deref() {
            Some("true") => true,
            Some("false") | None => false,
            Some(_) => {
                self.refuse(flag.name, "must be true or false");
                false
            }
        }
    }

    /// A word of an enumeration, in any case.
    fn one_of<T: Copy, const N: usize>(
        &mut self,
        name: &'static str,
        all: [T; N],
        word: fn(T) -> &'static str,
    ) -> Option<T> {
        let text = self.take(name)?;
        let found = all.into_iter().find(|one| word(*one).eq_ignore_ascii_case(&text));
        if found.is_none() {
            self.refuse(name, format!("must be one of {}", all.map(word).join(", ")));
        }
        found
    }

    fn finish(mut self) -> Result<(), Refusal> {
        let known = match self.known.join(", ") {
            none if none.is_empty() => "none is taken here".to_owned(),
            names => format!("known are {names}"),
        };
        for (name, _) in std::mem::take(&mut self.left) {
            self.refuse(&name, format!("there is no such parameter; {known}"));
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Refusal::invalid(self.errors)) }
    }
}

/// A whole number, as it is read and as it is described.
pub(crate) struct Number {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) range: RangeInclusive<u64>,
    pub(crate) default: Option<u64>,
}

impl Number {
    pub(crate) fn parse(&self, text: &str) -> Option<u64> {
        let is_digits = text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|value| is_digits && self.range.contains(value))
    }

    pub(crate) fn allowed(&self) -> String {
        format!("must be a whole number from {} to {}", self.range.start(), self.range.end())
    }

    pub(crate) fn described(&self, place: ParameterIn) -> Parameter {
        // A description's numbers are floating ones; all of these are small enough for them.
        #[expect(clippy::cast_precision_loss, reason = "the largest is 2^53 - 1")]
        let (low, high) = (*self.range.start() as f64, *self.range.end() as f64);
        let schema = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(low))
            .maximum(Some(high))
            .default(self.default.map(Value::from));
        parameter(self.name, self.about, place, schema)
    }
}

struct Flag {
    name: &'static str,
    about: &'static str,
}

impl Flag {
    fn described(&self) -> Parameter {
        let schema = ObjectBuilder::new().schema_type(Type::Boolean).default(Some(json!(false)));
        parameter(self.name, self.about, ParameterIn::Query, schema)
    }
}

fn parameter(name: &str, about: &str, place: ParameterIn, schema: ObjectBuilder) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(schema))
        .build()
}

/// A state as it is described.
fn status<const N: usize>(of: &str, names: [&'static str; N]) -> Parameter {
    let about = format!("Only {of} in this state: {}, in any case.", names.join(", "));
    let schema = ObjectBuilder::new().schema_type(Type::String).pattern(Some(any_case(names)));
    parameter(STATUS, &about, ParameterIn::Query, schema)
}

/// A pattern that takes any of these words in any case: enumerations do.
pub(crate) fn any_case(words: impl IntoIterator<Item = &'static str>) -> String {
    let spelt = |word: &str| -> String {
        word.chars().flat_map(|c| ['[', c.to_ascii_uppercase(), c.to_ascii_lowercase(), ']']).collect()
    };
    let words: Vec<String> = words.into_iter().map(spelt).collect();
    format!("^({})$", words.join("|"))
}

/// Nothing at all.
pub(crate) struct Nothing;

impl Asked for Nothing {
    fn read(_: &mut Pairs) -> Self {
        Self
    }
}

impl IntoParams for Nothing {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        Vec::new()
    }
}

const LIMIT: Number =
    Number { name: "limit", about: "How many entries to show at most.", range: 1..=1000, default: Some(100) };
const OFFSET: Number = Number {
    name: "offset",
    about: "How many entries to leave out at the beginning.",
    range: 0..=i32::MAX as u64,
    default: Some(0),
};

/// A window on a list.
pub(crate) struct Window(pub(crate) Page);

impl Asked for Window {
    fn read(pairs: &mut Pairs) -> Self {
        let mut read = |number: &Number| {
            let value = pairs.number(number).or(number.default).unwrap_or_default();
            // The range is within it.
            u32::try_from(value).unwrap_or(u32::MAX)
        };
        Self(Page { limit: read(&LIMIT), offset: read(&OFFSET) })
    }
}

impl IntoParams for Window {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        [LIMIT, OFFSET].map(|number| number.described(ParameterIn::Query)).into()
    }
}

/// Whether the answers to lists of servers show the servers' tools too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithTools {
    Yes,
    No,
}

/// Which servers are listed, and how much of each.
pub(crate) struct ServerList {
    pub(crate) status: Option<State>,
    pub(crate) tools: WithTools,
    pub(crate) page: Page,
}

const STATES: [State; 5] =
    [State::Disconnected, State::Connecting, State::Connected, State::Degraded, State::Error];
const STATUS: &str = "status";
const INCLUDE_TOOLS: Flag = Flag { name: "include_tools", about: "Show each server's tools too." };

impl Asked for ServerList {
    fn read(pairs: &mut Pairs) -> Self {
        let status = pairs.one_of(STATUS, STATES, State::as_str);
        let tools = if pairs.flag(&INCLUDE_TOOLS) { WithTools::Yes } else { WithTools::No };
        let Window(page) = Window::read(pairs);
        Self { status, tools, page }
    }
}

impl IntoParams for ServerList {
    fn into_params(provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut params = vec![status("servers", STATES.map(State::as_str)), INCLUDE_TOOLS.described()];
        params.extend(Window::into_params(provider));
        params
    }
}

/// Which suggestions are listed.
pub(crate) struct SuggestionList {
    pub(crate) status: Option<SuggestionState>,
    pub(crate) page: Page,
}

impl Asked for SuggestionList {
    fn read(pairs: &mut Pairs) -> Self {
        let status = pairs.one_of(STATUS, SuggestionState::ALL, SuggestionState::as_str);
        let Window(page) = Window::read(pairs);
        Self { status, page }
    }
}

impl IntoParams for SuggestionList {
    fn into_params(provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut params = vec![status("suggestions", SuggestionState::ALL.map(SuggestionState::as_str))];
        params.extend(Window::into_params(provider));
        params
    }
}

const WAIT: Flag =
    Flag { name: "wait", about: "Answer only when it is decided whether the server is connected." };

/// Whether the answer to a connect waits for the connection.
pub(crate) struct Wait(pub(crate) Patience);

impl Asked for Wait {
    fn read(pairs: &mut Pairs) -> Self {
        Self(if pairs.flag(&WAIT) { Patience::UntilDecided } else { Patience::AtOnce })
    }
}

impl IntoParams for Wait {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![WAIT.described()]
    }
}

const FORCE: Flag =
    Flag { name: "force", about: "Cancel calls that are under way instead of letting them end." };

/// Whether what is under way to a server is cancelled.
pub(crate) struct Force(pub(crate) Parting);

impl Asked for Force {
    fn read(pairs: &mut Pairs) -> Self {
        Self(if pairs.flag(&FORCE) { Parting::Forced } else { Parting::Drained })
    }
}

impl IntoParams for Force {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![FORCE.described()]
    }
}

/// The largest whole number that every reader of JSON keeps exactly.
const MOST_EXACT: u64 = (1 << 53) - 1;

const LAST_EVENT_ID: Number = Number {
    name: "last_event_id",
    about: "The id of the last event seen, for clients that cannot set the header.",
    range: 0..=MOST_EXACT,
    default: None,
};

/// The same as browsers send it when they come back.
pub(crate) const LAST_EVENT_ID_HEADER: Number = Number {
    name: "Last-Event-ID",
    about: "The id of the last event seen; what has happened since is told first. It goes before the query's.",
    range: 0..=MOST_EXACT,
    default: None,
};

/// After which event to begin.
pub(crate) struct Since(pub(crate) Option<u64>);

impl Asked for Since {
    fn read(pairs: &mut Pairs) -> Self {
        Self(pairs.number(&LAST_EVENT_ID))
    }
}

impl IntoParams for Since {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![LAST_EVENT_ID.described(ParameterIn::Query), LAST_EVENT_ID_HEADER.described(ParameterIn::Header)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Asked>(query: &str) -> Result<T, String> {
        let mut pairs = Pairs::new(query);
        let asked = T::read(&mut pairs);
        pairs.finish().map(|()| asked).map_err(|refusal| format!("{refusal:?}"))
    }

    #[track_caller]
    fn refused<T: Asked>(query: &str, texts: &[&str]) {
        let error = read::<T>(query).err().unwrap_or_default();
        assert!(!error.is_empty() && texts.iter().all(|text| error.contains(text)), "{query}: {error}");
    }

    #[track_caller]
    fn page(query: &str, limit: u32, offset: u32) {
        assert_eq!(read::<Window>(query).unwrap().0, Page { limit, offset }, "{query}");
    }

    #[test]
    fn a_window_has_its_defaults_and_its_bounds() {
        page("", 100, 0);
        page("limit=1", 1, 0);
        page("offset=2147483647&limit=1000", 1000, 2_147_483_647);
        for query in ["limit=0", "limit=1001", "limit=-1", "limit=", "limit=ten", "limit=%2B5", "limit=1.0"] {
            refused::<Window>(query, &["\"query\", \"limit\"", "from 1 to 1000"]);
        }
        refused::<Window>("offset=2147483648", &["\"query\", \"offset\""]);
    }

    #[test]
    fn a_typo_or_a_second_word_never_passes() {
        refused::<Window>("limt=1", &["\"query\", \"limt\"", "known are limit, offset"]);
        refused::<Window>("Limit=1", &["there is no such parameter"]);
        refused::<Window>("limit=1&limit=2", &["once only"]);
        refused::<Nothing>("x", &["none is taken here"]);
        refused::<Window>("limit=x&offset=y", &["limit", "offset", "and 1 more"]);
    }

    #[test]
    fn a_status_is_taken_in_any_case_and_an_unknown_one_lists_those_there_are() {
        for text in ["connected", "CONNECTED", "Connected"] {
            assert_eq!(read::<ServerList>(&format!("status={text}")).unwrap().status, Some(State::Connected));
        }
        refused::<ServerList>("status=ready", &["DISCONNECTED, CONNECTING, CONNECTED, DEGRADED, ERROR"]);
        assert_eq!(read::<ServerList>("include_tools=true").unwrap().tools, WithTools::Yes);
        refused::<ServerList>("include_tools=yes", &["true or false"]);
    }

    #[test]
    fn suggestions_are_listed_by_what_became_of_them() {
        assert_eq!(read::<SuggestionList>("").unwrap().status, None);
        let pending = read::<SuggestionList>("status=pending&limit=5").unwrap();
        assert_eq!((pending.status, pending.page.limit), (Some(SuggestionState::Pending), 5));
        refused::<SuggestionList>("status=open", &["PENDING, APPROVED, REJECTED, MERGED"]);
    }

    #[test]
    fn a_pattern_takes_its_words_in_any_case() {
        assert_eq!(any_case(["SSE", "a"]), "^([Ss][Ss][Ee]|[Aa])$");
    }

    #[test]
    fn what_may_be_forced_or_waited_for_is_not_unless_somebody_says_so() {
        assert_eq!(read::<Force>("").unwrap().0, Parting::Drained);
        assert_eq!(read::<Force>("force=true").unwrap().0, Parting::Forced);
        assert_eq!(read::<Wait>("wait=false").unwrap().0, Patience::AtOnce);
        assert_eq!(read::<Wait>("wait=true").unwrap().0, Patience::UntilDecided);
        assert_eq!(read::<Since>("last_event_id=7").unwrap().0, Some(7));
    }
}
