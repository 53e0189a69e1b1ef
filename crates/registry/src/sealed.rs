//! How a registered server is kept: everything about reaching it in one sealed text.

use crate::error::RegistryError;
use portolan_access::Vault;
use portolan_model::{Origin, RemoteKind, Secret, ServerId, ServerSpec, Sharing, ToolFilter, TransportSpec};
use portolan_store::ServerRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The text before it is sealed. Fields may be added with a default; none may change its meaning.
#[derive(Serialize, Deserialize)]
struct Kept {
    transport: Transport,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    health_check_url: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Transport {
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<String> },
    Http { url: String, headers: BTreeMap<String, String> },
    Sse { url: String, headers: BTreeMap<String, String> },
    Detect { url: String, headers: BTreeMap<String, String> },
}

/// A sealed text opens only for the server that it was sealed for.
fn purpose(id: ServerId) -> String {
    format!("server:{id}")
}

pub(crate) fn seal(vault: &Vault, id: ServerId, spec: &ServerSpec) -> Result<Vec<u8>, RegistryError> {
    let kept = Kept {
        transport: keep(&spec.transport),
        timeout_ms: spec.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        allow: spec.tools.allow.clone(),
        deny: spec.tools.deny.clone(),
        health_check_url: spec.health_check_url.as_ref().map(|url| url.reveal().to_owned()),
    };
    let sealed = |error: &dyn std::fmt::Display| RegistryError::Sealed(error.to_string());
    let text = serde_json::to_vec(&kept).map_err(|error| sealed(&error))?;
    vault.seal(&purpose(id), &text).map_err(|error| sealed(&error))
}

pub(crate) fn unseal(vault: &Vault, record: &ServerRecord) -> Result<ServerSpec, RegistryError> {
    let broken = |why: &dyn std::fmt::Display| {
        let name = &record.name;
        RegistryError::Sealed(format!("how server {name} is reached cannot be read: {why}"))
    };
    let sealed = record.sealed_spec.as_deref().unwrap_or_default();
    let text = vault.unseal(&purpose(record.id), sealed).map_err(|error| broken(&error))?;
    let kept: Kept = serde_json::from_slice(&text).map_err(|_| broken(&"it is in no known form"))?;
    Ok(ServerSpec {
        name: record.name.clone(),
        transport: restore(kept.transport),
        description: record.description.clone(),
        timeout: kept.timeout_ms.map(Duration::from_millis),
        tools: ToolFilter { allow: kept.allow, deny: kept.deny },
        health_check_url: kept.health_check_url.map(Secret::new),
        sharing: Sharing::default(),
        query: None,
        origin: Origin::Registered,
    })
}

fn keep(transport: &TransportSpec) -> Transport {
    let plain = |secrets: &BTreeMap<String, Secret>| {
        secrets.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect()
    };
    match transport {
        TransportSpec::Stdio { command, args, env, cwd } => Transport::Stdio {
            command: command.clone(),
            args: args.iter().map(|arg| arg.reveal().to_owned()).collect(),
            env: plain(env),
            cwd: cwd.clone(),
        },
        TransportSpec::Remote { kind, url, headers } => {
            let (url, headers) = (url.reveal().to_owned(), plain(headers));
            match kind {
                RemoteKind::Http => Transport::Http { url, headers },
                RemoteKind::Sse => Transport::Sse { url, headers },
                RemoteKind::Detect => Transport::Detect { url, headers },
            }
        }
    }
}

fn restore(transport: Transport) -> TransportSpec {
    let secret = |plain: BTreeMap<String, String>| {
        plain.into_iter().map(|(name, value)| (name, Secret::new(value))).collect()
    };
    let (kind, url, headers) = match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let args = args.into_iter().map(Secret::new).collect();
            return TransportSpec::Stdio { command, args, env: secret(env), cwd };
        }
        Transport::Http { url, headers } => (RemoteKind::Http, url, headers),
        Transport::Sse { url, headers } => (RemoteKind::Sse, url, headers),
        Transport::Detect { url, headers } => (RemoteKind::Detect, url, headers),
    };
    TransportSpec::Remote { kind, url: Secret::new(url), headers: secret(headers) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use portolan_access::Key;
    use portolan_model::{Moment, ServerName, Workspace};

    pub(crate) fn record(spec: &ServerSpec, vault: &Vault) -> ServerRecord {
        let id = ServerId::random();
        ServerRecord {
            id,
            workspace: Workspace::default(),
            name: spec.name.clone(),
            origin: Origin::Registered,
            description: spec.description.clone(),
            sealed_spec: Some(seal(vault, id, spec).unwrap()),
            is_wanted: true,
            registered_at: Moment::from_millis(0),
            updated_at: Moment::from_millis(0),
        }
    }

    pub(crate) fn vault() -> Vault {
        Vault::new(&Key::from_text(&"07".repeat(32)).unwrap())
    }

    pub(crate) fn specs() -> Vec<ServerSpec> {
        let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new("hunter2"))]);
        let remote = |kind| TransportSpec::Remote {
            kind,
            url: Secret::new("https://host.example/mcp?key=hunter2"),
            headers: secrets.clone(),
        };
        let stdio = TransportSpec::Stdio {
            command: "npx".to_owned(),
            args: ["-y", "server", "--token=hunter2"].map(Secret::from).to_vec(),
            env: secrets.clone(),
            cwd: Some("/srv".to_owned()),
        };
        let spec = |transport| ServerSpec {
            name: ServerName::parse("one").unwrap(),
            transport,
            description: Some("a server".to_owned()),
            timeout: Some(Duration::from_millis(1500)),
            tools: ToolFilter { allow: vec!["a*".to_owned()], deny: vec!["b".to_owned()] },
            health_check_url: Some(Secret::new("https://host.example/health")),
            sharing: Sharing::default(),
            query: None,
            origin: Origin::Registered,
        };
        let remotes = [RemoteKind::Http, RemoteKind::Sse, RemoteKind::Detect].map(remote);
        std::iter::once(stdio).chain(remotes).map(spec).collect()
    }

    #[test]
    fn every_transport_comes_back_as_it_was_and_shows_nothing_while_it_is_sealed() {
        let vault = vault();
        for spec in specs() {
            let record = record(&spec, &vault);
            let sealed = record.sealed_spec.clone().unwrap();
            assert!(!String::from_utf8_lossy(&sealed).contains("hunter2"));
            assert_eq!(unseal(&vault, &record).unwrap(), spec);
        }
    }

    #[test]
    fn a_sealed_text_opens_for_no_other_server() {
        let (vault, specs) = (vault(), specs());
        let moved = ServerRecord { id: ServerId::random(), ..record(&specs[0], &vault) };
        let error = unseal(&vault, &moved).unwrap_err().to_string();
        assert!(error.starts_with("how server one is reached cannot be read"), "{error}");
    }
}
