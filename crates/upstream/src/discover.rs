//! Discovery: all pages of what a server offers, within bounds.

use crate::error::ConnectError;
use crate::handshake;
use crate::pending::Reply;
use crate::session::{Ask, Session};
use futures_util::future::try_join_all;
use portolan_model::{Item, Kind, Kinds, LeftOut, Offer, Tool, ToolFilter};
use portolan_wire::discovery::{self, Checks};
use portolan_wire::meta::INSTANCES;
use portolan_wire::params::{Changes, Hop, Params, Stamp};
use portolan_wire::{Abilities, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// A listing of more pages than this has no end.
const MOST_PAGES: usize = 1000;
/// How long a page of anything but tools is waited for: a server that never gives its prompts still has its tools.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Bounds<'b> {
    /// The tools that are wanted at all.
    pub(crate) filter: &'b ToolFilter,
    /// The most of each kind.
    pub(crate) tools: usize,
    pub(crate) timeout: Duration,
}

/// Lists what a server has of some kinds, side by side; the others are taken over from `before`. A server is there for its
/// tools: whoever does not list them is not connected, while any other list that cannot be had stays as it was.
pub(crate) async fn offer(
    session: &Session,
    bounds: &Bounds<'_>,
    kinds: Kinds,
    before: Option<&Offer>,
) -> Result<Offer, ConnectError> {
    let (mut offer, missing) = lists(session, bounds, &Abilities::default(), kinds).await?;
    if let Some(before) = before {
        offer.take_over(missing, before);
    }
    Ok(offer)
}

/// The same as clients are shown it that declare this, where the server is told so with each request; and the kinds whose
/// lists are not among them.
pub(crate) async fn lists(
    session: &Session,
    bounds: &Bounds<'_>,
    abilities: &Abilities,
    kinds: Kinds,
) -> Result<(Offer, Kinds), ConnectError> {
    let welcome = session.welcome();
    let listing = Listing { session, bounds, abilities, checks: Checks { mirrors: session.is_labelled() } };
    let lists = try_join_all(kinds.iter().map(|kind| listing.list(kind))).await?;
    let mut offer =
        Offer { instances: welcome.instances.clone(), manner: welcome.manner(), ..Offer::default() };
    let mut missing = Kinds::ALL;
    for list in lists.into_iter().flatten() {
        missing = missing.without(list.kind);
        list.put_into(&mut offer);
    }
    Ok((offer, missing))
}

struct Listing<'a> {
    session: &'a Session,
    bounds: &'a Bounds<'a>,
    abilities: &'a Abilities,
    checks: Checks,
}

impl Listing<'_> {
    /// The list of a kind; `None` where it could not be had and the server can be used without.
    async fn list(&self, kind: Kind) -> Result<Option<List>, ConnectError> {
        if !self.session.welcome().has(kind) {
            return Ok(Some(List::new(kind)));
        }
        match self.all_pages(kind).await {
            Ok(list) => Ok(Some(list)),
            Err(error) if kind == Kind::Tools => Err(error),
            Err(error) => {
                let method = kind.method();
                tracing::warn!(server = %self.session.server(), method, %error, "a list could not be had");
                Ok(None)
            }
        }
    }

    /// Every page, the last of two entries with one key, what the filter admits.
    async fn all_pages(&self, kind: Kind) -> Result<List, ConnectError> {
        let mut list = List::new(kind);
        let mut seen = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let raw = match self.one_page(kind, cursor.as_deref()).await? {
                Reply::Result(raw) => raw,
                // Many servers that declare resources know nothing of templates.
                Reply::Error(error) if kind != Kind::Tools && cursor.is_none() => {
                    let (method, error) = (kind.method(), String::from_utf8_lossy(&error));
                    tracing::debug!(server = %self.session.server(), method, %error, "a list was refused");
                    break;
                }
                Reply::Error(error) => {
                    let (method, error) = (kind.method(), String::from_utf8_lossy(&error));
                    return Err(ConnectError::Failed(format!("it refused {method}: {error}")));
                }
            };
            cursor = self.take(&String::from_utf8_lossy(&raw), &mut list)?;
            match &cursor {
                None => break,
                // A cursor that comes again would go round for ever.
                Some(c) if !seen.insert(c.clone()) || list.is_partial => break,
                Some(_) => {}
            }
        }
        list.is_partial |= cursor.is_some();
        Ok(list)
    }

    async fn one_page(&self, kind: Kind, cursor: Option<&str>) -> Result<Reply, ConnectError> {
        let mut text = Vec::new();
        if let Some(cursor) = cursor {
            json::write_text(cursor, &mut text);
        }
        // What is no text is no cursor; an empty value is not written.
        let text = String::from_utf8(text).unwrap_or_default();
        let stamp = Stamp { capabilities: self.abilities.as_raw(), ..Stamp::OWN };
        let write = |hop: &Hop<'_>, out: &mut Vec<u8>| {
            Params::default().write(hop, &stamp, &Changes { set: &[("cursor", &text)] }, out);
        };
        let patience = PATIENCE.min(self.bounds.timeout / 2);
        let timeout = if kind == Kind::Tools { self.bounds.timeout } else { patience };
        Ok(self.session.request(Ask::own(kind.method(), &write, timeout)).await?)
    }

    /// Adds a page to a list and says how the next one is asked for.
    fn take(&self, raw: &str, list: &mut List) -> Result<Option<String>, ConnectError> {
        let kind = list.kind;
        let page = discovery::page(kind, raw, self.checks).map_err(|e| {
            ConnectError::Failed(format!("its answer to {} cannot be read: {e}", kind.method()))
        })?;
        merge_instances(raw, &mut list.instances);
        list.left_out.extend(page.left_out);
        for item in page.items {
            if kind != Kind::Tools || self.bounds.filter.admits(&item.key) {
                list.add(item, self.bounds.tools);
            }
        }
        Ok(page.next_cursor.filter(|cursor| !cursor.is_empty()))
    }
}

/// What was found of one kind.
struct List {
    kind: Kind,
    items: Vec<Item>,
    places: HashMap<Box<str>, usize>,
    left_out: Vec<LeftOut>,
    is_partial: bool,
    instances: Vec<String>,
}

impl List {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            items: Vec::new(),
            places: HashMap::new(),
            left_out: Vec::new(),
            is_partial: false,
            instances: Vec::new(),
        }
    }

    fn add(&mut self, item: Item, most: usize) {
        if let Some(&place) = self.places.get(&item.key) {
            let reason = format!("the server lists this {} twice; the last one is used", self.kind.key());
            self.left_out.push(LeftOut { kind: self.kind, tool: item.key.to_string(), reason });
            self.items[place] = item;
        } else if self.items.len() >= most {
            self.is_partial = true;
        } else {
            self.places.insert(item.key.clone(), self.items.len());
            self.items.push(item);
        }
    }

    fn put_into(self, offer: &mut Offer) {
        let items = self.items.into_iter();
        match self.kind {
            Kind::Tools => {
                let tool = |item: Item| Arc::new(Tool { name: item.key, definition: item.definition });
                offer.tools = items.map(tool).collect();
            }
            Kind::Prompts => offer.prompts = items.map(Arc::new).collect(),
            Kind::Resources => offer.resources = items.map(Arc::new).collect(),
            Kind::Templates => offer.templates = items.map(Arc::new).collect(),
        }
        offer.left_out.extend(self.left_out);
        if self.is_partial {
            offer.partial = offer.partial.with(self.kind);
        }
        add_instances(self.instances, &mut offer.instances);
    }
}

/// Another Portolan says with each list whom it can reach by now.
fn merge_instances(raw: &str, instances: &mut Vec<String>) {
    if !raw.contains(INSTANCES) {
        return;
    }
    let meta: Option<serde_json::Value> =
        serde_json::from_str::<serde_json::Value>(raw).ok().map(|v| v["_meta"].clone());
    add_instances(handshake::instances(meta.as_ref().and_then(|m| m.get(INSTANCES))), instances);
}

fn add_instances(new: Vec<String>, instances: &mut Vec<String>) {
    for instance in new {
        if !instances.contains(&instance) {
            instances.push(instance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn item(key: &str, definition: &str) -> Item {
        Item { key: key.into(), definition: RawValue::from_string(definition.to_owned()).unwrap() }
    }

    #[test]
    fn of_two_entries_with_one_key_the_last_is_used_in_the_place_of_the_first() {
        for (kind, reason) in [
            (Kind::Tools, "the server lists this name twice; the last one is used"),
            (Kind::Resources, "the server lists this uri twice; the last one is used"),
        ] {
            let mut list = List::new(kind);
            for (key, definition) in [("a", "1"), ("b", "2"), ("a", "3")] {
                list.add(item(key, definition), 2);
            }
            let mut offer = Offer::default();
            list.put_into(&mut offer);
            let found: Vec<&str> = offer.of(kind).map(|piece| piece.definition).collect();
            assert_eq!(found, ["3", "2"]);
            assert_eq!(offer.left_out, [LeftOut { kind, tool: "a".to_owned(), reason: reason.to_owned() }]);
            assert!(offer.partial.is_empty());
        }
    }

    #[test]
    fn what_is_over_the_bound_makes_only_its_own_kind_partial() {
        let (mut prompts, mut templates) = (List::new(Kind::Prompts), List::new(Kind::Templates));
        for key in ["a", "b"] {
            prompts.add(item(key, "1"), 1);
            templates.add(item(key, "1"), 2);
        }
        let mut offer = Offer::default();
        prompts.put_into(&mut offer);
        templates.put_into(&mut offer);
        assert_eq!((offer.prompts.len(), offer.templates.len()), (1, 2));
        assert_eq!(offer.partial, Kinds::NONE.with(Kind::Prompts));
    }

    #[test]
    fn f45_whom_each_list_leads_to_is_said_once() {
        let mut offer = Offer { instances: vec!["a".to_owned()], ..Offer::default() };
        for kind in [Kind::Tools, Kind::Prompts] {
            let mut list = List::new(kind);
            merge_instances(r#"{"tools":[],"_meta":{"portolan/instances":["a","b"]}}"#, &mut list.instances);
            merge_instances(r#"{"tools":[]}"#, &mut list.instances);
            list.put_into(&mut offer);
        }
        assert_eq!(offer.instances, ["a", "b"]);
    }
}
