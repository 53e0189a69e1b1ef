//! How a server is reached, as people may see it: references stay, values are masked.

use portolan_model::{RemoteKind, Secret, TransportSpec, mask_args, mask_url, mask_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `HTTP` stands also for an address of the file that does not say which of the two it speaks.
pub(crate) fn transport_type(transport: &TransportSpec) -> &'static str {
    match transport {
        TransportSpec::Stdio { .. } => "STDIO",
        TransportSpec::Remote { kind: RemoteKind::Sse, .. } => "SSE",
        TransportSpec::Remote { kind: RemoteKind::Http | RemoteKind::Detect, .. } => "HTTP",
    }
}

pub(crate) fn connection_config(transport: &TransportSpec) -> Value {
    match transport {
        TransportSpec::Stdio { command, args, env, cwd } => {
            let args = mask_args(args.iter().map(Secret::reveal));
            let mut config = json!({"command": command, "args": args, "env": masked(env)});
            if let Some(cwd) = cwd {
                config["cwd"] = cwd.as_str().into();
            }
            config
        }
        TransportSpec::Remote { kind, url, headers } => {
            let key = match kind {
                RemoteKind::Sse => "url",
                RemoteKind::Http | RemoteKind::Detect => "base_url",
            };
            json!({key: mask_url(url.reveal()), "headers": masked(headers)})
        }
    }
}

fn masked(values: &BTreeMap<String, Secret>) -> BTreeMap<&str, String> {
    values.iter().map(|(name, value)| (name.as_str(), mask_value(value.reveal()))).collect()
}
