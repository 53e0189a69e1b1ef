//! What the catalog promises: lists that are whole, the same for the same servers, and rendered once.

pub(crate) mod kit;
mod profiles;

use super::*;
use kit::{and, eyes, file, filed, keys, offer, raw, server};
use portolan_model::{Kinds, NameStyle, Offer, State};
use portolan_wire::{Abilities, Revision};
use std::time::Duration;

const NEXT: Revision = Revision::V2026_07_28;

fn nobody() -> Abilities {
    Abilities::default()
}

fn tools(names: &[&str]) -> Offer {
    offer(Kind::Tools, names)
}

fn leading_to(offer: Offer, instances: &[&str]) -> Offer {
    Offer { instances: instances.iter().map(ToString::to_string).collect(), ..offer }
}

#[test]
fn a_list_has_servers_by_name_and_tools_in_their_servers_order_whoever_came_first() {
    for kind in [Kind::Tools, Kind::Prompts] {
        let one = filed([("b", offer(kind, &["z", "a"])), ("a", offer(kind, &["m"]))]);
        let other = filed([("a", offer(kind, &["m"])), ("b", offer(kind, &["z", "a"]))]);
        for (style, expected) in [
            (NameStyle::Dot, ["a.m", "b.z", "b.a"]),
            (NameStyle::Colon, ["a:m", "b:z", "b:a"]),
            (NameStyle::Safe, ["a__m", "b__z", "b__a"]),
        ] {
            let list = one.snapshot().list(kind, &eyes(&View::All, style));
            assert_eq!(keys(kind, &list), expected);
            assert_eq!(list, other.snapshot().list(kind, &eyes(&View::All, style)));
        }
        let alone = one.snapshot().list(kind, &eyes(&View::Server(server("b")), NameStyle::Bare));
        assert_eq!(keys(kind, &alone), ["z", "a"]);
    }
}

#[test]
fn a_list_is_rendered_once_and_keeps_fields_that_nobody_knows() {
    let catalog = filed([("a", tools(&["m"]))]);
    let list = || catalog.snapshot().list(Kind::Tools, &eyes(&View::All, NameStyle::Dot));
    let first = list();
    assert_eq!(first.as_ptr(), list().as_ptr(), "the same bytes, not equal ones");
    assert_eq!(&first[..], br#"{"tools":[{"name":"a.m","inputSchema":{"type":"object"},"x":1.0}]}"#);
    file(&catalog, "b", offer(Kind::Prompts, &["p"]));
    let turned = Filing::Turned { server: server("a"), state: State::Degraded, error: None };
    catalog.file(turned);
    assert_eq!(first.as_ptr(), list().as_ptr(), "what is not about tools leaves their list alone");
    catalog.file(Filing::Turned { server: server("c"), state: State::Connecting, error: None });
    assert!(String::from_utf8_lossy(&list()).contains(r#""portolan/pending":["c"]"#));
}

#[test]
fn a_list_of_the_newest_revision_says_that_it_is_whole_and_not_to_be_kept() {
    let catalog = filed([("a", and(tools(&["t"]), &offer(Kind::Resources, &["x:1"])))]);
    let list = |kind, view: &View| {
        String::from_utf8(
            catalog.snapshot().list(kind, &Eyes { revision: NEXT, ..eyes(view, NameStyle::Dot) }).to_vec(),
        )
        .unwrap()
    };
    let head = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","#;
    assert_eq!(
        list(Kind::Resources, &View::All),
        format!(r#"{head}"resources":[{{"uri":"x:1","x":1.0}}]}}"#)
    );
    for kind in Kind::ALL {
        for view in [View::All, View::Server(server("a")), View::Server(server("nobody"))] {
            assert!(
                list(kind, &view).starts_with(&format!(r#"{head}"{}":["#, kind.list())),
                "{kind:?} {view:?}"
            );
        }
    }
}

#[test]
fn a_prompt_and_a_tool_may_share_a_name() {
    let catalog = filed([("a", and(tools(&["x.y"]), &offer(Kind::Prompts, &["x.y", "x_y"])))]);
    let snapshot = catalog.snapshot();
    let found = |kind, name| snapshot.by_safe_name(kind, name).map(|found| found.tool.clone());
    assert_eq!(found(Kind::Tools, "a__x_y").as_deref(), Some("x.y"));
    assert_eq!(found(Kind::Prompts, "a__x_y").as_deref(), Some("x_y"));
    let list = snapshot.list(Kind::Prompts, &eyes(&View::All, NameStyle::Safe));
    assert_eq!(keys(Kind::Prompts, &list)[1], "a__x_y");
    assert!(snapshot.servers()[&server("a")].has(Kind::Prompts, "x_y"));
    assert!(!snapshot.servers()[&server("a")].has(Kind::Tools, "x_y"));
}

#[test]
fn f39_a_change_swaps_the_whole_list_and_stirs_only_the_views_it_concerns() {
    let catalog = filed([("a", tools(&["m"])), ("b", tools(&["n"]))]);
    let before = catalog.snapshot().clone();
    file(&catalog, "a", tools(&["m2"]));
    let after = catalog.snapshot().clone();
    let list = |snapshot: &Snapshot| {
        keys(Kind::Tools, &snapshot.list(Kind::Tools, &eyes(&View::All, NameStyle::Dot)))
    };
    assert_eq!(list(&before), ["a.m", "b.n"]);
    assert_eq!(list(&after), ["a.m2", "b.n"]);
    let stirred =
        |view: &View, kind| before.stamp(view, kind, &nobody()) != after.stamp(view, kind, &nobody());
    let (a, b) = (View::Server(server("a")), View::Server(server("b")));
    assert!(stirred(&View::All, Kind::Tools) && stirred(&a, Kind::Tools) && !stirred(&b, Kind::Tools));
    assert!(!stirred(&View::All, Kind::Prompts) && !stirred(&a, Kind::Resources));
}

/// Which kinds one filing counts for.
#[track_caller]
fn counted(catalog: &Catalog, filing: Filing, expected: &[Kind]) {
    let (view, before) = (View::Server(server("a")), *catalog.generations().borrow());
    let stamps = Kind::ALL.map(|kind| catalog.snapshot().stamp(&view, kind, &nobody()));
    catalog.file(filing);
    let after = *catalog.generations().borrow();
    assert_eq!(after.filed, before.filed + 1);
    let is_counted = |kind: &Kind| after.listed[kind.index()] > before.listed[kind.index()];
    assert_eq!(Kind::ALL.into_iter().filter(is_counted).collect::<Vec<_>>(), expected);
    let snapshot = catalog.snapshot();
    for kind in Kind::ALL {
        assert_eq!(snapshot.stamp(&View::All, kind, &nobody()), after.listed[kind.index()], "{kind:?}");
        if snapshot.servers().contains_key(&server("a")) {
            let is_stirred = snapshot.stamp(&view, kind, &nobody()) != stamps[kind.index()];
            assert_eq!(is_stirred, expected.contains(&kind), "{kind:?}");
        }
    }
}

#[test]
fn each_kind_is_counted_by_itself_and_templates_as_resources() {
    let catalog = Catalog::default();
    let offered = |offer: &Offer, announced: Kinds| Filing::Offered {
        server: server("a"),
        offer: offer.clone(),
        announced,
    };
    let (tool, prompt) = (tools(&["t"]), offer(Kind::Prompts, &["p"]));
    let both = and(tool.clone(), &prompt);
    let more = and(both.clone(), &offer(Kind::Templates, &["x:{y}"]));
    counted(&catalog, offered(&tool, Kinds::NONE), &[Kind::Tools]);
    counted(&catalog, offered(&tool, Kinds::NONE), &[]);
    counted(&catalog, offered(&tool, Kinds::NONE.with(Kind::Tools)), &[Kind::Tools]);
    counted(&catalog, offered(&both, Kinds::NONE), &[Kind::Prompts]);
    counted(&catalog, offered(&more, Kinds::NONE), &[Kind::Resources, Kind::Templates]);
    let kinds = Kinds::NONE.with(Kind::Templates);
    let seen =
        |catalog: &Catalog| catalog.snapshot().list(Kind::Templates, &eyes(&View::All, NameStyle::Dot));
    let before = seen(&catalog);
    counted(&catalog, Filing::Stale { server: server("a"), kinds }, &[Kind::Resources, Kind::Templates]);
    assert_eq!(before, seen(&catalog));
    let turned = Filing::Turned { server: server("a"), state: State::Error, error: None };
    counted(&catalog, turned, &[]);
    let all = [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::Templates];
    counted(&catalog, Filing::Withdrawn { server: server("a") }, &all);
    counted(&catalog, Filing::Withdrawn { server: server("a") }, &[]);
    counted(&catalog, offered(&both, Kinds::NONE), &[Kind::Tools, Kind::Prompts]);
    counted(&catalog, Filing::Removed { server: server("a") }, &[Kind::Tools, Kind::Prompts]);
    counted(&catalog, Filing::Removed { server: server("a") }, &[]);
}

#[test]
fn ec_008_a_new_name_is_news_for_what_the_server_has_and_nothing_else() {
    let catalog = filed([("a", offer(Kind::Prompts, &["p"]))]);
    counted(&catalog, Filing::Renamed { from: server("a"), to: server("z") }, &[Kind::Prompts]);
    let list = catalog.snapshot().list(Kind::Prompts, &eyes(&View::All, NameStyle::Dot));
    assert_eq!(keys(Kind::Prompts, &list), ["z.p"]);
}

#[test]
fn f45_what_leads_back_to_an_asking_portolan_is_left_out_of_its_list() {
    for kind in [Kind::Tools, Kind::Prompts] {
        let back = leading_to(offer(kind, &["t"]), &["asker", "third"]);
        let catalog = filed([("plain", offer(kind, &["t"])), ("back", back)]);
        let peer = Peer { asking: "asker", own: "own" };
        let list = catalog.snapshot().list_for_peer(kind, &peer, &eyes(&View::All, NameStyle::Dot));
        assert_eq!(keys(kind, &list), ["plain.t"]);
        let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
        assert_eq!(list["_meta"]["portolan/instances"], serde_json::json!(["asker", "third", "own"]));
    }
}

#[test]
fn a_list_names_the_servers_of_which_this_kind_is_only_known_in_part() {
    let whole = and(tools(&["t"]), &offer(Kind::Prompts, &["p"]));
    let catalog = filed([("a", Offer { partial: Kinds::NONE.with(Kind::Prompts), ..whole })]);
    for view in [View::All, View::Server(server("a"))] {
        let marked = |kind| {
            let list = catalog.snapshot().list(kind, &eyes(&view, NameStyle::Dot));
            String::from_utf8_lossy(&list).contains(r#""portolan/partial":["a"]"#)
        };
        assert!(marked(Kind::Prompts) && !marked(Kind::Tools));
    }
}

#[test]
fn the_arguments_that_a_tool_wants_in_headers_are_known_from_its_definition() {
    let schema = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    let mirrored = portolan_model::Tool {
        name: "m".into(),
        definition: raw(&format!(r#"{{"name":"m","inputSchema":{schema}}}"#)),
    };
    let mut offer = tools(&["plain"]);
    offer.tools.push(Arc::new(mirrored));
    let catalog = filed([("a", offer)]);
    let snapshot = catalog.snapshot();
    let entry = &snapshot.servers()[&server("a")];
    let headers: Vec<&str> = entry.mirrors("m").iter().map(|mirror| mirror.header.as_str()).collect();
    assert_eq!(headers, ["mcp-param-region"]);
    assert!(entry.mirrors("plain").is_empty() && entry.mirrors("nothing").is_empty());
}

#[tokio::test(start_paused = true)]
async fn f41_lists_wait_for_servers_in_their_first_try_but_never_beyond_the_deadline() {
    let catalog = filed([("quick", tools(&["t"]))]);
    catalog.file(Filing::Turned { server: server("slow"), state: State::Connecting, error: None });
    let begun = Instant::now();
    catalog.settled(begun + Duration::from_secs(1)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    let list = catalog.snapshot().list(Kind::Tools, &eyes(&View::All, NameStyle::Dot));
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["_meta"]["portolan/pending"], serde_json::json!(["slow"]));
    let why = Some("no such command".into());
    catalog.file(Filing::Turned { server: server("slow"), state: State::Connecting, error: why });
    catalog.settled(begun + Duration::from_hours(1)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(1), "a first try that failed is decided");
}

#[test]
fn two_profiles_of_one_name_never_share_a_list() {
    use portolan_model::Profile;
    use std::sync::Arc;
    let catalog = filed([("a", tools(&["m"])), ("b", tools(&["z"]))]);
    let all = Profile::new(server("default"));
    let some = Profile { servers: vec!["b".to_owned()], ..all.clone() };
    let snapshot = catalog.snapshot();
    let seen = |profile: &Profile| {
        let view = View::Profile(Arc::new(profile.clone()));
        keys(Kind::Tools, &snapshot.list(Kind::Tools, &eyes(&view, NameStyle::Dot)))
    };
    // The second time each comes from what was kept.
    for _ in 0..2 {
        assert_eq!(seen(&all), ["a.m", "b.z"]);
        assert_eq!(seen(&some), ["b.z"]);
    }
}
