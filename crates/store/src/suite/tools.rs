//! Tools: the difference between two lists, and ways to find one.

use super::{added, all_tools, defined, draft, drafts, names, of_server, server};
use crate::{Among, Page, ServerRecord, Store, StoreError, ToolDraft, ToolFinder, ToolRecord, ToolsChange};
use portolan_model::{Moment, ServerId, ToolId};
use std::sync::Arc;

async fn tools_of(store: &dyn Store, server: ServerId) -> Vec<ToolRecord> {
    store.tools(&of_server(server), Page::ALL).await.unwrap().items
}

fn ids(tools: &[ToolRecord]) -> Vec<ToolId> {
    tools.iter().map(|tool| tool.id).collect()
}

fn change(added: usize, changed: usize, removed: usize) -> ToolsChange {
    ToolsChange { added, changed, removed }
}

pub(crate) async fn br_003_the_first_list_is_kept_in_its_order(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let list = [draft("zebra"), draft("ant"), ToolDraft { description: None, ..draft("mole") }];
    let before = Moment::now();
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), change(3, 0, 0));
    let after = Moment::now();
    let found = tools_of(&*store, server.id).await;
    assert_eq!(names(&found), ["zebra", "ant", "mole"]);
    for (tool, draft) in found.iter().zip(&list) {
        assert_eq!((tool.server, &tool.server_name), (server.id, &server.name));
        assert_eq!(tool.description, draft.description);
        assert_eq!((&tool.definition, &tool.fingerprint), (&draft.definition, &draft.fingerprint));
        assert_eq!(tool.changed_at, None);
        assert!((before..=after).contains(&tool.first_seen_at));
    }
}

pub(crate) async fn br_003_the_same_list_again_changes_nothing(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let list = drafts(&["one", "two", "three"]);
    store.put_tools(server.id, &list).await.unwrap();
    let before = tools_of(&*store, server.id).await;
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), ToolsChange::default());
    assert_eq!(tools_of(&*store, server.id).await, before);
}

pub(crate) async fn br_003_a_changed_tool_keeps_its_id(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
    let before = tools_of(&*store, server.id).await;
    let other =
        ToolDraft { description: Some("other".to_owned()), ..defined("two", "{\"title\": \"Other\"}") };
    let now = Moment::now();
    assert_eq!(store.put_tools(server.id, &[draft("one"), other.clone()]).await.unwrap(), change(0, 1, 0));
    let after = tools_of(&*store, server.id).await;
    assert_eq!(after[0], before[0]);
    assert!(after[1].changed_at.is_some_and(|at| at >= now));
    let expected = ToolRecord {
        description: other.description,
        definition: other.definition,
        fingerprint: other.fingerprint,
        changed_at: after[1].changed_at,
        ..before[1].clone()
    };
    assert_eq!(after[1], expected);
}

pub(crate) async fn br_003_a_moved_tool_is_not_a_changed_one(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two", "three"])).await.unwrap();
    let mut expected = tools_of(&*store, server.id).await;
    expected.reverse();
    let moved = store.put_tools(server.id, &drafts(&["three", "two", "one"])).await.unwrap();
    assert_eq!(moved, ToolsChange::default());
    assert_eq!(tools_of(&*store, server.id).await, expected);
}

pub(crate) async fn br_003_tools_come_and_go_beside_those_that_stay(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["stays", "goes", "changes"])).await.unwrap();
    let before = tools_of(&*store, server.id).await;
    let list = [draft("comes"), defined("changes", "{}"), draft("stays"), draft("comes too")];
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), change(2, 1, 1));
    let after = tools_of(&*store, server.id).await;
    assert_eq!(names(&after), ["comes", "changes", "stays", "comes too"]);
    assert_eq!((after[2].id, after[1].id), (before[0].id, before[2].id));
    let known = ids(&before);
    assert!(!known.contains(&after[0].id) && !known.contains(&after[3].id));
}

pub(crate) async fn br_003_an_empty_list_leaves_no_tool(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
    assert_eq!(store.put_tools(server.id, &[]).await.unwrap(), change(0, 0, 2));
    assert_eq!(tools_of(&*store, server.id).await, []);
    assert_eq!(store.put_tools(server.id, &[]).await.unwrap(), ToolsChange::default());
}

pub(crate) async fn a_tool_that_comes_back_is_a_new_one(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        store.put_tools(server.id, &drafts(&["one"])).await.unwrap();
        seen.extend(ids(&tools_of(&*store, server.id).await));
        store.put_tools(server.id, &[]).await.unwrap();
    }
    // An id that somebody still remembers must never come to mean another tool.
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
}

pub(crate) async fn f42_of_two_tools_of_one_name_the_last_holds(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let list = [defined("twice", "{\"first\": 1}"), draft("once"), defined("twice", "{\"second\": 2}")];
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), change(2, 0, 0));
    let found = tools_of(&*store, server.id).await;
    assert_eq!(names(&found), ["once", "twice"]);
    assert_eq!(found[1].definition, "{\"second\": 2}");
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), ToolsChange::default());
}

pub(crate) async fn tools_of_a_server_that_is_gone_are_refused(store: Arc<dyn Store>) {
    let gone = added(&*store, "gone").await;
    store.remove_server(gone.id).await.unwrap();
    for list in [drafts(&["one"]), Vec::new()] {
        let refusal = store.put_tools(gone.id, &list).await.unwrap_err();
        assert!(matches!(refusal, StoreError::NoSuchServer), "{refusal}");
    }
    assert_eq!(all_tools(&*store).await, []);
}

pub(crate) async fn one_servers_list_leaves_the_others_alone(store: Arc<dyn Store>) {
    let (first, second) = (added(&*store, "first").await, added(&*store, "second").await);
    store.put_tools(first.id, &drafts(&["search", "read"])).await.unwrap();
    let before = tools_of(&*store, first.id).await;
    store.put_tools(second.id, &drafts(&["read", "search"])).await.unwrap();
    store.put_tools(second.id, &[]).await.unwrap();
    assert_eq!(tools_of(&*store, first.id).await, before);
}

pub(crate) async fn tools_are_found_by_workspace_server_and_name(store: Arc<dyn Store>) {
    let (beta, alpha) = (added(&*store, "beta").await, added(&*store, "alpha").await);
    let theirs = ServerRecord { workspace: "theirs".into(), ..server("alpha") };
    store.add_server(&theirs).await.unwrap();
    for (server, list) in
        [(&beta, ["search", "read"]), (&alpha, ["write", "search"]), (&theirs, ["search", "x"])]
    {
        store.put_tools(server.id, &drafts(&list)).await.unwrap();
    }
    let ours = ToolFinder::default();
    let search = ToolFinder { name: Some("search".to_owned()), ..ours.clone() };
    let in_beta = of_server(beta.id);
    let elsewhere = ToolFinder { workspace: "theirs".into(), ..ours.clone() };
    let cases = [
        (ours, vec!["alpha.write", "alpha.search", "beta.search", "beta.read"]),
        (search.clone(), vec!["alpha.search", "beta.search"]),
        (in_beta.clone(), vec!["beta.search", "beta.read"]),
        (ToolFinder { name: Some("search".to_owned()), ..in_beta.clone() }, vec!["beta.search"]),
        (ToolFinder { name: Some("SEARCH".to_owned()), ..in_beta }, vec![]),
        (of_server(ServerId::random()), vec![]),
        (of_server(theirs.id), vec![]),
        (elsewhere, vec!["alpha.search", "alpha.x"]),
        (ToolFinder { workspace: "theirs".into(), ..search }, vec!["alpha.search"]),
    ];
    for (finder, expected) in cases {
        let found = store.tools(&finder, Page::ALL).await.unwrap();
        let shown: Vec<String> =
            found.items.iter().map(|tool| format!("{}.{}", tool.server_name, tool.name)).collect();
        assert_eq!(shown, expected, "{finder:?}");
        assert_eq!(found.total, expected.len() as u64, "{finder:?}");
    }
}

pub(crate) async fn tools_at_hand_are_found_by_id_or_by_server_and_name(store: Arc<dyn Store>) {
    let (beta, alpha) = (added(&*store, "beta").await, added(&*store, "alpha").await);
    let theirs = ServerRecord { workspace: "theirs".into(), ..server("gamma") };
    store.add_server(&theirs).await.unwrap();
    for server in [&beta, &alpha, &theirs] {
        store.put_tools(server.id, &drafts(&["one", "t\0wo", "two"])).await.unwrap();
    }
    let find = async |among: Among, page: Page| {
        let finder = ToolFinder { among: Some(among), ..ToolFinder::default() };
        let found = store.tools(&finder, page).await.unwrap();
        let name = |tool: &ToolRecord| format!("{}.{}", tool.server_name, tool.name);
        (found.items.iter().map(name).collect::<Vec<_>>(), found.total)
    };
    let named = |wanted: &[(ServerId, &str)]| {
        Among::Names(wanted.iter().map(|(server, name)| (*server, (*name).to_owned())).collect())
    };
    let wanted =
        [(beta.id, "two"), (alpha.id, "t\0wo"), (beta.id, "none"), (beta.id, "two"), (theirs.id, "one")];
    let expected = (vec!["alpha.t\0wo".to_owned(), "beta.two".to_owned()], 2);
    assert_eq!(find(named(&wanted), Page::ALL).await, expected);
    assert_eq!(find(named(&wanted), Page { limit: 1, offset: 1 }).await, (vec!["beta.two".to_owned()], 2));
    assert_eq!(find(named(&[]), Page::ALL).await, (vec![], 0));
    let first = ids(&tools_of(&*store, beta.id).await)[0];
    let in_theirs = ToolFinder { workspace: "theirs".into(), ..ToolFinder::default() };
    let foreign = store.tools(&in_theirs, Page::ALL).await.unwrap().items[0].id;
    let by_id = Among::Ids(vec![first, ToolId(0), foreign, first]);
    assert_eq!(find(by_id, Page::ALL).await, (vec!["beta.one".to_owned()], 1));
    assert_eq!(find(Among::Ids(Vec::new()), Page::ALL).await, (vec![], 0));
    let many = (0..3000).map(|n| (alpha.id, format!("{n}"))).chain([(alpha.id, "one".to_owned())]);
    assert_eq!(find(Among::Names(many.collect()), Page::ALL).await.1, 1);
    let elsewhere = ToolFinder { among: Some(Among::Ids(vec![first])), ..of_server(alpha.id) };
    assert_eq!(store.tools(&elsewhere, Page::ALL).await.unwrap().total, 0);
}

pub(crate) async fn a_page_is_a_window_on_the_whole(store: Arc<dyn Store>) {
    let (beta, alpha) = (added(&*store, "beta").await, added(&*store, "alpha").await);
    store.put_tools(beta.id, &drafts(&["b1", "b2", "b3"])).await.unwrap();
    store.put_tools(alpha.id, &drafts(&["a1", "a2"])).await.unwrap();
    for (limit, offset, expected) in [
        (2, 0, &["a1", "a2"][..]),
        (2, 1, &["a2", "b1"]),
        (9, 3, &["b2", "b3"]),
        (0, 0, &[]),
        (9, 5, &[]),
        (u32::MAX, u32::MAX, &[]),
    ] {
        let found = store.tools(&ToolFinder::default(), Page { limit, offset }).await.unwrap();
        assert_eq!(names(&found.items), expected, "{limit} from {offset}");
        assert_eq!(found.total, 5, "{limit} from {offset}");
    }
}

pub(crate) async fn f43_odd_names_and_texts_come_back_to_the_byte(store: Arc<dyn Store>) {
    let server = added(&*store, "odd").await;
    let long = "n".repeat(300);
    let odd = [
        "", " ", "a b", "a.b:c", "..", "a\r\nb", "a\0b", "a\0c", "é", "e\u{301}", "🧭", "%", "_", "'", "\"",
        "NULL", "Search", "search", "1", "01", &long,
    ];
    let list: Vec<ToolDraft> = odd
        .iter()
        .map(|name| ToolDraft {
            description: Some(format!("{name}\0\u{feff}{name}")),
            ..defined(name, &format!("{{ \"name\" :\t\"{name}\", \"n\": 1.0e0 }}\n"))
        })
        .collect();
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), change(odd.len(), 0, 0));
    let found = tools_of(&*store, server.id).await;
    assert_eq!(names(&found), odd);
    for (tool, draft) in found.iter().zip(&list) {
        assert_eq!((&tool.definition, &tool.description), (&draft.definition, &draft.description));
        let finder = ToolFinder { name: Some(draft.name.clone()), ..ToolFinder::default() };
        let alone = store.tools(&finder, Page::ALL).await.unwrap();
        assert_eq!(ids(&alone.items), [tool.id], "{:?}", draft.name);
    }
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), ToolsChange::default());
}

pub(crate) async fn ec_006_a_large_list_goes_in_at_once(store: Arc<dyn Store>) {
    let server = added(&*store, "large").await;
    let mut list: Vec<ToolDraft> = (0..1000).map(|number| draft(&format!("tool_{number}"))).collect();
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), change(1000, 0, 0));
    list.remove(0);
    list[500] = defined(&list[500].name, "{\"changed\": true}");
    list.push(draft("the last"));
    assert_eq!(store.put_tools(server.id, &list).await.unwrap(), change(1, 1, 1));
    let found = tools_of(&*store, server.id).await;
    let expected: Vec<&str> = list.iter().map(|draft| draft.name.as_str()).collect();
    assert_eq!(names(&found), expected);
    assert_eq!(found.iter().filter(|tool| tool.changed_at.is_some()).count(), 1);
}
