//! What there is to file, and what each filing changes.

use crate::aspect::with_resources;
use crate::entry::{Entry, tasks_of};
use portolan_model::{Kind, Kinds, Offer, ServerName, State};
use portolan_wire::Abilities;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub enum Filing {
    Turned {
        server: ServerName,
        state: State,
        error: Option<Arc<str>>,
    },
    Offered {
        server: ServerName,
        offer: Offer,
        /// What the server itself has said to have changed: clients are told, whether or not anything did.
        announced: Kinds,
    },
    /// The server says that lists of these kinds have changed; the new ones are not there yet.
    Stale {
        server: ServerName,
        kinds: Kinds,
    },
    /// What the server shows to clients that declare this; nothing is kept of what everybody is shown.
    Seen {
        server: ServerName,
        abilities: Abilities,
        offer: Offer,
    },
    /// Whatever any server shows to clients that declare this is not known any more.
    Unseen {
        abilities: Abilities,
    },
    Withdrawn {
        server: ServerName,
    },
    Removed {
        server: ServerName,
    },
    /// What was listed under one name is listed under another, in one step.
    Renamed {
        from: ServerName,
        to: ServerName,
    },
}

/// What a filing was about, and of which kinds everybody has to list again.
pub(crate) struct News {
    pub(crate) server: Option<ServerName>,
    pub(crate) kinds: Kinds,
    /// The profile of which nothing is known any more.
    pub(crate) unseen: Option<Abilities>,
}

impl Filing {
    pub(crate) fn apply(self, servers: &mut BTreeMap<ServerName, Entry>) -> News {
        let (server, kinds) = match self {
            Self::Turned { server, state, error } => {
                let entry = servers.entry(server.clone()).or_default();
                *entry = entry.turned(state, error);
                (server, Kinds::NONE)
            }
            Self::Offered { server, offer, announced } => {
                let entry = servers.entry(server.clone()).or_default();
                let mut differing =
                    entry.offer().map_or_else(|| offer.kinds(), |before| offer.differing(before));
                // Its tools are shown with what the server has of tasks.
                if entry.offer().is_some_and(|before| tasks_of(before) != tasks_of(&offer)) {
                    differing = differing.with(Kind::Tools);
                }
                *entry = entry.offering(offer);
                (server, differing.and(announced))
            }
            Self::Stale { server, kinds } => (server, kinds),
            Self::Seen { server, abilities, offer } => {
                if let Some(entry) = servers.get_mut(&server) {
                    *entry = entry.seen(abilities, offer);
                }
                (server, Kinds::NONE)
            }
            Self::Unseen { abilities } => {
                for entry in servers.values_mut() {
                    entry.aspects.remove(&abilities);
                }
                return News { server: None, kinds: Kinds::NONE, unseen: Some(abilities) };
            }
            Self::Withdrawn { server } => {
                let kinds = offered(servers.get(&server));
                if let Some(entry) = servers.get_mut(&server) {
                    *entry = entry.withdrawn();
                }
                (server, kinds)
            }
            Self::Removed { server } => {
                let entry = servers.remove(&server);
                (server, offered(entry.as_ref()))
            }
            Self::Renamed { from, to } => {
                let entry = servers.remove(&from);
                let kinds = offered(entry.as_ref());
                let replaced = entry.and_then(|entry| servers.insert(to.clone(), entry));
                (to, kinds.and(offered(replaced.as_ref())))
            }
        };
        News { server: Some(server), kinds: with_resources(kinds), unseen: None }
    }
}

fn offered(entry: Option<&Entry>) -> Kinds {
    entry.and_then(Entry::offer).map_or(Kinds::NONE, Offer::kinds)
}
