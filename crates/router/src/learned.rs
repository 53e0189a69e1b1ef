//! Resources that no list names: whose they are is learned from the results that link to them.

use portolan_model::ServerName;
use portolan_upstream::Reply;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// How many are remembered; the oldest are forgotten first.
const MOST: usize = 10_000;

#[derive(Default)]
pub(crate) struct Learned(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    owners: HashMap<String, ServerName>,
    order: VecDeque<String>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resource: Option<Linked<'a>>,
}

#[derive(Deserialize)]
struct Linked<'a> {
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
}

impl Learned {
    pub(crate) fn owner(&self, uri: &str) -> Option<ServerName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).owners.get(uri).cloned()
    }

    /// Remembers what a server's result links to. Nearly all link to nothing, which a look at their bytes tells.
    pub(crate) fn learn(&self, server: &ServerName, reply: &Reply) {
        let Reply::Result(raw) = reply else { return };
        if memchr::memmem::find(raw, b"\"uri\"").is_none() {
            return;
        }
        let Ok(said) = serde_json::from_slice::<Said<'_>>(raw) else { return };
        let uris = said.content.into_iter().flat_map(|block| [block.uri, block.resource.and_then(|r| r.uri)]);
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for uri in uris.flatten() {
            if memory.owners.insert(uri.to_string(), server.clone()).is_none() {
                memory.order.push_back(uri.into_owned());
            }
            if memory.order.len() > MOST
                && let Some(oldest) = memory.order.pop_front()
            {
                memory.owners.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str) -> ServerName {
        ServerName::parse(name).unwrap()
    }

    fn result(text: &str) -> Reply {
        Reply::Result(text.to_owned().into())
    }

    #[test]
    fn links_and_embedded_resources_are_remembered() {
        let learned = Learned::default();
        let text = r#"{"content":[{"type":"resource_link","uri":"a://1","x":[1]},{"type":"resource","resource":{"uri":"a://\u0032"}},{"type":"text","text":"\"uri\""}]}"#;
        learned.learn(&server("one"), &result(text));
        assert_eq!(learned.owner("a://1"), Some(server("one")));
        assert_eq!(learned.owner("a://2"), Some(server("one")));
        assert_eq!(learned.owner("a://3"), None);
        learned.learn(&server("two"), &result(text));
        assert_eq!(learned.owner("a://1"), Some(server("two")), "the latest word holds");
    }

    #[test]
    fn a_server_that_links_without_end_fills_nothing() {
        let learned = Learned::default();
        for number in 0..MOST + 50 {
            let text = format!(r#"{{"content":[{{"type":"resource_link","uri":"a://{number}"}}]}}"#);
            learned.learn(&server("one"), &result(&text));
        }
        assert_eq!(learned.owner("a://0"), None);
        assert!(learned.owner(&format!("a://{}", MOST + 49)).is_some());
    }
}
