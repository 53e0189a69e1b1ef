//! Every setting, stated once: its field, its kind, its default and what it does.

pub mod describe;
pub mod dollars;
mod kind;
pub mod layers;
pub mod llm;
pub mod places;
pub mod profiles;
pub mod query;
pub mod url;

use dollars::Dollars;
use kind::{
    Address, Anything, Bytes, Calls, Chosen, Count, Embeddings, FilePath, FolderPath, Kind, Limit, List,
    Money, Names, Number, Place, Provider, Registering, Shown, Switch, Text, Time, Wait, WebAddress,
};
use llm::ProviderSetting;
use portolan_model::{Exposure, ServerName};
use query::{QueryRoute, Weights};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use url::HttpUrl;

/// How tools are named where the client's own needs do not decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamesSetting {
    Auto,
    Dot,
    Colon,
    Safe,
}

/// Whether callers of the REST surface may register servers that are programs to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioRegister {
    /// Only while Portolan itself is bound to loopback.
    Auto,
    On,
    Off,
}

/// What says how much two texts mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingsSetting {
    BuiltIn,
    /// An OpenAI-compatible one, at `search.url`.
    Endpoint,
    Off,
}

/// One row of the table: how a setting is called, read and shown.
pub(crate) struct Setting {
    /// `limits.call_timeout`: the path in `portolan.toml`, and in capitals the name of the variable.
    pub(crate) key: &'static str,
    pub(crate) doc: &'static str,
    /// What may be written, as an end to "must be".
    pub(crate) allowed: &'static str,
    /// Whether the text was an allowed one; what is not leaves the settings as they are.
    pub(crate) set: fn(&mut Settings, &str, &Place) -> bool,
    pub(crate) get: fn(&Settings) -> String,
    /// How a text that is not allowed is told.
    pub(crate) quote: fn(&str) -> String,
}

impl Setting {
    pub(crate) fn variable(&self) -> String {
        format!("PORTOLAN_{}", self.key.replace('.', "_").to_ascii_uppercase())
    }
}

/// The whole table, in the order of the documentation.
pub(crate) fn table() -> impl Iterator<Item = &'static Setting> {
    [GENERAL, LIMITS, SEARCH, LLM, QUERY, AGENTS, SECRETS, STDIO].into_iter().flatten()
}

/// A struct, its defaults and its rows of the table from one list, so that no two of them can disagree.
macro_rules! section {
    (
        $(#[$about:meta])*
        $name:ident, rows $rows:ident, prefix $prefix:literal, in |$settings:ident| $place:expr;
        $( $(#[doc = $doc:literal])+ $field:ident: $type:ty as $kind:ty = $default:expr; )+
        $( section $inner:ident: $inner_type:ty; )*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
            $( pub $inner: $inner_type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )+ $( $inner: <$inner_type>::default(), )* }
            }
        }

        const $rows: &[Setting] = &[ $( Setting {
            key: concat!($prefix, stringify!($field)),
            doc: concat!($($doc),+),
            allowed: <$kind as Kind>::ALLOWED,
            set: |$settings, text, place| match <$kind as Kind>::parse(text, place) {
                Some(value) => {
                    $place.$field = value;
                    true
                }
                None => false,
            },
            get: |$settings| <$kind as Kind>::show(&$place.$field),
            quote: <$kind as Kind>::quote,
        }, )+ ];
    };
}

section! {
    /// What Portolan itself goes by; the servers have a file of their own.
    Settings, rows GENERAL, prefix "", in |settings| settings;

    /// The address that `portolan serve` listens on.
    listen: SocketAddr as Address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7777));
    /// The servers file. In `portolan.toml`, a relative path starts at that file's folder.
    config: Option<PathBuf> as FilePath = None;
    /// The folder where `portolan serve` keeps its database and its key.
    data: Option<PathBuf> as FolderPath = None;
    /// How tools are named for clients.
    names: NamesSetting as Names = NamesSetting::Auto;
    /// The profile of `portolan.toml` that clients get which name none; without it they get everything.
    profile: Option<ServerName> as Chosen = None;
    /// How tools are shown to clients that come without a profile: all of them, only those that find and call the others, or only those that ask servers in plain words.
    exposure: Exposure as Shown = Exposure::All;
    /// The name that Portolan announces to clients.
    name: String as Text = "portolan".to_owned();
    /// The version that Portolan announces to clients.
    version: String as Text = env!("CARGO_PKG_VERSION").to_owned();
    /// What is logged: a level, or a filter such as `info,portolan_upstream=debug`.
    log: String as Text = "info".to_owned();
    /// How long the first list of tools waits for servers that are still starting.
    list_wait: Duration as Wait = Duration::from_secs(1);
    /// How many entries one page of a list holds; 0 for all of them, since many clients read only the first.
    list_page: usize as Number = 0;
    /// Whether clients are given, joined, what the servers tell models about themselves.
    instructions: bool as Switch = true;
    /// How often a connected server that has nothing to do is asked whether it still answers.
    health_interval: Duration as Time = Duration::from_secs(30);
    /// Names besides the loopback ones that requests may carry in `Host`.
    allowed_hosts: Vec<String> as List = Vec::new();
    /// Web pages besides the loopback ones that may send requests, as in `https://app.example`.
    allowed_origins: Vec<String> as List = Vec::new();

    section limits: Limits;
    section secrets: SecretSettings;
    section stdio: StdioSettings;
    section search: SearchSettings;
    section llm: LlmSettings;
    section query: QuerySettings;
    section agents: AgentsSettings;
    section profiles: profiles::Profiles;
}

section! {
    /// What one client or one server can take from the rest at most.
    Limits, rows LIMITS, prefix "limits.", in |settings| settings.limits;

    /// The largest request that a client may send.
    request_body_bytes: usize as Bytes = 4 << 20;
    /// The largest message that a server may send.
    upstream_message_bytes: usize as Bytes = 16 << 20;
    /// How deep arrays and objects may stand within each other in a request.
    json_depth: usize as Count = 128;
    /// How long one call may take; a server's own `portolan.timeout` goes before it.
    call_timeout: Duration as Time = Duration::from_mins(1);
    /// How long one try to connect to a server may take.
    connect_timeout: Duration as Time = Duration::from_secs(30);
    /// Calls that may be under way to one server.
    in_flight_per_server: usize as Count = 1024;
    /// Calls that may be under way from one client.
    in_flight_per_client: usize as Count = 256;
    /// Clients that may be connected at once.
    client_sessions: usize as Count = 10_000;
    /// After how long without a request a client's session ends.
    session_idle: Duration as Time = Duration::from_mins(30);
    /// After how long a client that does not read what it asked for is let go.
    client_stall: Duration as Time = Duration::from_mins(1);
    /// Servers that may be registered.
    servers: usize as Count = 1000;
    /// Tools that one server may offer; those beyond are left out.
    tools_per_server: usize as Count = 10_000;
    /// Tools that all servers together may offer.
    tools: usize as Count = 100_000;
    /// How long calls under way may go on once Portolan or a server is to stop.
    drain: Duration as Wait = Duration::from_secs(30);
}

section! {
    /// How tools are found.
    SearchSettings, rows SEARCH, prefix "search.", in |settings| settings.search;

    /// What says how much two texts mean the same: the model inside of Portolan, an endpoint, or nothing, and then words alone decide.
    embeddings: EmbeddingsSetting as Embeddings = EmbeddingsSetting::BuiltIn;
    /// The OpenAI-compatible endpoint (Ollama, vLLM, TEI, OpenAI), with its `/v1`. The variable `PORTOLAN_SEARCH_KEY` may hold a key for it.
    url: Option<HttpUrl> as WebAddress = None;
    /// The model that the endpoint is asked for.
    model: String as Text = "text-embedding-3-small".to_owned();
}

section! {
    /// The language model, which classifies tools and answers questions where one is set.
    LlmSettings, rows LLM, prefix "llm.", in |settings| settings.llm;

    /// In whose dialect the model is asked, if one is asked at all: OpenAI's, which Ollama, vLLM and LM Studio speak too,
    /// or Anthropic's. The variable `PORTOLAN_LLM_KEY` may hold a key; without it `OPENAI_API_KEY` or
    /// `ANTHROPIC_API_KEY` is sent, to that provider's own address alone.
    provider: ProviderSetting as Provider = ProviderSetting::Off;
    /// Where it is asked, for OpenAI's dialect with its `/v1`.
    url: Option<HttpUrl> as WebAddress = None;
    /// The model that is asked; whoever sets a provider has to name one.
    model: String as Anything = String::new();
    /// How long one question may take, with all its tries.
    timeout: Duration as Time = Duration::from_mins(1);
    /// How many tokens one answer may have.
    max_tokens: u32 as Count<u32> = 4096;
    /// What a million tokens of questions cost.
    price_in: Option<Dollars> as Money = None;
    /// What a million tokens of answers cost.
    price_out: Option<Dollars> as Money = None;
    /// What may be spent on one day (of UTC), by the prices above; what may go over it is not asked.
    budget: Option<Dollars> as Money = None;
    /// Tokens that may be used on one day (of UTC), questions and answers together.
    tokens_per_day: Option<u64> as Limit<u64> = None;
    /// Questions that may be asked in a minute.
    requests_per_minute: Option<u32> as Limit<u32> = None;
}

section! {
    /// How one question goes to many servers.
    QuerySettings, rows QUERY, prefix "query.", in |settings| settings.query;

    /// How long one server may take to answer a question that goes to many; one that is late is named and not waited for.
    server_timeout: Duration as Time = Duration::from_secs(3);
    /// How long such a question may take in all.
    timeout: Duration as Time = Duration::from_secs(5);

    section weights: Weights;
    section routes: Vec<QueryRoute>;
}

section! {
    /// What the agents of servers may use.
    AgentsSettings, rows AGENTS, prefix "agents.", in |settings| settings.agents;

    /// Questions that one agent may be asked in a minute.
    queries_per_minute: Option<u32> as Limit<u32> = None;
    /// Tokens of the model in `[llm]` that one agent may use on one day (of UTC).
    tokens_per_day: Option<u64> as Limit<u64> = None;
    /// What one agent may spend on one day (of UTC), by the prices in `[llm]`.
    budget: Option<Dollars> as Money = None;
    /// Calls that an agent may make for one question, where the question does not say.
    max_tools: u32 as Calls = 10;
    /// How long one question to an agent may take, its wait for a turn included.
    timeout: Duration as Time = Duration::from_mins(2);
    /// Questions that all agents together work on at once; more wait for their turn.
    at_once: usize as Count = 32;
}

section! {
    /// What `${NAME}` may mean in a server that was registered over REST, and what seals it.
    SecretSettings, rows SECRETS, prefix "secrets.", in |settings| settings.secrets;

    /// Environment variables that servers registered over REST may read as `${NAME}`.
    allow_env: Vec<String> as List = Vec::new();
    /// The file with the key that seals secrets; the variable `PORTOLAN_SECRET_KEY` goes before it.
    key_file: Option<PathBuf> as FilePath = None;
}

section! {
    /// What holds for servers that are programs to start.
    StdioSettings, rows STDIO, prefix "stdio.", in |settings| settings.stdio;

    /// Whether programs to start may be registered over REST; `auto` is only while bound to loopback.
    register: StdioRegister as Registering = StdioRegister::Auto;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_reads_back_what_it_shows_and_refuses_nothing_it_shows() {
        let default = Settings::default();
        // A path that nobody named is shown as nothing, and to name nothing is a mistake.
        let unnamed = ["config", "data", "profile", "secrets.key_file"];
        for setting in table().filter(|setting| !unnamed.contains(&setting.key)) {
            let mut settings = Settings::default();
            let shown = (setting.get)(&default);
            assert!((setting.set)(&mut settings, &shown, &Place::default()), "{} = {shown}", setting.key);
            assert_eq!(settings, default, "{}", setting.key);
        }
    }

    #[test]
    fn the_limits_are_those_of_the_contract() {
        let limits = Limits::default();
        assert_eq!((limits.request_body_bytes, limits.upstream_message_bytes), (4_194_304, 16_777_216));
        assert_eq!((limits.in_flight_per_server, limits.in_flight_per_client), (1024, 256));
        assert_eq!((limits.client_sessions, limits.json_depth), (10_000, 128));
        assert_eq!((limits.servers, limits.tools_per_server, limits.tools), (1000, 10_000, 100_000));
        assert_eq!(limits.call_timeout, Duration::from_mins(1));
        assert_eq!(Settings::default().listen.to_string(), "127.0.0.1:7777");
    }

    #[test]
    fn the_times_of_a_question_to_many_servers_are_those_of_the_contract() {
        let QuerySettings { server_timeout, timeout, .. } = QuerySettings::default();
        assert_eq!((server_timeout, timeout), (Duration::from_secs(3), Duration::from_secs(5)));
    }

    #[test]
    fn no_two_settings_share_a_variable() {
        let variables: std::collections::BTreeSet<String> = table().map(Setting::variable).collect();
        assert_eq!(variables.len(), table().count());
        for name in ["PORTOLAN_LIMITS_CALL_TIMEOUT", "PORTOLAN_DATA", "PORTOLAN_SECRETS_ALLOW_ENV"] {
            assert!(variables.contains(name), "{name}");
        }
    }

    #[test]
    fn programs_are_registered_on_loopback_alone_and_no_variable_is_read_unless_somebody_says_so() {
        let settings = Settings::default();
        assert_eq!(settings.stdio.register, StdioRegister::Auto);
        assert!(settings.secrets.allow_env.is_empty());
    }
}
