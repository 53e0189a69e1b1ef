//! A server of another program as the REST surface takes it.

use crate::commands::add::transport_of;
use crate::terminal::cli::RemoteTransport;
use portolan_model::{RemoteKind, Secret, ServerSpec, TransportSpec};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) fn of(spec: &ServerSpec) -> Value {
    let (transport, config) = match &spec.transport {
        TransportSpec::Stdio { command, args, env, cwd } => {
            let args: Vec<&str> = args.iter().map(Secret::reveal).collect();
            let mut config = json!({"command": command, "args": args, "env": object(env)});
            if let Some(cwd) = cwd {
                config["cwd"] = json!(cwd);
            }
            ("STDIO", config)
        }
        TransportSpec::Remote { kind, url, headers } => {
            let config = json!({"url": url.reveal(), "headers": object(headers)});
            (transport(*kind, url).as_str(), config)
        }
    };
    let mut draft = json!({
        "name": spec.name.as_str(),
        "transport_type": transport,
        "connection_config": config,
    });
    if let Some(description) = &spec.description {
        draft["description"] = json!(description);
    }
    if let Some(url) = &spec.health_check_url {
        draft["health_check_url"] = json!(url.reveal());
    }
    if let Some(timeout) = spec.timeout {
        draft["timeout"] = json!(timeout.as_secs_f64());
    }
    if !spec.tools.allow.is_empty() || !spec.tools.deny.is_empty() {
        draft["tools"] = json!({"allow": spec.tools.allow, "deny": spec.tools.deny});
    }
    draft
}

/// The transport; a registered server has one, so where nobody says which, the address does.
pub(super) fn transport(kind: RemoteKind, url: &Secret) -> RemoteTransport {
    match kind {
        RemoteKind::Http => RemoteTransport::Http,
        RemoteKind::Sse => RemoteTransport::Sse,
        RemoteKind::Detect => transport_of(url.reveal()),
    }
}

fn object(values: &BTreeMap<String, Secret>) -> Value {
    let values: Map<String, Value> =
        values.iter().map(|(name, value)| (name.clone(), json!(value.reveal()))).collect();
    Value::Object(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, expected: &Value) {
        let file = format!(r#"{{"mcpServers": {{"one": {entry}}}}}"#);
        assert_eq!(of(&portolan_config::parse_servers(&file).unwrap().specs[0]), *expected);
    }

    #[test]
    fn everything_that_a_file_says_of_a_server_comes_along() {
        check(
            r#"{"command": "npx", "args": ["-y", "${A}"], "env": {"T": "${T}"}, "cwd": "/d",
                "portolan": {"description": "d", "timeout": "1500ms", "tools": {"allow": ["a*"], "deny": ["b"]}}}"#,
            &json!({
                "name": "one", "transport_type": "STDIO", "description": "d", "timeout": 1.5,
                "connection_config": {"command": "npx", "args": ["-y", "${A}"], "env": {"T": "${T}"}, "cwd": "/d"},
                "tools": {"allow": ["a*"], "deny": ["b"]},
            }),
        );
        check(
            r#"{"url": "https://h/mcp", "headers": {"A": "b"}, "portolan": {"health_check_url": "https://h/up"}}"#,
            &json!({
                "name": "one", "transport_type": "HTTP", "health_check_url": "https://h/up",
                "connection_config": {"url": "https://h/mcp", "headers": {"A": "b"}},
            }),
        );
    }

    #[test]
    fn an_address_says_its_transport_where_nobody_else_does() {
        let draft = |transport: &str, url: &str| json!({"name": "one", "transport_type": transport, "connection_config": {"url": url, "headers": {}}});
        check(r#"{"url": "https://h/sse"}"#, &draft("SSE", "https://h/sse"));
        check(r#"{"type": "http", "url": "https://h/sse"}"#, &draft("HTTP", "https://h/sse"));
        check(r#"{"type": "sse", "url": "https://h/"}"#, &draft("SSE", "https://h/"));
    }
}
