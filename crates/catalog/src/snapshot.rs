//! One moment of the catalog: names to tools, and the lists of that moment.

use crate::entry::Entry;
use crate::render;
use bytes::Bytes;
use portolan_model::name::{self, NameStyle};
use portolan_model::{ServerName, Tool, ToolName};
use portolan_wire::Revision;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// What a client looks at: everything, or one server by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    All,
    Server(ServerName),
}

type Lists = [[OnceLock<Bytes>; Revision::ALL.len()]; 3];

#[derive(Default)]
pub struct Snapshot {
    servers: BTreeMap<ServerName, Entry>,
    safe: OnceLock<SafeNames>,
    lists: Lists,
}

/// The `safe` names of this moment, both ways.
pub(crate) struct SafeNames {
    pub(crate) in_order: Vec<String>,
    tools: HashMap<String, ToolName>,
}

impl Snapshot {
    pub(crate) fn new(servers: BTreeMap<ServerName, Entry>) -> Self {
        Self { servers, ..Self::default() }
    }

    pub fn servers(&self) -> &BTreeMap<ServerName, Entry> {
        &self.servers
    }

    pub fn is_settling(&self) -> bool {
        self.servers.values().any(Entry::is_settling)
    }

    /// Every tool with its server: servers by name, tools in their server's order.
    pub fn tools(&self) -> impl Iterator<Item = (&ServerName, &Arc<Tool>)> + Clone {
        self.servers
            .iter()
            .filter_map(|(name, entry)| Some((name, entry.offer()?)))
            .flat_map(|(name, offer)| offer.tools.iter().map(move |tool| (name, tool)))
    }

    /// The Portolans that can be reached from here through servers.
    pub fn instances(&self) -> Vec<&str> {
        let offers = self.servers.values().filter_map(Entry::offer);
        let mut all: Vec<&str> = offers.flat_map(|o| o.instances.iter().map(String::as_str)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(crate) fn safe_names(&self) -> &SafeNames {
        self.safe.get_or_init(|| {
            let in_order = name::safe_names(self.tools().map(|(server, tool)| (server, &*tool.name)));
            let tools = self
                .tools()
                .zip(&in_order)
                .map(|((server, tool), safe)| {
                    (safe.clone(), ToolName { server: server.clone(), tool: tool.name.to_string() })
                })
                .collect();
            SafeNames { in_order, tools }
        })
    }

    /// The tool behind a `safe` name.
    pub fn by_safe_name(&self, safe: &str) -> Option<&ToolName> {
        self.safe_names().tools.get(safe)
    }

    /// A number that changes whenever the list of this view may have.
    pub fn stamp(&self, view: &View) -> usize {
        let of = |entry: &Entry| entry.shelf().map_or(0, |shelf| Arc::as_ptr(shelf) as usize);
        match view {
            View::Server(name) => self.servers.get(name).map_or(0, of),
            View::All => self.servers.values().fold(1, |sum, entry| sum.rotate_left(7) ^ of(entry)),
        }
    }

    /// The result of `tools/list`, rendered once for each style and revision of this snapshot.
    pub fn tool_list(&self, view: &View, style: NameStyle, revision: Revision) -> Bytes {
        match view {
            View::All => {
                let row = match style {
                    NameStyle::Dot | NameStyle::Bare => 0,
                    NameStyle::Colon => 1,
                    NameStyle::Safe => 2,
                };
                let list = &self.lists[row][revision.index()];
                list.get_or_init(|| render::all(self, style, revision, None)).clone()
            }
            View::Server(name) => match self.servers.get(name).and_then(Entry::shelf) {
                Some(shelf) => {
                    let list = &shelf.bare[revision.index()];
                    list.get_or_init(|| render::one(name, &shelf.offer, revision)).clone()
                }
                None => render::none(self.servers.get(name).filter(|e| e.is_settling()).map(|_| name)),
            },
        }
    }

    /// The same for a client that is itself a Portolan: without what leads back to it, and saying who can be reached.
    pub fn tool_list_for_peer(&self, peer: &render::Peer<'_>, style: NameStyle, revision: Revision) -> Bytes {
        render::all(self, style, revision, Some(peer))
    }
}
