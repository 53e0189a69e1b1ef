//! The first words with a client: what was settled once in a handshake, or is said with every request.

use crate::Front;
use crate::client::{Client, Terms};
use crate::fault::{INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_VERSION, refusal, refusal_with};
use crate::request::{Method, Pieces, Request};
use crate::styles::Transport;
use portolan_catalog::{Declared, View};
use portolan_model::NameStyle;
use portolan_wire::level::Level;
use portolan_wire::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, INSTANCES, LOG_LEVEL, PROTOCOL_VERSION, SERVER_INFO, VIA,
};
use portolan_wire::params::Params;
use portolan_wire::{Abilities, Revision, answer, json};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How much of the servers' own instructions a client is given: models read all of it with every conversation.
const INSTRUCTIONS: usize = 8 * 1024;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InitializeParams<'a> {
    protocol_version: String,
    #[serde(borrow)]
    capabilities: Option<&'a RawValue>,
    client_info: ClientInfo,
    #[serde(rename = "_meta")]
    meta: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClientInfo {
    name: String,
    version: String,
}

impl Front {
    /// `initialize`: settles the terms with a client, or says why not. It waits for no server.
    pub(crate) fn initialize(
        &self,
        client: &Client,
        request: &Request,
        transport: Transport,
    ) -> Result<Pieces, Pieces> {
        let id = request.id();
        let params: InitializeParams<'_> = request
            .params()?
            .raw()
            .map(serde_json::from_str)
            .transpose()
            .map_err(|e| refusal(id, INVALID_PARAMS, &format!("initialize: {e}")))?
            .unwrap_or_default();
        let via = params.meta.get(VIA).map(Value::to_string);
        let peer = self.peer(via.as_deref()).map_err(|text| refusal(id, INVALID_REQUEST, &text))?;
        let revision = Revision::negotiate(&params.protocol_version);
        let style = self.style(&client.view, transport, &params.client_info.name);
        let (name, version) = (&params.client_info.name, &params.client_info.version);
        tracing::debug!(client = name, version, %revision, ?style, "a client initializes");
        let result = self.welcome(client, revision, peer.is_some());
        let abilities = params.capabilities.map(|raw| Abilities::parse(raw.get())).unwrap_or_default();
        if !client.agree(Terms { revision, style, peer, abilities, level: None }) {
            return Err(refusal(id, INVALID_REQUEST, "initialize was sent before; a session has one"));
        }
        // What the client knows is what is there now; only later changes are news.
        client.news(&self.catalog().snapshot());
        Ok(answer::result(id, result.as_bytes()).into())
    }

    /// What a request of 2026-07-28 says for itself, or why it is refused.
    pub(crate) fn own_terms(
        &self,
        view: &View,
        request: &Request,
        params: &Params,
        transport: Transport,
    ) -> Result<Terms, Pieces> {
        let wrong = |text: &str| refusal(request.id(), INVALID_PARAMS, text);
        let needs = |key: &str| wrong(&format!("_meta needs `{key}` in every request"));
        let version = params.meta(PROTOCOL_VERSION).ok_or_else(|| needs(PROTOCOL_VERSION))?;
        let version = json::text(version).ok_or_else(|| needs(PROTOCOL_VERSION))?;
        let Some(revision) = Revision::parse(&version).filter(|revision| !revision.has_handshake()) else {
            let data = json!({"supported": supported(), "requested": version});
            let text = format!("protocol revision {version} is not spoken in this way");
            return Err(refusal_with(request.id(), UNSUPPORTED_VERSION, &text, &data));
        };
        let capabilities = params.meta(CLIENT_CAPABILITIES).ok_or_else(|| needs(CLIENT_CAPABILITIES))?;
        if !capabilities.starts_with('{') {
            return Err(wrong(&format!("`{CLIENT_CAPABILITIES}` must be an object")));
        }
        let level = match params.meta(LOG_LEVEL).map(|raw| json::text(raw).as_deref().and_then(Level::parse))
        {
            None => None,
            Some(Some(level)) => Some(level),
            Some(None) => return Err(wrong(&format!("`{LOG_LEVEL}` is none of the levels"))),
        };
        let peer =
            self.peer(params.meta(VIA)).map_err(|text| refusal(request.id(), INVALID_REQUEST, &text))?;
        // Only lists show names; calls take them in every style.
        let style = if let Method::List(_) = request.method {
            let name = params.meta(CLIENT_INFO).and_then(client_name).unwrap_or_default();
            self.style(view, transport, &name)
        } else {
            NameStyle::Dot
        };
        Ok(Terms { revision, style, peer, abilities: Abilities::parse(capabilities), level })
    }

    /// The Portolan that is asking, if one is. One that is ourselves is refused.
    fn peer(&self, via: Option<&str>) -> Result<Option<String>, String> {
        let via: Vec<String> = via.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
        if via.contains(&self.options.instance) {
            return Err(format!(
                "{VIA}: this Portolan is connecting to itself; remove the entry that points here"
            ));
        }
        Ok(via.into_iter().next())
    }

    fn style(&self, view: &View, transport: Transport, client_name: &str) -> NameStyle {
        match view {
            View::Server(_) => NameStyle::Bare,
            View::Profile(profile) if let Some(style) = profile.names => style,
            View::All | View::Profile(_) => self.options.names.choose(transport, client_name),
        }
    }

    fn welcome(&self, client: &Client, revision: Revision, is_peer: bool) -> String {
        let mut rest = json!({"protocolVersion": revision.as_str(), "serverInfo": self.server_info()});
        if let Some(instructions) = self.instructions(&client.view) {
            rest["instructions"] = json!(instructions);
        }
        if is_peer {
            rest["_meta"] = json!({ INSTANCES: self.instances() });
        }
        self.with_capabilities(&client.view, revision, &rest)
    }

    /// `server/discover`: the same for a client that has no handshake.
    pub(crate) fn discover(&self, client: &Client, request: &Request) -> Pieces {
        let terms = request.terms(client);
        let mut rest = json!({
            "resultType": "complete",
            "supportedVersions": supported(),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {SERVER_INFO: self.server_info()},
        });
        if let Some(instructions) = self.instructions(&client.view) {
            rest["instructions"] = json!(instructions);
        }
        if terms.peer.is_some() {
            rest["_meta"][INSTANCES] = json!(self.instances());
        }
        let result = self.with_capabilities(&client.view, terms.revision, &rest);
        answer::result(request.id(), result.as_bytes()).into()
    }

    /// A result with the capabilities beside the rest, as the bytes that servers wrote.
    fn with_capabilities(&self, view: &View, revision: Revision, rest: &Value) -> String {
        // Texts can always be written.
        let capabilities = serde_json::to_string(&self.capabilities(view, revision)).unwrap_or_default();
        let rest = rest.to_string();
        format!(r#"{{"capabilities":{capabilities},{}"#, rest.trim_start_matches('{'))
    }

    fn server_info(&self) -> Value {
        json!({"name": self.options.name, "version": self.options.version})
    }

    fn instances(&self) -> Vec<String> {
        let snapshot = self.catalog().snapshot();
        let others = snapshot.instances().into_iter().map(str::to_owned);
        others.chain([self.options.instance.clone()]).collect()
    }

    fn instructions(&self, view: &View) -> Option<String> {
        let wanted = self.options.instructions || view.alone().is_some();
        wanted.then(|| self.catalog().snapshot().instructions(view, INSTRUCTIONS)).flatten()
    }

    /// What can be done here. One server by itself declares what it declares; all of them together, whatever any may.
    pub(crate) fn capabilities(&self, view: &View, revision: Revision) -> Declared {
        let mut all = self.catalog().snapshot().capabilities(view);
        let is_known = |name: &str| view.alone().is_none_or(|server| self.declares(server, name));
        for (name, flags) in [
            ("tools", &["listChanged"][..]),
            ("prompts", &["listChanged"]),
            ("resources", &["listChanged", "subscribe"]),
            ("completions", &[]),
            ("logging", &[]),
        ] {
            // Everybody who shakes hands may set a level: it is kept here.
            if is_known(name) || (name == "logging" && revision.has_handshake()) {
                declare(&mut all, name, flags);
            }
        }
        self.declare_tasks(view, revision, &mut all);
        all
    }

    /// Whether a server declares a capability. Nothing is known of one that has not been met: then it may.
    pub(crate) fn declares(&self, server: &portolan_model::ServerName, capability: &str) -> bool {
        let snapshot = self.catalog().snapshot();
        let manner =
            snapshot.servers().get(server).and_then(|entry| entry.offer()).map(|offer| &offer.manner);
        let Some(raw) = manner.and_then(|manner| manner.capabilities.as_ref()) else { return true };
        json::Members::parse(raw.get()).is_ok_and(|own| own.get(capability).is_some())
    }
}

/// Adds a capability with these flags to whatever a server has said of it.
pub(crate) fn declare(all: &mut Declared, name: &str, flags: &[&str]) {
    let before = all.get(name).and_then(|raw| serde_json::from_str::<Declared>(raw.get()).ok());
    let mut members = before.unwrap_or_default();
    let yes = serde_json::value::to_raw_value(&true);
    for flag in flags {
        members.extend(yes.as_ref().ok().map(|yes| ((*flag).to_owned(), yes.clone())));
    }
    if let Ok(raw) = serde_json::value::to_raw_value(&members) {
        all.insert(name.to_owned(), raw);
    }
}

fn supported() -> Vec<&'static str> {
    Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect()
}

fn client_name(raw: &str) -> Option<Cow<'_, str>> {
    json::Members::parse(raw).ok()?.get("name").and_then(json::text)
}
