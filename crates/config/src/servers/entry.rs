//! One entry of a servers file, in any of the dialects that programs write.

use super::query;
use super::reader::{Reader, Report};
use crate::json::{Json, JsonPath, Object};
use crate::nearest::nearest;
use crate::quantity::{TIME_HELP, duration};
use portolan_model::{
    Origin, QueryWay, RemoteKind, Secret, ServerName, ServerSpec, Sharing, ToolFilter, TransportSpec,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The keys that mean something here.
const KNOWN: [&str; 18] = [
    "command",
    "args",
    "env",
    "cwd",
    "type",
    "transport",
    "transportType",
    "mode",
    "url",
    "base_url",
    "serverUrl",
    "httpUrl",
    "headers",
    "disabled",
    "enabled",
    "description",
    "timeout",
    "portolan",
];

/// What other programs keep with a server for themselves: approval, look, provenance. To ignore these changes
/// nothing about how the server runs.
const FOREIGN: [&str; 32] = [
    "$comment",
    "_comment",
    "alwaysAllow",
    "author",
    "auth",
    "autoApprove",
    "autoStart",
    "category",
    "comment",
    "dev",
    "disabledTools",
    "enabledTools",
    "excludeTools",
    "fromGalleryId",
    "gallery",
    "homepage",
    "icon",
    "id",
    "includeTools",
    "inputs",
    "instructions",
    "logo",
    "metadata",
    "name",
    "note",
    "notes",
    "oauth",
    "provider",
    "tags",
    "trust",
    "version",
    "watch",
];

/// Where programs write which transport is meant, and where they write the address.
const KIND_KEYS: [&str; 4] = ["type", "transport", "transportType", "mode"];
const URL_KEYS: [&str; 4] = ["url", "base_url", "serverUrl", "httpUrl"];

/// Portolan's own extras.
const EXTRAS: [&str; 6] = ["description", "timeout", "tools", "health_check_url", "query", "session"];

pub(crate) fn is_disabled(at: &JsonPath, fields: &Object, report: &mut Report) -> bool {
    let mut reader = Reader::new(at.clone(), fields, report);
    let (disabled, enabled) = (reader.claim("disabled"), reader.claim("enabled"));
    disabled == Some(true) || enabled == Some(false)
}

/// The spec, or nothing where something was wrong and is reported.
pub(crate) fn read(
    name: ServerName,
    at: &JsonPath,
    fields: &Object,
    report: &mut Report,
) -> Option<ServerSpec> {
    let problems_before = report.problems.len();
    let mut reader = Reader::new(at.clone(), fields, report);
    warn_of_keys(&mut reader);
    let transport = transport(&mut reader);
    let extras = extras(&mut reader);
    // Where only other programs' description is there, it helps search as well as our own would.
    let description = extras.description.or_else(|| match reader.get("description") {
        Some(Json::Text(text)) => Some(text.clone()),
        Some(_) | None => None,
    });
    if report.problems.len() > problems_before {
        return None;
    }
    Some(ServerSpec {
        name,
        transport: transport?,
        description,
        timeout: extras.timeout,
        tools: extras.tools,
        health_check_url: extras.health_check_url,
        sharing: extras.sharing,
        query: extras.query,
        origin: Origin::File,
    })
}

fn warn_of_keys(reader: &mut Reader<'_>) {
    for key in reader.fields.keys() {
        match key {
            "timeout" => reader.warn(
                key,
                "ignored: some programs mean seconds and others milliseconds; write \"portolan\": {\"timeout\": \"30s\"}",
            ),
            "envFile" => reader.warn(key, "not read: put the variables under `env`, as \"${NAME}\" where secret"),
            // Others write a list there. Whoever writes an object means ours, and to drop it in silence would offer
            // what was to be denied.
            "tools" if !matches!(reader.get(key), Some(Json::Object(_))) => {}
            _ if KNOWN.contains(&key) || FOREIGN.contains(&key) => {}
            _ if EXTRAS.contains(&key) => reader.warn(key, "ignored here; it belongs under `portolan`"),
            _ => reader.report.unknown_key(&reader.at.key(key), key, &KNOWN),
        }
    }
}

enum Wanted {
    Stdio,
    Remote(RemoteKind),
    Unsaid,
}

fn transport(reader: &mut Reader<'_>) -> Option<TransportSpec> {
    let wanted = wanted(reader)?;
    let has_command = reader.fields.get("command").is_some();
    let url_key = URL_KEYS.into_iter().find(|key| reader.get(key).is_some());
    match (wanted, url_key) {
        (Wanted::Unsaid, Some(_)) if has_command => {
            reader
                .problem("command", "There are both a command and a url: keep one, or say which with `type`");
            None
        }
        (Wanted::Stdio, _) | (Wanted::Unsaid, None) => stdio(reader),
        (Wanted::Remote(kind), Some(key)) => remote(reader, kind, key),
        // Gemini's `httpUrl` says by its name what it leads to.
        (Wanted::Unsaid, Some(key @ "httpUrl")) => remote(reader, RemoteKind::Http, key),
        (Wanted::Unsaid, Some(key)) => remote(reader, RemoteKind::Detect, key),
        (Wanted::Remote(_), None) => {
            reader
                .problem("url", "Missing url: a server of this type needs one, such as \"https://host/mcp\"");
            None
        }
    }
}

fn wanted(reader: &mut Reader<'_>) -> Option<Wanted> {
    let Some(key) = KIND_KEYS.into_iter().find(|key| reader.get(key).is_some()) else {
        return Some(Wanted::Unsaid);
    };
    let plain: String = reader.text(key)?.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "stdio" | "local" => Some(Wanted::Stdio),
        "http" | "streamablehttp" | "streamable" => Some(Wanted::Remote(RemoteKind::Http)),
        "sse" => Some(Wanted::Remote(RemoteKind::Sse)),
        "remote" => Some(Wanted::Remote(RemoteKind::Detect)),
        _ => {
            let message = format!("{key} must be `stdio`, `http`, `streamable-http` or `sse`");
            reader.problem(key, message);
            None
        }
    }
}

fn stdio(reader: &mut Reader<'_>) -> Option<TransportSpec> {
    let command = match reader.fields.get("command") {
        Some(Json::Text(command)) if !command.trim().is_empty() => Some(command.clone()),
        found => {
            let message = format!("Missing or invalid command: {}", command_remedy(found, reader.fields));
            reader.problem("command", message);
            None
        }
    };
    let args = reader.list("args").into_iter().map(Secret::new).collect();
    let env = reader.map("env");
    for name in env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
        reader.report.problem(&reader.at.key("env").key(name), "No variable can have this name: rename it");
    }
    let cwd = reader.text("cwd").map(str::to_owned);
    Some(TransportSpec::Stdio { command: command?, args, env, cwd })
}

fn command_remedy(found: Option<&Json>, fields: &Object) -> String {
    match found {
        Some(Json::Text(_)) => "it is empty; write the program to start".to_owned(),
        Some(Json::List(_)) => "write the program as text, and what follows it under `args`".to_owned(),
        Some(other) => format!("it must be a text, not {}", other.what()),
        None => {
            let mut unknown = fields.keys().filter(|key| !KNOWN.contains(key) && !FOREIGN.contains(key));
            match unknown.find_map(|key| Some((key, nearest(key, ["command", "url"])?))) {
                Some((key, meant)) => format!("rename `{key}` to `{meant}`"),
                None => "write `command` (a program to start) or `url` (a server to reach)".to_owned(),
            }
        }
    }
}

fn remote(reader: &mut Reader<'_>, kind: RemoteKind, key: &str) -> Option<TransportSpec> {
    let url = reader.text(key)?;
    if !url.contains('$') && !is_web_address(url) {
        reader.problem(key, NO_WEB_ADDRESS);
    }
    let headers = if reader.get("headers").is_some() { reader.map("headers") } else { BTreeMap::new() };
    Some(TransportSpec::Remote { kind, url: Secret::new(url), headers })
}

pub(crate) const NO_WEB_ADDRESS: &str = "The address must start with http:// or https:// and name a host";

pub(crate) fn is_web_address(url: &str) -> bool {
    let lower = url.trim().to_ascii_lowercase();
    let rest = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | '_')))
}

#[derive(Default)]
struct Extras {
    description: Option<String>,
    timeout: Option<Duration>,
    tools: ToolFilter,
    health_check_url: Option<Secret>,
    sharing: Sharing,
    query: Option<QueryWay>,
}

fn extras(reader: &mut Reader<'_>) -> Extras {
    let Some(fields) = reader.object("portolan") else { return Extras::default() };
    let mut own = Reader::new(reader.at.key("portolan"), fields, reader.report);
    for key in fields.keys().filter(|key| !EXTRAS.contains(key)) {
        own.report.unknown_key(&own.at.key(key), key, &EXTRAS);
    }
    let description = own.text("description").map(str::to_owned);
    let timeout = match own.get("timeout") {
        None => None,
        Some(Json::Number(text) | Json::Text(text)) => {
            let time = duration(text).filter(|time| !time.is_zero());
            if time.is_none() {
                own.problem("timeout", format!("timeout must be {TIME_HELP}"));
            }
            time
        }
        Some(other) => {
            own.problem("timeout", format!("timeout must be {TIME_HELP}, not {}", other.what()));
            None
        }
    };
    let health_check_url = own.text("health_check_url").map(str::to_owned);
    if health_check_url.as_ref().is_some_and(|url| !url.contains('$') && !is_web_address(url)) {
        own.problem("health_check_url", NO_WEB_ADDRESS);
    }
    let sharing = match own.text("session").map(Sharing::parse) {
        None => Sharing::default(),
        Some(Some(sharing)) => sharing,
        Some(None) => {
            let known = Sharing::ALL.map(Sharing::as_str).join(", ");
            own.problem("session", format!("session must be one of {known}"));
            Sharing::default()
        }
    };
    let (tools, query) = (tools(&mut own), query::read(&mut own));
    let health_check_url = health_check_url.map(Secret::new);
    Extras { description, timeout, tools, health_check_url, sharing, query }
}

fn tools(own: &mut Reader<'_>) -> ToolFilter {
    const FILTER: [&str; 2] = ["allow", "deny"];
    let Some(fields) = own.object("tools") else { return ToolFilter::default() };
    let mut filter = Reader::new(own.at.key("tools"), fields, own.report);
    for key in fields.keys().filter(|key| !FILTER.contains(key)) {
        filter.report.unknown_key(&filter.at.key(key), key, &FILTER);
    }
    ToolFilter { allow: filter.list("allow"), deny: filter.list("deny") }
}
