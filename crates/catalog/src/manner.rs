//! What the servers say of themselves, put together for a client.

use crate::entry::Entry;
use crate::snapshot::Snapshot;
use crate::view::View;
use portolan_model::{Manner, ServerName};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Capabilities that servers define among themselves, which whoever stands between has to pass on.
const PASSED_ON: [&str; 2] = ["extensions", "experimental"];

/// What shows that a text was cut.
const CUT: &str = "…";

impl Snapshot {
    /// What the servers tell models about themselves: one server's own text, or that of all, each under its server's name
    /// and each cut as far as it has to be for the whole to have at most `cap` bytes.
    pub fn instructions(&self, view: &View, cap: usize) -> Option<String> {
        match view.alone() {
            Some(name) => self.manner(name)?.instructions.as_deref().map(str::to_owned),
            None => {
                let seen = self.servers().iter().filter(|(name, _)| view.has_server(name));
                let all = seen.filter_map(|(name, entry)| {
                    let text = entry.offer()?.manner.instructions.as_deref()?.trim();
                    (!text.is_empty()).then_some((name, text))
                });
                joined(&all.collect::<Vec<_>>(), cap)
            }
        }
    }

    /// What a client may be told that can be done here beside what we do ourselves: all that one server declares, or what
    /// all of them declare of extensions, the first server's word where two speak of the same.
    pub fn capabilities(&self, view: &View) -> Declared {
        match view.alone() {
            Some(name) => self.manner(name).map(declared).unwrap_or_default(),
            None => {
                let mut union: BTreeMap<&str, Declared> = BTreeMap::new();
                let seen = self.servers().iter().filter(|(name, _)| view.has_server(name));
                for (_, entry) in seen {
                    let declared = entry.offer().map(|offer| declared(&offer.manner)).unwrap_or_default();
                    for name in PASSED_ON {
                        let theirs = declared.get(name).and_then(|raw| members(raw));
                        for (key, value) in theirs.into_iter().flatten() {
                            union.entry(name).or_default().entry(key).or_insert(value);
                        }
                    }
                }
                let raw = |all: &Declared| serde_json::value::to_raw_value(all).ok();
                union.into_iter().filter_map(|(name, all)| Some((name.to_owned(), raw(&all)?))).collect()
            }
        }
    }

    fn manner(&self, server: &ServerName) -> Option<&Manner> {
        self.servers().get(server).and_then(Entry::offer).map(|offer| &offer.manner)
    }
}

/// Capabilities by their names, each as its server wrote it.
pub type Declared = BTreeMap<String, Box<RawValue>>;

fn declared(manner: &Manner) -> Declared {
    manner.capabilities.as_ref().and_then(|raw| members(raw)).unwrap_or_default()
}

fn members(raw: &RawValue) -> Option<Declared> {
    serde_json::from_str(raw.get()).ok()
}

/// The texts under their headings. Where not even the headings have room the last servers go unheard.
fn joined(texts: &[(&ServerName, &str)], cap: usize) -> Option<String> {
    // "## ", the end of that line, and two line ends before the next, which the last one does not need.
    let around = |name: &ServerName| name.as_str().len() + 4 + 2;
    let whole_room = cap.saturating_add(2);
    let mut room = whole_room;
    let has_room = |(name, text): &&(&ServerName, &str)| {
        let left = room.checked_sub(around(name) + text.len().min(CUT.len()));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let heard: Vec<_> = texts.iter().take_while(has_room).collect();
    let headings: usize = heard.iter().map(|(name, _)| around(name)).sum();
    let lengths = heard.iter().map(|(_, text)| text.len()).collect();
    let limit = fair_share(lengths, whole_room.saturating_sub(headings));
    let mut whole = String::new();
    for (name, text) in heard {
        if !whole.is_empty() {
            whole.push_str("\n\n");
        }
        whole.push_str("## ");
        whole.push_str(name.as_str());
        whole.push('\n');
        if text.len() <= limit {
            whole.push_str(text);
        } else {
            whole.push_str(&text[..text.floor_char_boundary(limit.saturating_sub(CUT.len()))]);
            whole.push_str(CUT);
        }
    }
    (!whole.is_empty()).then_some(whole)
}

/// The most that each may have, so that together they have at most `room`: what short ones leave goes to the long ones.
fn fair_share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;
    use crate::tests::kit::{filed, raw, server};
    use portolan_model::Offer;
    use proptest::prelude::*;
    use serde_json::json;

    fn speaking(capabilities: &str, instructions: Option<&str>) -> Offer {
        let capabilities = Some(raw(capabilities).into());
        Offer {
            manner: Manner { capabilities, instructions: instructions.map(Into::into) },
            ..Offer::default()
        }
    }

    fn saying(text: &str) -> Offer {
        speaking("{}", Some(text))
    }

    fn told(catalog: &Catalog, cap: usize) -> Option<String> {
        catalog.snapshot().instructions(&View::All, cap)
    }

    #[test]
    fn instructions_stand_under_their_servers_names_and_one_server_by_itself_speaks_plainly() {
        let mute = || speaking("{}", None);
        let catalog =
            filed([("b", saying("Be brief.\n")), ("a", saying("Ask.")), ("c", saying(" ")), ("d", mute())]);
        assert_eq!(told(&catalog, 1000).as_deref(), Some("## a\nAsk.\n\n## b\nBe brief."));
        let own = |name| catalog.snapshot().instructions(&View::Server(server(name)), 3);
        assert_eq!(own("b").as_deref(), Some("Be brief.\n"));
        assert_eq!((own("d"), own("nobody")), (None, None));
        assert_eq!(told(&filed([("d", mute())]), 1000), None);
    }

    #[test]
    fn instructions_that_are_too_long_are_cut_fairly_and_never_within_a_character() {
        let catalog =
            filed([("a", saying("short")), ("b", saying(&"ü".repeat(50))), ("c", saying(&"y".repeat(90)))]);
        let text = told(&catalog, 60).unwrap();
        // 60 bytes less 19 of headings and lines between, less what the short one has, are 18 for each of the others.
        let expected = format!("## a\nshort\n\n## b\n{}…\n\n## c\n{}…", "ü".repeat(7), "y".repeat(15));
        assert_eq!(text, expected);
        assert_eq!(told(&catalog, 10).as_deref(), Some("## a\nshort"));
        assert_eq!(told(&catalog, 8).as_deref(), Some("## a\n…"));
        assert_eq!(told(&catalog, 7), None);
    }

    proptest! {
        #[test]
        fn instructions_never_go_over_the_cap(texts in prop::collection::vec("\\PC{0,40}", 0..6), cap in 0usize..160) {
            let names = ["a", "bb", "ccc", "d", "e", "f"];
            let catalog = filed(names.into_iter().zip(texts.iter().map(|text| saying(text))));
            let text = told(&catalog, cap).unwrap_or_default();
            prop_assert!(text.len() <= cap);
            let whole = told(&catalog, 10_000).unwrap_or_default();
            prop_assert!(text == whole || whole.len() > cap);
        }
    }

    #[test]
    fn capabilities_of_one_server_are_its_own_and_of_all_the_union_of_what_is_passed_on() {
        let a = r#"{"tools":{},"extensions":{"x":{"from":"a"}},"new":{"deep":[1]}}"#;
        let b = r#"{"experimental":{"e":{}},"extensions":{"x":{"from":"b"},"y":{}}}"#;
        let odd = r#"{"extensions":7,"experimental":null}"#;
        let catalog =
            filed([("b", speaking(b, None)), ("a", speaking(a, None)), ("odd", speaking(odd, None))]);
        let of = |view: &View| serde_json::to_value(catalog.snapshot().capabilities(view)).unwrap();
        assert_eq!(of(&View::Server(server("a"))), serde_json::from_str::<serde_json::Value>(a).unwrap());
        assert_eq!(of(&View::Server(server("nobody"))), json!({}));
        let union = json!({"extensions": {"x": {"from": "a"}, "y": {}}, "experimental": {"e": {}}});
        assert_eq!(of(&View::All), union);
    }
}
