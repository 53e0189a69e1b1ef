//! What servers show to clients that declare something, beside what they show to everybody.

use super::kit::{and, eyes, file, filed, keys, offer, server};
use crate::{Catalog, Eyes, Filing, PageAsk, Peer, View};
use portolan_model::{Item, Kind, Kinds, NameStyle, Offer, Tool};
use portolan_wire::Abilities;
use serde_json::value::RawValue;
use std::sync::Arc;

fn asked() -> Abilities {
    Abilities::parse(r#"{"elicitation":{}}"#)
}

fn other() -> Abilities {
    Abilities::parse(r#"{"sampling":{}}"#)
}

fn tools(names: &[&str]) -> Offer {
    offer(Kind::Tools, names)
}

fn see(catalog: &Catalog, name: &str, abilities: Abilities, offer: Offer) {
    catalog.file(Filing::Seen { server: server(name), abilities, offer });
}

/// The keys that clients of a profile are shown in a view and a style.
fn shown(catalog: &Catalog, kind: Kind, view: &View, style: NameStyle, abilities: &Abilities) -> Vec<String> {
    let eyes = Eyes { abilities, ..eyes(view, style) };
    keys(kind, &catalog.snapshot().list(kind, &eyes))
}

fn dotted(catalog: &Catalog, abilities: &Abilities) -> Vec<String> {
    shown(catalog, Kind::Tools, &View::All, NameStyle::Dot, abilities)
}

#[test]
fn a_profile_sees_what_is_shown_to_it_in_every_style_view_and_page_and_nobody_else_does() {
    let catalog = filed([("a", tools(&["m"])), ("b", tools(&["n"]))]);
    see(&catalog, "a", asked(), tools(&["x", "m"]));
    for (style, expected) in [
        (NameStyle::Dot, ["a.x", "a.m", "b.n"]),
        (NameStyle::Colon, ["a:x", "a:m", "b:n"]),
        (NameStyle::Safe, ["a__x", "a__m", "b__n"]),
    ] {
        assert_eq!(shown(&catalog, Kind::Tools, &View::All, style, &asked()), expected);
        for none in [other(), Abilities::default()] {
            assert_eq!(shown(&catalog, Kind::Tools, &View::All, style, &none), expected[1..]);
        }
    }
    let alone = View::Server(server("a"));
    assert_eq!(shown(&catalog, Kind::Tools, &alone, NameStyle::Bare, &asked()), ["x", "m"]);
    assert_eq!(shown(&catalog, Kind::Tools, &alone, NameStyle::Bare, &other()), ["m"]);
    let (asked, snapshot) = (asked(), catalog.snapshot());
    let wide = Eyes { abilities: &asked, ..eyes(&View::All, NameStyle::Safe) };
    let page = snapshot.page(Kind::Tools, &wide, &PageAsk { after: None, size: 2 });
    assert_eq!(keys(Kind::Tools, &page), ["a__m", "a__x"]);
    let peer = Peer { asking: "asker", own: "own" };
    assert_eq!(keys(Kind::Tools, &snapshot.list_for_peer(Kind::Tools, &peer, &wide)).len(), 3);
}

#[test]
fn a_profile_that_is_shown_the_same_gets_the_very_bytes_that_everybody_gets() {
    let catalog = filed([("a", and(tools(&["m", "n"]), &offer(Kind::Prompts, &["p"])))]);
    let bytes = |kind, abilities: &Abilities| {
        let eyes = Eyes { abilities, ..eyes(&View::All, NameStyle::Dot) };
        catalog.snapshot().list(kind, &eyes)
    };
    let before = bytes(Kind::Tools, &Abilities::default());
    let generation = *catalog.generations().borrow();
    // Another order is no difference.
    see(&catalog, "a", asked(), and(tools(&["n", "m"]), &offer(Kind::Prompts, &["p"])));
    assert_eq!(bytes(Kind::Tools, &asked()).as_ptr(), before.as_ptr());
    assert!(!catalog.snapshot().servers()[&server("a")].differs_for(&asked()));
    assert_eq!(catalog.generations().borrow().seen, generation.seen);
    see(&catalog, "a", asked(), and(tools(&["m", "n"]), &offer(Kind::Prompts, &["p", "q"])));
    assert!(catalog.snapshot().servers()[&server("a")].differs_for(&asked()));
    assert_eq!(bytes(Kind::Tools, &asked()).as_ptr(), before.as_ptr(), "tools are the same still");
    assert_eq!(bytes(Kind::Prompts, &asked()).as_ptr(), bytes(Kind::Prompts, &asked()).as_ptr(), "made once");
    assert_ne!(bytes(Kind::Prompts, &asked()), bytes(Kind::Prompts, &other()));
}

/// Which kinds are news to everybody, to a profile, and to the same profile in the view of another server.
#[track_caller]
fn news(catalog: &Catalog, filing: Filing, expected: [&[Kind]; 3]) {
    let views =
        [(View::All, Abilities::default()), (View::All, asked()), (View::Server(server("b")), asked())];
    let stamps = || {
        views.each_ref().map(|(view, who)| Kind::ALL.map(|kind| catalog.snapshot().stamp(view, kind, who)))
    };
    let (before, generation) = (stamps(), *catalog.generations().borrow());
    catalog.file(filing);
    let after = stamps();
    let told = [0, 1, 2].map(|at| {
        let is_new = |kind: &Kind| before[at][kind.index()] != after[at][kind.index()];
        Kind::ALL.into_iter().filter(is_new).collect::<Vec<_>>()
    });
    assert_eq!(told.each_ref().map(Vec::as_slice), expected);
    let now = *catalog.generations().borrow();
    let is_heard = now.seen != generation.seen || now.listed != generation.listed;
    assert_eq!(is_heard, !told[1].is_empty(), "whoever tells clients has to notice");
}

#[test]
fn what_only_a_profile_sees_change_is_news_to_that_profile_alone() {
    let catalog = filed([("a", tools(&["m"])), ("b", tools(&["n"]))]);
    let seen = |offer: Offer| Filing::Seen { server: server("a"), abilities: asked(), offer };
    let more = and(tools(&["m", "x"]), &offer(Kind::Templates, &["x:{y}"]));
    let all = [Kind::Tools, Kind::Resources, Kind::Templates];
    news(&catalog, seen(tools(&["m"])), [&[], &[], &[]]);
    news(&catalog, seen(more.clone()), [&[], &all, &[]]);
    news(&catalog, seen(more.clone()), [&[], &[], &[]]);
    news(&catalog, seen(tools(&["m", "x"])), [&[], &all[1..], &[]]);
    news(&catalog, Filing::Unseen { abilities: other() }, [&[], &[], &[]]);
    news(&catalog, Filing::Unseen { abilities: asked() }, [&[], &all, &[]]);
    assert_eq!(dotted(&catalog, &asked()), ["a.m", "b.n"]);
    news(&catalog, seen(more), [&[], &all, &[]]);
    // What nobody else had is gone for the profile too.
    news(&catalog, Filing::Withdrawn { server: server("a") }, [&[Kind::Tools], &all, &[]]);
    news(&catalog, seen(tools(&["m", "x"])), [&[], &[], &[]]);
    assert_eq!(dotted(&catalog, &asked()), ["b.n"]);
}

#[test]
fn a_change_for_everybody_leaves_the_difference_as_it_was_until_somebody_looks_again() {
    let worded = |name: &str| {
        let definition = RawValue::from_string(format!(r#"{{"name":"{name}","w":1}}"#)).unwrap();
        Arc::new(Tool { name: name.into(), definition })
    };
    let catalog = filed([("a", tools(&["m", "hidden", "worded", "rewritten"]))]);
    let mut own = tools(&["x", "m"]);
    own.tools.extend([worded("worded"), worded("rewritten")]);
    see(&catalog, "a", asked(), own);
    let mut next = tools(&["new", "hidden", "worded"]);
    let rewritten = RawValue::from_string(r#"{"name":"rewritten","w":2}"#.to_owned()).unwrap();
    next.tools.push(Arc::new(Tool { name: "rewritten".into(), definition: rewritten }));
    file(&catalog, "a", next);
    let (asked, view) = (asked(), View::Server(server("a")));
    let eyes = Eyes { abilities: &asked, ..eyes(&view, NameStyle::Bare) };
    let list: serde_json::Value =
        serde_json::from_slice(&catalog.snapshot().list(Kind::Tools, &eyes)).unwrap();
    let found: Vec<(&str, Option<u64>)> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), tool["w"].as_u64()))
        .collect();
    assert_eq!(found, [("new", None), ("worded", Some(1)), ("rewritten", Some(2)), ("x", None)]);
    file(&catalog, "a", tools(&["new", "worded", "rewritten", "x"]));
    assert_eq!(dotted(&catalog, &asked), ["a.new", "a.worded", "a.rewritten", "a.x"]);
}

#[test]
fn safe_names_are_as_they_were_whatever_profiles_are_shown_beside_them() {
    let catalog = filed([("a", tools(&["x.y", "m"]))]);
    see(&catalog, "a", asked(), tools(&["x_y", "x.y", "m"]));
    let of = |abilities: &Abilities| shown(&catalog, Kind::Tools, &View::All, NameStyle::Safe, abilities);
    assert_eq!(of(&other()), ["a__x_y", "a__m"]);
    let first = of(&asked());
    assert!(first[0].starts_with("a__x_y_") && first[1..] == ["a__x_y", "a__m"], "{first:?}");
    see(&catalog, "a", other(), tools(&["x:y", "x.y", "m"]));
    assert_eq!(of(&asked()), first, "another profile changes nothing");
    let snapshot = catalog.snapshot();
    let found = |name: &str| snapshot.by_safe_name(Kind::Tools, name).map(|found| found.tool.clone());
    assert_eq!(found("a__x_y").as_deref(), Some("x.y"));
    assert_eq!(found(&first[0]).as_deref(), Some("x_y"));
    assert_eq!(found(&of(&other())[0]).as_deref(), Some("x:y"));
    let entry = &snapshot.servers()[&server("a")];
    assert!(entry.has(Kind::Tools, "x:y") && !entry.has_for_all(Kind::Tools, "x:y"));
}

#[test]
fn a_resource_of_a_profile_is_found_and_takes_none_over() {
    let resources = |uris: &[&str]| offer(Kind::Resources, uris);
    let catalog = filed([("a", resources(&["x:1"])), ("b", resources(&["y:1"]))]);
    see(&catalog, "a", asked(), resources(&["x:1", "y:1", "ui://a", "y:2"]));
    let owner = |uri: &str| catalog.snapshot().resource_owner(&View::All, uri).map(|found| found.server);
    let of = |abilities: &Abilities| shown(&catalog, Kind::Resources, &View::All, NameStyle::Dot, abilities);
    assert_eq!(of(&asked()), ["x:1", "portolan://a/y%3A1", "ui://a", "y:2", "y:1"]);
    assert_eq!(of(&other()), ["x:1", "y:1"]);
    for (uri, expected) in [("y:1", "b"), ("y:2", "a"), ("y:3", "b"), ("ui://a", "a"), ("ui://other", "a")] {
        assert_eq!(owner(uri), Some(server(expected)), "{uri}");
    }
}

#[test]
fn what_a_profile_is_shown_beside_thousands_of_tools_is_kept_once() {
    let names: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let catalog = filed([("a", tools(&names))]);
    see(&catalog, "a", asked(), and(tools(&[&["x"], &names[..]].concat()), &offer(Kind::Prompts, &[])));
    let snapshot = catalog.snapshot();
    let entry = &snapshot.servers()[&server("a")];
    let shelf = entry.shelf_for(Kind::Tools, &asked()).unwrap();
    let shared = &entry.offer().unwrap().tools;
    assert!(shelf.offer.tools[1..].iter().zip(shared).all(|(own, shared)| Arc::ptr_eq(own, shared)));
}

#[test]
fn a_renamed_server_takes_along_what_profiles_see() {
    let catalog = filed([("a", tools(&["m"]))]);
    see(&catalog, "a", asked(), and(tools(&["m"]), &offer(Kind::Prompts, &["p"])));
    let all = [Kind::Tools, Kind::Prompts];
    news(&catalog, Filing::Renamed { from: server("a"), to: server("z") }, [&[Kind::Tools], &all, &[]]);
    assert_eq!(shown(&catalog, Kind::Prompts, &View::All, NameStyle::Dot, &asked()), ["z.p"]);
    assert!(shown(&catalog, Kind::Prompts, &View::All, NameStyle::Dot, &other()).is_empty());
}

#[test]
fn a_list_for_a_profile_says_where_it_is_only_a_part() {
    let catalog = filed([("a", tools(&["m"]))]);
    let item =
        Item { key: "p".into(), definition: RawValue::from_string(r#"{"name":"p"}"#.to_owned()).unwrap() };
    let part =
        Offer { prompts: vec![Arc::new(item)], partial: Kinds::NONE.with(Kind::Prompts), ..tools(&["m"]) };
    see(&catalog, "a", asked(), part);
    for (abilities, expected) in [(asked(), true), (other(), false)] {
        for view in [View::All, View::Server(server("a"))] {
            let eyes = Eyes { abilities: &abilities, ..eyes(&view, NameStyle::Dot) };
            let list = catalog.snapshot().list(Kind::Prompts, &eyes);
            assert_eq!(String::from_utf8_lossy(&list).contains("portolan/partial"), expected, "{view:?}");
        }
    }
}
