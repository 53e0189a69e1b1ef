//! One server in the catalog: its state, what it offers, and that rendered by itself.

use bytes::Bytes;
use portolan_model::{Offer, State};
use portolan_wire::Revision;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone)]
pub struct Entry {
    pub state: State,
    pub error: Option<Arc<str>>,
    /// Whether the first try has come to an end, one way or the other.
    is_decided: bool,
    shelf: Option<Arc<Shelf>>,
}

/// What belongs to one offer and lives exactly as long, across snapshots.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) offer: Offer,
    names: HashSet<Box<str>>,
    /// The list in original names, one for each revision, made when first asked for.
    pub(crate) bare: [OnceLock<Bytes>; Revision::ALL.len()],
}

impl Default for Entry {
    fn default() -> Self {
        Self { state: State::Connecting, error: None, is_decided: false, shelf: None }
    }
}

impl Entry {
    pub fn offer(&self) -> Option<&Offer> {
        self.shelf.as_ref().map(|shelf| &shelf.offer)
    }

    pub fn has_tool(&self, tool: &str) -> bool {
        self.shelf.as_ref().is_some_and(|shelf| shelf.names.contains(tool))
    }

    /// Still in its first try: lists may be incomplete because of it.
    pub fn is_settling(&self) -> bool {
        !self.is_decided && self.state == State::Connecting
    }

    pub(crate) fn shelf(&self) -> Option<&Arc<Shelf>> {
        self.shelf.as_ref()
    }

    pub(crate) fn turned(&self, state: State, error: Option<Arc<str>>) -> Self {
        let is_decided = self.is_decided || error.is_some() || state != State::Connecting;
        Self { state, error, is_decided, shelf: self.shelf.clone() }
    }

    pub(crate) fn offering(&self, offer: Offer) -> Self {
        let names = offer.tools.iter().map(|tool| tool.name.clone()).collect();
        let shelf = Shelf { offer, names, bare: Default::default() };
        Self { is_decided: true, shelf: Some(Arc::new(shelf)), ..self.clone() }
    }

    pub(crate) fn withdrawn(&self) -> Self {
        Self { shelf: None, ..self.clone() }
    }
}
