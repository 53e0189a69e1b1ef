//! A list of tools as the bytes that clients get.

use crate::entry::Entry;
use crate::snapshot::Snapshot;
use bytes::Bytes;
use portolan_model::name::{self, NameStyle};
use portolan_model::{Offer, ServerName, Tool};
use portolan_wire::meta::{INSTANCES, PARTIAL, PENDING};
use portolan_wire::{Revision, json, project};
use std::sync::Arc;

/// A client that is a Portolan too.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'a> {
    /// Its own instance id.
    pub asking: &'a str,
    /// Ours.
    pub own: &'a str,
}

pub(crate) fn all(
    snapshot: &Snapshot,
    style: NameStyle,
    revision: Revision,
    peer: Option<&Peer<'_>>,
) -> Bytes {
    // A list of ten thousand tools that grows as it is written would be copied ten times over.
    let length = |(server, tool): (&ServerName, &Arc<Tool>)| {
        tool.definition.get().len() + server.as_str().len() + tool.name.len() + MARGIN
    };
    let mut out = begin(snapshot.tools().map(length).sum());
    let leads_back = |server: &ServerName| {
        peer.is_some_and(|peer| {
            let offer = snapshot.servers().get(server).and_then(|e| e.offer());
            offer.is_some_and(|o| o.instances.iter().any(|i| i == peer.asking))
        })
    };
    let safe = if style == NameStyle::Safe { &snapshot.safe_names().in_order[..] } else { &[] };
    for (at, (server, tool)) in snapshot.tools().enumerate() {
        if leads_back(server) {
            continue;
        }
        let joined;
        let shown = match style {
            NameStyle::Safe => safe.get(at).map_or("", String::as_str),
            NameStyle::Colon => {
                joined = name::join(server, &tool.name, ':');
                &joined
            }
            NameStyle::Dot | NameStyle::Bare => {
                joined = name::join(server, &tool.name, '.');
                &joined
            }
        };
        add(tool.definition.get(), shown, revision, &mut out);
    }
    let having = |is_so: fn(&Entry) -> bool| -> Vec<&str> {
        let those = snapshot.servers().iter().filter(|(_, entry)| is_so(entry));
        those.map(|(name, _)| name.as_str()).collect()
    };
    let mut instances: Vec<&str> = Vec::new();
    if let Some(peer) = peer {
        instances = snapshot.instances();
        instances.push(peer.own);
    }
    let (pending, partial) = (having(Entry::is_settling), having(is_partial));
    finish(out, &[(PENDING, &pending), (PARTIAL, &partial), (INSTANCES, &instances)])
}

fn is_partial(entry: &Entry) -> bool {
    entry.offer().is_some_and(|offer| offer.is_partial)
}

pub(crate) fn one(server: &ServerName, offer: &Offer, revision: Revision) -> Bytes {
    let mut out = begin(offer.tools.iter().map(|tool| tool.definition.get().len() + MARGIN).sum());
    for tool in &offer.tools {
        add(tool.definition.get(), &tool.name, revision, &mut out);
    }
    let partial: &[&str] = if offer.is_partial { &[server.as_str()] } else { &[] };
    finish(out, &[(PARTIAL, partial)])
}

pub(crate) fn none(pending: Option<&ServerName>) -> Bytes {
    finish(begin(0), &[(PENDING, &pending.map(ServerName::as_str).into_iter().collect::<Vec<_>>())])
}

/// What a tool's definition may gain as it is written: a separator, a hash in its name.
const MARGIN: usize = 16;

fn begin(length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(length + 64);
    out.extend_from_slice(br#"{"tools":["#);
    out
}

fn add(definition: &str, shown: &str, revision: Revision, out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
    project::write_tool(definition, shown, revision, out);
}

fn finish(mut out: Vec<u8>, meta: &[(&str, &[&str])]) -> Bytes {
    out.push(b']');
    if meta.iter().any(|(_, list)| !list.is_empty()) {
        out.extend_from_slice(br#","_meta":{"#);
        for (key, list) in meta.iter().filter(|(_, list)| !list.is_empty()) {
            if out.last() != Some(&b'{') {
                out.push(b',');
            }
            json::write_text(key, &mut out);
            out.extend_from_slice(b":[");
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                json::write_text(item, &mut out);
            }
            out.push(b']');
        }
        out.push(b'}');
    }
    out.push(b'}');
    out.shrink_to_fit();
    out.into()
}
