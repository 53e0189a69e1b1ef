//! The first words with a server: who we are, what it is, and whether it leads back to ourselves.

use crate::error::ConnectError;
use crate::fleet::Identity;
use crate::pending::Reply;
use bytes::Bytes;
use portolan_model::{Kind, Manner};
use portolan_wire::json::Members;
use portolan_wire::meta::{INSTANCES, VIA};
use portolan_wire::params::{Hop, write_own};
use portolan_wire::{Abilities, Revision, answer};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a server said of itself.
#[derive(Debug, Clone)]
pub(crate) struct Welcome {
    pub(crate) revision: Revision,
    /// Its capabilities as it wrote them.
    capabilities: Arc<RawValue>,
    instructions: Option<Arc<str>>,
    pub(crate) instances: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawWelcome {
    #[serde(default)]
    protocol_version: String,
    #[serde(default)]
    supported_versions: Option<Vec<String>>,
    capabilities: Option<Box<RawValue>>,
    instructions: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: BTreeMap<String, serde_json::Value>,
}

/// The message that opens a session of the older era. The shared one declares no capability: one of many clients cannot be
/// asked anything.
pub(crate) fn initialize(id: u64, identity: &Identity, abilities: &Abilities) -> Bytes {
    let capabilities: serde_json::Value = serde_json::from_str(abilities.as_raw()).unwrap_or_default();
    let params = json!({
        "protocolVersion": Revision::NEWEST_WITH_HANDSHAKE.as_str(),
        "capabilities": capabilities,
        "clientInfo": {"name": "portolan", "version": identity.version},
        "_meta": {VIA: [identity.instance]},
    });
    answer::request(id, "initialize", &params.to_string()).into()
}

/// Who we are, as raw JSON.
#[derive(Debug)]
pub(crate) struct Card {
    client_info: String,
    via: String,
}

impl Card {
    pub(crate) fn of(identity: &Identity) -> Self {
        Self {
            client_info: json!({"name": "portolan", "version": identity.version}).to_string(),
            via: json!([identity.instance]).to_string(),
        }
    }

    /// What a hop to a server of this revision has to say.
    pub(crate) fn hop(&self, revision: Revision, token: u64) -> Hop<'_> {
        Hop { revision, token, client_info: &self.client_info, via: &self.via }
    }
}

/// The question that a server of the newer era answers.
pub(crate) fn discover(id: u64, identity: &Identity) -> Bytes {
    let card = Card::of(identity);
    let mut body = answer::request_head(id, "server/discover", 256);
    write_own(&card.hop(Revision::V2026_07_28, id), &[], &mut body);
    body.push(b'}');
    body.into()
}

impl Welcome {
    /// Reads the answer to `initialize`.
    pub(crate) fn of_initialize(reply: &Reply, identity: &Identity) -> Result<Self, ConnectError> {
        let raw: RawWelcome = read(reply, "initialize")?;
        let revision =
            Revision::parse(&raw.protocol_version).filter(|r| r.has_handshake()).ok_or_else(|| {
                ConnectError::Failed(format!(
                    "it speaks protocol revision {:?}; we asked for {} and know {}",
                    raw.protocol_version,
                    Revision::NEWEST_WITH_HANDSHAKE,
                    Revision::ALL.map(Revision::as_str).join(", ")
                ))
            })?;
        Self::new(raw, revision, identity)
    }

    /// Reads the answer to `server/discover`.
    pub(crate) fn of_discover(reply: &Reply, identity: &Identity) -> Result<Self, ConnectError> {
        Self::new(read(reply, "server/discover")?, Revision::V2026_07_28, identity)
    }

    fn new(raw: RawWelcome, revision: Revision, identity: &Identity) -> Result<Self, ConnectError> {
        let instances = instances(raw.meta.get(INSTANCES));
        refuse_loop(&instances, identity)?;
        let none = || RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let capabilities = raw.capabilities.filter(|raw| raw.get().starts_with('{')).unwrap_or_else(none);
        Ok(Self {
            revision,
            capabilities: capabilities.into(),
            instructions: raw.instructions.filter(|text| !text.trim().is_empty()).map(Arc::from),
            instances,
        })
    }

    /// Whether the server declares a list of this kind.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.declares(kind.capability())
    }

    pub(crate) fn declares(&self, capability: &str) -> bool {
        Members::parse(self.capabilities.get()).is_ok_and(|all| all.get(capability).is_some())
    }

    /// What others may know of it.
    pub(crate) fn manner(&self) -> Manner {
        Manner { capabilities: Some(self.capabilities.clone()), instructions: self.instructions.clone() }
    }
}

fn read(reply: &Reply, method: &str) -> Result<RawWelcome, ConnectError> {
    match reply {
        Reply::Result(raw) => serde_json::from_slice(raw)
            .map_err(|e| ConnectError::Failed(format!("its answer to {method} cannot be read: {e}"))),
        Reply::Error(error) => {
            let text = String::from_utf8_lossy(error);
            Err(if text.contains(VIA) {
                ConnectError::Loop("it is this Portolan itself, or leads back to it".to_owned())
            } else {
                ConnectError::Failed(format!("it refused {method}: {text}"))
            })
        }
    }
}

/// What the answer to the question for the newer era means.
pub(crate) enum Verdict {
    Modern,
    Legacy,
    /// It is this Portolan, or leads back to it.
    Refused,
}

/// Judges the answer to `server/discover`. Servers of the older era answer whatever they like to a request before
/// `initialize`, so only what is certainly of the newer one counts as that.
pub(crate) fn judge(reply: &Reply) -> Verdict {
    match reply {
        Reply::Result(raw) => {
            let versions =
                serde_json::from_slice::<RawWelcome>(raw).ok().and_then(|raw| raw.supported_versions);
            let is_spoken = |all: Vec<String>| all.iter().any(|v| v == Revision::V2026_07_28.as_str());
            if versions.is_some_and(is_spoken) { Verdict::Modern } else { Verdict::Legacy }
        }
        Reply::Error(error) => {
            let text = String::from_utf8_lossy(error);
            if text.contains(VIA) { Verdict::Refused } else { Verdict::Legacy }
        }
    }
}

/// Whether an error is one that only servers of the newer era know.
pub(crate) fn is_of_the_newer_era(reply: &Reply) -> bool {
    let Reply::Error(error) = reply else { return false };
    let code = std::str::from_utf8(error).ok().and_then(answer::error_code);
    matches!(code, Some(-32022..=-32020))
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
