//! A list as the bytes that clients get.

use crate::entry::Entry;
use crate::snapshot::{Eyes, Part, Snapshot};
use bytes::Bytes;
use portolan_model::{Kind, Piece, ServerName};
use portolan_wire::meta::{INSTANCES, PARTIAL, PENDING};
use portolan_wire::tasks::Support;
use portolan_wire::{Revision, json, project};

/// A client that is a Portolan too.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'a> {
    /// Its own instance id.
    pub asking: &'a str,
    /// Ours.
    pub own: &'a str,
}

pub(crate) fn all(snapshot: &Snapshot, kind: Kind, eyes: &Eyes<'_>, peer: Option<&Peer<'_>>) -> Bytes {
    let leads_back = |part: &Part<'_>| {
        peer.is_some_and(|peer| part.shared.offer.instances.iter().any(|i| i == peer.asking))
    };
    let parts = || snapshot.parts(kind, eyes).filter(|part| !leads_back(part));
    // A list of ten thousand tools that grows as it is written would be copied ten times over.
    let length = |part: Part<'_>| -> usize {
        let around = part.server.as_str().len() + MARGIN;
        part.shelf.offer.of(kind).map(|piece| piece.definition.len() + piece.key.len() + around).sum()
    };
    let mut list = List::begin(kind, eyes.revision, parts().map(length).sum());
    for part in parts() {
        for (at, piece) in part.shelf.offer.of(kind).enumerate() {
            if eyes.view.has(kind, part.server, piece.key) {
                list.add(piece, &snapshot.shown(kind, eyes.style, &part, at), part.shared.tasks);
            }
        }
    }
    let mut instances: Vec<&str> = Vec::new();
    if let Some(peer) = peer {
        instances = snapshot.instances();
        instances.push(peer.own);
    }
    list.say_what_is_missing(snapshot, eyes);
    list.say(INSTANCES, &instances);
    list.finish()
}

pub(crate) fn one(part: &Part<'_>, kind: Kind, revision: Revision) -> Bytes {
    let offer = &part.shelf.offer;
    let length = offer.of(kind).map(|piece| piece.definition.len() + MARGIN).sum();
    let mut list = List::begin(kind, revision, length);
    for piece in offer.of(kind) {
        list.add(piece, piece.key, part.shared.tasks);
    }
    if offer.partial.has(kind) {
        list.say(PARTIAL, &[part.server.as_str()]);
    }
    list.finish()
}

/// A list of tools that are no server's.
pub fn own_tools<'t>(tools: impl Iterator<Item = Piece<'t>>, revision: Revision) -> Bytes {
    let mut list = List::begin(Kind::Tools, revision, 0);
    for tool in tools {
        list.add(tool, tool.key, Support::Forbidden);
    }
    list.finish()
}

pub(crate) fn none(kind: Kind, revision: Revision, pending: Option<&ServerName>) -> Bytes {
    let mut list = List::begin(kind, revision, 0);
    list.say(PENDING, &pending.map(ServerName::as_str).into_iter().collect::<Vec<_>>());
    list.finish()
}

/// What a definition may gain as it is written: a separator, a hash in its name.
const MARGIN: usize = 16;

/// The result of a list method, as it is written.
pub(crate) struct List {
    kind: Kind,
    revision: Revision,
    out: Vec<u8>,
    next_cursor: Option<String>,
    /// What stands in its `_meta`, as far as it is written.
    meta: Vec<u8>,
}

impl List {
    /// Begins one that will be about this long.
    pub(crate) fn begin(kind: Kind, revision: Revision, length: usize) -> Self {
        let mut out = Vec::with_capacity(length + 128);
        out.push(b'{');
        // What we list may change at any moment, and may be another's for whoever asks next.
        if !revision.has_handshake() {
            out.extend_from_slice(br#""resultType":"complete","ttlMs":0,"cacheScope":"private","#);
        }
        json::write_text(kind.list(), &mut out);
        out.extend_from_slice(b":[");
        Self { kind, revision, out, next_cursor: None, meta: Vec::new() }
    }

    /// Adds a definition; a tool's server may have `tasks` of which the tool itself says nothing.
    pub(crate) fn add(&mut self, piece: Piece<'_>, shown: &str, tasks: Support) {
        if self.out.last() != Some(&b'[') {
            self.out.push(b',');
        }
        if self.kind == Kind::Tools {
            project::write_tool(piece.definition, shown, self.revision, tasks, &mut self.out);
        } else {
            project::write_piece(self.kind, piece, shown, self.revision, &mut self.out);
        }
    }

    pub(crate) fn goes_on(&mut self, cursor: String) {
        self.next_cursor = Some(cursor);
    }

    /// Names the servers of which the list has nothing yet, or not all.
    pub(crate) fn say_what_is_missing(&mut self, snapshot: &Snapshot, eyes: &Eyes<'_>) {
        let kind = self.kind;
        let is_seen = |server: &ServerName| eyes.view.has_server(server);
        let having = |is_so: &dyn Fn(&Entry) -> bool| -> Vec<&str> {
            let those = snapshot.servers().iter().filter(|(name, entry)| is_seen(name) && is_so(entry));
            those.map(|(name, _)| name.as_str()).collect()
        };
        self.say(PENDING, &having(&Entry::is_settling));
        self.say(PARTIAL, &having(&|entry| entry.is_partial_for(kind, eyes.abilities)));
    }

    /// Puts a list of names into `_meta`; an empty one is not worth a word.
    pub(crate) fn say(&mut self, key: &str, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let meta = &mut self.meta;
        if !meta.is_empty() {
            meta.push(b',');
        }
        json::write_text(key, meta);
        meta.extend_from_slice(b":[");
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                meta.push(b',');
            }
            json::write_text(name, meta);
        }
        meta.push(b']');
    }

    pub(crate) fn finish(self) -> Bytes {
        let Self { mut out, next_cursor, meta, .. } = self;
        out.push(b']');
        if let Some(cursor) = next_cursor {
            out.extend_from_slice(br#","nextCursor":"#);
            json::write_text(&cursor, &mut out);
        }
        if !meta.is_empty() {
            out.extend_from_slice(br#","_meta":{"#);
            out.extend_from_slice(&meta);
            out.push(b'}');
        }
        out.push(b'}');
        out.shrink_to_fit();
        out.into()
    }
}
