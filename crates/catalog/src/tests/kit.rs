//! Offers and catalogs for tests.

use crate::{Catalog, Eyes, Filing, View};
use portolan_model::{Item, Kind, Kinds, NameStyle, Offer, ServerName, Tool};
use portolan_wire::{Abilities, Revision};
use serde_json::value::RawValue;
use std::sync::{Arc, LazyLock};

pub(crate) fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// An offer of one kind, with a field that nobody knows in every definition.
pub(crate) fn offer(kind: Kind, keys: &[&str]) -> Offer {
    let definition = |key: &str| {
        let schema = if kind == Kind::Tools { r#","inputSchema":{"type":"object"}"# } else { "" };
        raw(&format!(r#"{{"{}":"{key}"{schema},"x":1.0}}"#, kind.key()))
    };
    let items = || keys.iter().map(|&key| Arc::new(Item { key: key.into(), definition: definition(key) }));
    let tools = || keys.iter().map(|&key| Arc::new(Tool { name: key.into(), definition: definition(key) }));
    let empty = Offer::default();
    match kind {
        Kind::Tools => Offer { tools: tools().collect(), ..empty },
        Kind::Prompts => Offer { prompts: items().collect(), ..empty },
        Kind::Resources => Offer { resources: items().collect(), ..empty },
        Kind::Templates => Offer { templates: items().collect(), ..empty },
    }
}

/// What both offer together.
pub(crate) fn and(mut one: Offer, other: &Offer) -> Offer {
    one.take_over(other.kinds(), other);
    one
}

pub(crate) fn file(catalog: &Catalog, name: &str, offer: Offer) {
    catalog.file(Filing::Offered { server: server(name), offer, announced: Kinds::NONE });
}

pub(crate) fn filed(offers: impl IntoIterator<Item = (&'static str, Offer)>) -> Catalog {
    let catalog = Catalog::default();
    for (name, offer) in offers {
        file(&catalog, name, offer);
    }
    catalog
}

/// Of a client of the newest handshake that declares nothing.
pub(crate) fn eyes(view: &View, style: NameStyle) -> Eyes<'_> {
    static NONE: LazyLock<Abilities> = LazyLock::new(Abilities::default);
    Eyes { view, style, revision: Revision::NEWEST_WITH_HANDSHAKE, abilities: &NONE }
}

/// The keys of a list, in its order.
pub(crate) fn keys(kind: Kind, list: &[u8]) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_slice(list).unwrap();
    let of = |entry: &serde_json::Value| entry[kind.key()].as_str().unwrap().to_owned();
    list[kind.list()].as_array().unwrap().iter().map(of).collect()
}
