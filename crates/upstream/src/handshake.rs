//! `initialize`, from our side: who we are, what the server is, and whether it leads back to ourselves.

use crate::error::ConnectError;
use crate::fleet::Identity;
use crate::inbox::Inbox;
use crate::link::Link;
use crate::pending::Reply;
use bytes::Bytes;
use portolan_wire::meta::{INSTANCES, VIA};
use portolan_wire::{Revision, answer};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// The whole try to connect has a limit of its own, which is shorter than this.
const LIMIT: Duration = Duration::from_hours(1);

/// What a server said of itself.
#[derive(Debug, Clone)]
pub(crate) struct Welcome {
    pub(crate) revision: Revision,
    pub(crate) has_tools: bool,
    pub(crate) has_logging: bool,
    pub(crate) instances: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawWelcome {
    protocol_version: String,
    #[serde(default)]
    capabilities: BTreeMap<String, serde_json::Value>,
    #[serde(default, rename = "_meta")]
    meta: BTreeMap<String, serde_json::Value>,
}

/// The message that opens a session. No capability is declared: a shared session cannot ask one of many clients.
pub(crate) fn initialize(id: u64, identity: &Identity) -> Bytes {
    let params = json!({
        "protocolVersion": Revision::NEWEST_WITH_HANDSHAKE.as_str(),
        "capabilities": {},
        "clientInfo": {"name": "portolan", "version": identity.version},
        "_meta": {VIA: [identity.instance]},
    });
    answer::request(id, "initialize", &params.to_string()).into()
}

/// The handshake over a link that carries replies by id.
pub(crate) async fn over(
    link: Link,
    inbox: &Inbox,
    identity: &Identity,
) -> Result<(Link, Reply), ConnectError> {
    let mut ticket = inbox.pending.open(LIMIT, None)?;
    let body = initialize(ticket.id, identity);
    let reply = link.carry(&mut ticket, body).await?;
    drop(ticket);
    Ok((link, reply))
}

impl Welcome {
    pub(crate) fn read(reply: &Reply, identity: &Identity) -> Result<Self, ConnectError> {
        let raw = match reply {
            Reply::Result(raw) => raw,
            Reply::Error(error) => {
                let text = String::from_utf8_lossy(error);
                return Err(if text.contains(VIA) {
                    ConnectError::Loop("it is this Portolan itself, or leads back to it".to_owned())
                } else {
                    ConnectError::Failed(format!("it refused initialize: {text}"))
                });
            }
        };
        let raw: RawWelcome = serde_json::from_slice(raw)
            .map_err(|e| ConnectError::Failed(format!("its answer to initialize cannot be read: {e}")))?;
        let revision =
            Revision::parse(&raw.protocol_version).filter(|r| r.has_handshake()).ok_or_else(|| {
                ConnectError::Failed(format!(
                    "it speaks protocol revision {:?}; we asked for {} and know {}",
                    raw.protocol_version,
                    Revision::NEWEST_WITH_HANDSHAKE,
                    Revision::ALL.map(Revision::as_str).join(", ")
                ))
            })?;
        let instances = instances(raw.meta.get(INSTANCES));
        refuse_loop(&instances, identity)?;
        Ok(Self {
            revision,
            has_tools: raw.capabilities.contains_key("tools"),
            has_logging: raw.capabilities.contains_key("logging"),
            instances,
        })
    }
}

/// The instances named in a `_meta` entry.
pub(crate) fn instances(value: Option<&serde_json::Value>) -> Vec<String> {
    let list = value.and_then(|v| v.as_array()).into_iter().flatten();
    list.filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

/// A server through which we would reach ourselves would offer our own tools back to us, without end.
pub(crate) fn refuse_loop(instances: &[String], identity: &Identity) -> Result<(), ConnectError> {
    if instances.contains(&identity.instance) {
        return Err(ConnectError::Loop(
            "it is a Portolan that leads back to this one: remove one of the two entries".to_owned(),
        ));
    }
    Ok(())
}
