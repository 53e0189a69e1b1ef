//! From what somebody sent to a server that can be registered, or to everything that is wrong with it at once.

use crate::draft::{ConnectionConfig, Draft};
use crate::error::FieldProblem;
use portolan_model::{
    MASK, Origin, RemoteKind, Secret, ServerName, ServerSpec, Sharing, ToolFilter, TransportSpec, holds_mask,
};
use portolan_outbound::Outbound;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use url::Url;

const LONGEST_DESCRIPTION: usize = 1000;
const SHORTEST_TIMEOUT: f64 = 0.001;
/// A call that may take longer than a day is a mistake.
const LONGEST_TIMEOUT: f64 = 86_400.0;
/// Headers that belong to each single request, or that say whom it is for.
const NOT_OURS: [&str; 6] =
    ["connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"];

/// What `${NAME}` may stand for in a registered server.
pub(crate) trait Names {
    fn is_known(&self, name: &str) -> bool;
}

/// What a draft is held against.
pub(crate) struct Rules<'a> {
    pub(crate) names: &'a dyn Names,
    pub(crate) outbound: &'a Outbound,
}

impl Rules<'_> {
    /// The server, or all problems.
    pub(crate) fn check(&self, draft: &Draft) -> Result<ServerSpec, Vec<FieldProblem>> {
        let mut checking = Checking { rules: self, problems: Vec::new() };
        let name = checking.name(&draft.name);
        checking.masked(&draft.connection_config);
        let transport = checking.transport(&draft.transport_type, &draft.connection_config);
        checking.description(draft.description.as_deref());
        let health_check_url = draft.health_check_url.as_deref().filter(|url| !url.is_empty());
        if let Some(url) = health_check_url {
            checking.url(&["health_check_url"], url);
        }
        let timeout = draft.timeout.and_then(|seconds| checking.timeout(seconds));
        let tools = draft.tools.clone().unwrap_or_default();
        let (Some(name), Some(transport), []) = (name, transport, &checking.problems[..]) else {
            return Err(checking.problems);
        };
        let spec = ServerSpec {
            name,
            transport,
            description: draft.description.clone().filter(|text| !text.is_empty()),
            timeout,
            tools: ToolFilter { allow: tools.allow, deny: tools.deny },
            health_check_url: health_check_url.map(Secret::from),
            sharing: Sharing::default(),
            query: None,
            origin: Origin::Registered,
        };
        let unknown = self.unknown_names(&spec);
        if unknown.is_empty() { Ok(spec) } else { Err(unknown) }
    }

    /// Otherwise whoever may register a server could read every secret of the process. A name with a default may be
    /// unknown: then it is the default that is meant.
    fn unknown_names(&self, spec: &ServerSpec) -> Vec<FieldProblem> {
        let unknown = |name: &String| !self.names.is_known(name);
        let problem = |name: String| {
            let message = format!(
                "${{{name}}} is no secret here: set it with `portolan secret set {name}`, list the environment variable in \
                 `secrets.allow_env`, or write $$ where a plain $ is meant"
            );
            FieldProblem::new(&["connection_config"], message)
        };
        portolan_config::required_references(spec).into_iter().filter(unknown).map(problem).collect()
    }
}

struct Checking<'a> {
    rules: &'a Rules<'a>,
    problems: Vec<FieldProblem>,
}

impl Checking<'_> {
    fn problem(&mut self, loc: &[&str], msg: impl Into<String>) {
        self.problems.push(FieldProblem::new(loc, msg));
    }

    fn name(&mut self, name: &str) -> Option<ServerName> {
        match ServerName::parse(name) {
            Ok(name) => Some(name),
            Err(error) => {
                self.problem(&["name"], error.to_string());
                None
            }
        }
    }

    fn description(&mut self, text: Option<&str>) {
        let length = text.map_or(0, |text| text.chars().count());
        if length > LONGEST_DESCRIPTION {
            let message =
                format!("a description has at most {LONGEST_DESCRIPTION} characters; this has {length}");
            self.problem(&["description"], message);
        }
        if text.is_some_and(|text| text.contains('\0')) {
            self.problem(&["description"], "it holds a NUL character: remove it");
        }
    }

    /// To store a mask would lose the value that it stands for in silence.
    fn masked(&mut self, config: &ConnectionConfig) {
        let of_map = |values: &Option<BTreeMap<String, String>>| -> Vec<String> {
            values.iter().flat_map(BTreeMap::values).cloned().collect()
        };
        let texts = of_map(&config.env).into_iter().chain(of_map(&config.headers));
        let texts = texts.chain(config.args.iter().flatten().cloned());
        let texts = texts.chain(config.url.clone()).chain(config.base_url.clone());
        if texts.into_iter().any(|text| holds_mask(&text)) {
            let message =
                format!("a value that is only shown as {MASK} was not known before: send the value itself");
            self.problem(&["connection_config"], message);
        }
    }

    fn timeout(&mut self, seconds: f64) -> Option<Duration> {
        if (SHORTEST_TIMEOUT..=LONGEST_TIMEOUT).contains(&seconds) {
            return Some(Duration::from_secs_f64(seconds));
        }
        self.problem(&["timeout"], "a timeout is a number of seconds, from 0.001 to 86400");
        None
    }

    fn transport(&mut self, kind: &str, config: &ConnectionConfig) -> Option<TransportSpec> {
        match kind.to_ascii_uppercase().as_str() {
            "STDIO" => self.stdio(config),
            "SSE" => self.remote(RemoteKind::Sse, config, config.url.as_deref(), "url"),
            "HTTP" => {
                let both = config.base_url.is_some() && config.url.is_some();
                if both {
                    self.problem(&["connection_config", "url"], "there are both base_url and url: keep one");
                }
                let url = config.base_url.as_deref().or(config.url.as_deref());
                self.remote(RemoteKind::Http, config, url, "base_url")
            }
            _ => {
                self.problem(&["transport_type"], "transport_type must be STDIO, SSE or HTTP");
                None
            }
        }
    }

    fn stdio(&mut self, config: &ConnectionConfig) -> Option<TransportSpec> {
        self.refuse_foreign(&[
            ("url", config.url.is_some()),
            ("base_url", config.base_url.is_some()),
            ("headers", config.headers.is_some()),
        ]);
        let (args, env) = (config.args.clone().unwrap_or_default(), config.env.clone().unwrap_or_default());
        for name in env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
            self.problem(&["connection_config", "env", name], "no variable can have this name: rename it");
        }
        let texts = args.iter().chain(env.values()).chain(&config.cwd).chain(&config.command);
        if texts.into_iter().any(|text| text.contains('\0')) {
            self.problem(&["connection_config"], "a value holds a NUL character: remove it");
        }
        let command = config.command.clone().filter(|command| !command.trim().is_empty());
        let Some(command) = command else {
            let message = "a server of the type STDIO needs a command: the program to start";
            self.problem(&["connection_config", "command"], message);
            return None;
        };
        let env = env.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        let args = args.into_iter().map(Secret::new).collect();
        Some(TransportSpec::Stdio { command, args, env, cwd: config.cwd.clone() })
    }

    fn remote(
        &mut self,
        kind: RemoteKind,
        config: &ConnectionConfig,
        url: Option<&str>,
        key: &str,
    ) -> Option<TransportSpec> {
        self.refuse_foreign(&[
            ("command", config.command.is_some()),
            ("args", config.args.is_some()),
            ("env", config.env.is_some()),
            ("cwd", config.cwd.is_some()),
            ("base_url", kind == RemoteKind::Sse && config.base_url.is_some()),
        ]);
        let headers = self.headers(config.headers.clone().unwrap_or_default());
        let Some(url) = url else {
            let message =
                format!("{key} is required for a server of this type, such as \"https://host/mcp\"");
            self.problem(&["connection_config", key], message);
            return None;
        };
        self.url(&["connection_config", key], url);
        Some(TransportSpec::Remote { kind, url: Secret::new(url.trim()), headers })
    }

    fn refuse_foreign(&mut self, fields: &[(&str, bool)]) {
        for (field, _) in fields.iter().filter(|(_, is_there)| *is_there) {
            self.problem(&["connection_config", field], "a server of this transport_type has no such field");
        }
    }

    /// An address that can be judged by itself is; one with `${NAME}` in it is judged when it is expanded.
    fn url(&mut self, loc: &[&str], url: &str) {
        if url.contains('$') {
            return;
        }
        let parsed = match Url::parse(url.trim()) {
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() => parsed,
            Ok(_) | Err(_) => {
                return self.problem(loc, "the address must start with http:// or https:// and name a host");
            }
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            self.problem(loc, "the address holds credentials: put them into `headers`");
        }
        if let Some(refusal) = self.rules.outbound.refusal(parsed.as_str()) {
            self.problem(loc, refusal.to_string());
        }
    }

    fn headers(&mut self, headers: BTreeMap<String, String>) -> BTreeMap<String, Secret> {
        let mut seen = HashSet::new();
        for (name, value) in &headers {
            let loc = ["connection_config", "headers", name.as_str()];
            if !is_header_name(name) {
                self.problem(&loc, "no header can have this name: letters, digits and - are safe");
            } else if NOT_OURS.contains(&name.to_ascii_lowercase().as_str()) {
                self.problem(&loc, "this header is set with every request and cannot be chosen");
            }
            if !seen.insert(name.to_ascii_lowercase()) {
                self.problem(&loc, "this header is there twice, in two spellings: keep one");
            }
            if value.chars().any(|c| c.is_control() && c != '\t') {
                self.problem(&loc, "the value holds a line break or another control character: remove it");
            }
        }
        headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect()
    }
}

fn is_header_name(name: &str) -> bool {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portolan_outbound::Options;
    use serde_json::{Value, json};

    struct Some1;

    impl Names for Some1 {
        fn is_known(&self, name: &str) -> bool {
            name == "TOKEN"
        }
    }

    fn judge(draft: Value) -> Result<ServerSpec, Vec<String>> {
        let outbound = Outbound::new(Options::default()).unwrap();
        let draft: Draft = serde_json::from_value(draft).unwrap();
        let problems = |all: Vec<FieldProblem>| {
            all.into_iter().map(|p| format!("{}: {}", p.loc.join("."), p.msg)).collect()
        };
        Rules { names: &Some1, outbound: &outbound }.check(&draft).map_err(problems)
    }

    #[track_caller]
    fn check(draft: Value, expected: &[&str]) {
        let problems = judge(draft).unwrap_err();
        assert_eq!(problems.len(), expected.len(), "{problems:#?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(expected), "{problem}\ndoes not start with\n{expected}");
        }
    }

    #[test]
    fn br_001_each_transport_needs_its_own_fields() {
        check(
            json!({"name": "a", "transport_type": "STDIO", "connection_config": {}}),
            &["connection_config.command"],
        );
        check(
            json!({"name": "a", "transport_type": "SSE", "connection_config": {"headers": {}}}),
            &["connection_config.url"],
        );
        check(
            json!({"name": "a", "transport_type": "HTTP", "connection_config": {}}),
            &["connection_config.base_url"],
        );
        check(
            json!({"name": "a", "transport_type": "CARRIER", "connection_config": {}}),
            &["transport_type"],
        );
        for (kind, config) in [
            ("stdio", json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}})),
            (
                "Sse",
                json!({"url": "https://host.example/sse", "headers": {"Authorization": "Bearer ${TOKEN}"}}),
            ),
            ("http", json!({"base_url": "https://host.example/mcp"})),
            ("HTTP", json!({"url": "https://host.example/mcp"})),
        ] {
            let spec =
                judge(json!({"name": "a", "transport_type": kind, "connection_config": config})).unwrap();
            assert_eq!(spec.origin, Origin::Registered);
        }
    }

    #[test]
    fn br_001_everything_that_is_wrong_is_told_at_once() {
        let draft = json!({
            "name": "Git Hub", "transport_type": "HTTP", "description": "x".repeat(1001), "timeout": 0,
            "connection_config": {"url": "ftp://x", "command": "ls", "headers": {"Host": "x", "a b": "c", "X": "a\nb"}},
            "health_check_url": "nowhere",
        });
        check(
            draft,
            &[
                "name",
                "connection_config.command",
                "connection_config.headers.Host",
                "connection_config.headers.X",
                "connection_config.headers.a b",
                "connection_config.url",
                "description",
                "health_check_url",
                "timeout",
            ]
            .map(|loc| if loc == "connection_config.url" { "connection_config.base_url" } else { loc }),
        );
    }

    #[test]
    fn t17_a_name_that_is_no_secret_is_refused() {
        let header = |value: &str| {
            json!({
                "name": "a", "transport_type": "HTTP",
                "connection_config": {"url": "https://host.example", "headers": {"X": value}},
            })
        };
        check(header("${PATH}"), &["connection_config: ${PATH} is no secret here"]);
        check(header("$HOME and ${USER}"), &["connection_config: ${HOME}", "connection_config: ${USER}"]);
        assert!(judge(header("${TOKEN} costs 5$ or $$5, at ${LEVEL:-any} level")).is_ok());
    }

    #[test]
    fn t15_addresses_that_would_never_be_dialled_are_refused_at_once() {
        for url in [
            "http://169.254.169.254/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://0x7f000001/",
            "http://2130706433/",
        ] {
            let draft = json!({"name": "a", "transport_type": "HTTP", "connection_config": {"url": url}});
            check(draft, &["connection_config.base_url"]);
        }
    }
}
