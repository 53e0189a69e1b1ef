//! What the catalog promises: lists that are whole, the same for the same servers, and rendered once.

use super::*;
use portolan_model::{NameStyle, Tool};
use portolan_wire::Revision;
use serde_json::value::RawValue;
use std::time::Duration;

const NOW: Revision = Revision::V2025_11_25;

fn server(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

fn offer(tools: &[&str], instances: &[&str]) -> Offer {
    let tool = |name: &&str| {
        let definition = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"x":1.0}}"#);
        Arc::new(Tool { name: (*name).into(), definition: RawValue::from_string(definition).unwrap() })
    };
    Offer {
        tools: tools.iter().map(tool).collect(),
        instances: instances.iter().map(ToString::to_string).collect(),
        ..Offer::default()
    }
}

fn filed(servers: &[(&str, &[&str])]) -> Catalog {
    let catalog = Catalog::default();
    for (name, tools) in servers {
        catalog.file(Filing::Offered { server: server(name), offer: offer(tools, &[]) });
    }
    catalog
}

fn names(list: &[u8]) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_slice(list).unwrap();
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_list_has_servers_by_name_and_tools_in_their_servers_order_whoever_came_first() {
    let one = filed(&[("b", &["z", "a"]), ("a", &["m"])]);
    let other = filed(&[("a", &["m"]), ("b", &["z", "a"])]);
    for (style, expected) in [
        (NameStyle::Dot, ["a.m", "b.z", "b.a"]),
        (NameStyle::Colon, ["a:m", "b:z", "b:a"]),
        (NameStyle::Safe, ["a__m", "b__z", "b__a"]),
    ] {
        let list = one.snapshot().tool_list(&View::All, style, NOW);
        assert_eq!(names(&list), expected);
        assert_eq!(list, other.snapshot().tool_list(&View::All, style, NOW));
    }
    assert_eq!(
        names(&one.snapshot().tool_list(&View::Server(server("b")), NameStyle::Bare, NOW)),
        ["z", "a"]
    );
}

#[test]
fn a_list_is_rendered_once_and_keeps_fields_that_nobody_knows() {
    let catalog = filed(&[("a", &["m"])]);
    let snapshot = catalog.snapshot();
    let (first, second) = (
        snapshot.tool_list(&View::All, NameStyle::Dot, NOW),
        snapshot.tool_list(&View::All, NameStyle::Dot, NOW),
    );
    assert_eq!(first.as_ptr(), second.as_ptr(), "the same bytes, not equal ones");
    assert_eq!(&first[..], br#"{"tools":[{"name":"a.m","inputSchema":{"type":"object"},"x":1.0}]}"#);
}

#[test]
fn f39_a_change_swaps_the_whole_list_and_stirs_only_the_views_it_concerns() {
    let catalog = filed(&[("a", &["m"]), ("b", &["n"])]);
    let before = catalog.snapshot().clone();
    catalog.file(Filing::Offered { server: server("a"), offer: offer(&["m2"], &[]) });
    let after = catalog.snapshot().clone();
    assert_eq!(names(&before.tool_list(&View::All, NameStyle::Dot, NOW)), ["a.m", "b.n"]);
    assert_eq!(names(&after.tool_list(&View::All, NameStyle::Dot, NOW)), ["a.m2", "b.n"]);
    let stirred = |view: &View| before.stamp(view) != after.stamp(view);
    assert!(
        stirred(&View::All) && stirred(&View::Server(server("a"))) && !stirred(&View::Server(server("b")))
    );
}

#[test]
fn f45_what_leads_back_to_an_asking_portolan_is_left_out_of_its_list() {
    let catalog = filed(&[("plain", &["t"])]);
    catalog.file(Filing::Offered { server: server("back"), offer: offer(&["t"], &["asker", "third"]) });
    let peer = Peer { asking: "asker", own: "own" };
    let list = catalog.snapshot().tool_list_for_peer(&peer, NameStyle::Dot, NOW);
    assert_eq!(names(&list), ["plain.t"]);
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["_meta"]["portolan/instances"], serde_json::json!(["asker", "third", "own"]));
}

#[tokio::test(start_paused = true)]
async fn f41_lists_wait_for_servers_in_their_first_try_but_never_beyond_the_deadline() {
    let catalog = filed(&[("quick", &["t"])]);
    catalog.file(Filing::Turned { server: server("slow"), state: State::Connecting, error: None });
    let begun = Instant::now();
    catalog.settled(begun + Duration::from_secs(1)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    let list = catalog.snapshot().tool_list(&View::All, NameStyle::Dot, NOW);
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["_meta"]["portolan/pending"], serde_json::json!(["slow"]));
    let why = Some("no such command".into());
    catalog.file(Filing::Turned { server: server("slow"), state: State::Connecting, error: why });
    catalog.settled(begun + Duration::from_hours(1)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(1), "a first try that failed is decided");
}
