//! Servers: their fields, their names, and what goes with them.

use super::{added, all_tools, drafts, name, names, of_server, server};
use crate::{Curation, HistoryRecord, Page, ServerRecord, Store, StoreError};
use portolan_model::{Moment, Origin, ServerId, Workspace};
use std::sync::Arc;

async fn all(store: &dyn Store) -> Vec<ServerRecord> {
    store.servers(&Workspace::default()).await.unwrap()
}

fn connected(server: ServerId) -> HistoryRecord {
    HistoryRecord { id: 0, server, event: "CONNECTED".to_owned(), details: None, at: Moment::from_millis(1) }
}

pub(crate) async fn a_server_reads_back_as_it_was_written(store: Arc<dyn Store>) {
    assert_eq!(all(&*store).await, []);
    let full = server("full");
    let bare = ServerRecord {
        origin: Origin::File,
        description: None,
        sealed_spec: None,
        is_wanted: false,
        registered_at: Moment::from_millis(-1),
        updated_at: Moment::from_millis(i64::MAX),
        ..server("bare")
    };
    let odd = ServerRecord {
        description: Some("Straße 🧭 '; DROP TABLE servers; -- \0 end".to_owned()),
        sealed_spec: Some(Vec::new()),
        ..server(&format!("odd-{}", "x".repeat(251)))
    };
    for server in [&full, &bare, &odd] {
        store.add_server(server).await.unwrap();
    }
    assert_eq!(all(&*store).await, [bare, full, odd]);
}

pub(crate) async fn servers_come_by_name(store: Arc<dyn Store>) {
    for name in ["b", "a-1", "a", "a_1", "ab"] {
        added(&*store, name).await;
    }
    let found: Vec<String> = all(&*store).await.iter().map(|server| server.name.to_string()).collect();
    assert_eq!(found, ["a", "a-1", "a_1", "ab", "b"]);
}

pub(crate) async fn ec_004_a_second_server_of_the_same_name_is_refused(store: Arc<dyn Store>) {
    let first = added(&*store, "github").await;
    let second = ServerRecord { description: Some("another".to_owned()), ..server("github") };
    let refusal = store.add_server(&second).await.unwrap_err();
    assert!(matches!(&refusal, StoreError::NameTaken(taken) if *taken == name("github")), "{refusal}");
    assert_eq!(refusal.to_string(), "Server already exists: github");
    assert_eq!(all(&*store).await, [first]);
}

pub(crate) async fn an_id_is_taken_once(store: Arc<dyn Store>) {
    let first = added(&*store, "github").await;
    let second = ServerRecord { id: first.id, ..server("gitlab") };
    let refusal = store.add_server(&second).await.unwrap_err();
    assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal}");
    assert_eq!(all(&*store).await, [first]);
}

pub(crate) async fn workspaces_are_apart(store: Arc<dyn Store>) {
    let ours = added(&*store, "github").await;
    let theirs = ServerRecord { workspace: "theirs".into(), ..server("github") };
    store.add_server(&theirs).await.unwrap();
    store.put_tools(theirs.id, &drafts(&["search"])).await.unwrap();
    assert_eq!(all(&*store).await, [ours]);
    assert_eq!(store.servers(&"nobody's".into()).await.unwrap(), []);
    assert_eq!(names(&all_tools(&*store).await), [""; 0]);
    let others = store.tools(&of_server(theirs.id), Page::ALL).await.unwrap();
    assert_eq!((others.total, others.items), (0, vec![]));
    assert_eq!(store.servers(&"theirs".into()).await.unwrap(), [theirs]);
}

pub(crate) async fn a_change_writes_all_but_id_workspace_origin_and_registration(store: Arc<dyn Store>) {
    let before = added(&*store, "github").await;
    let other = added(&*store, "other").await;
    let change = ServerRecord {
        id: before.id,
        workspace: "theirs".into(),
        name: name("gh"),
        origin: Origin::File,
        description: None,
        sealed_spec: Some(vec![0, 255]),
        is_wanted: false,
        registered_at: Moment::from_millis(7),
        updated_at: Moment::from_millis(8),
    };
    store.change_server(&change).await.unwrap();
    let after = ServerRecord {
        workspace: before.workspace,
        origin: before.origin,
        registered_at: before.registered_at,
        ..change
    };
    assert_eq!(all(&*store).await, [after, other]);
}

pub(crate) async fn a_server_that_is_not_there_cannot_be_changed(store: Arc<dyn Store>) {
    let refusal = store.change_server(&server("ghost")).await.unwrap_err();
    assert!(matches!(refusal, StoreError::NoSuchServer), "{refusal}");
    assert_eq!(all(&*store).await, []);
}

pub(crate) async fn ec_008_a_rename_keeps_id_tools_curations_and_history(store: Arc<dyn Store>) {
    let before = added(&*store, "alpha").await;
    let other = added(&*store, "middle").await;
    store.put_tools(before.id, &drafts(&["one", "two"])).await.unwrap();
    store.put_tools(other.id, &drafts(&["three"])).await.unwrap();
    let curation = Curation { is_enabled: false, description: Some("mine".to_owned()) };
    store.curate(before.id, "one", &curation).await.unwrap();
    store.add_history(&[connected(before.id)]).await.unwrap();
    let ids = |tools: &[crate::ToolRecord]| {
        tools.iter().map(|tool| (tool.name.clone(), tool.id)).collect::<Vec<_>>()
    };
    let mut tools_before = ids(&all_tools(&*store).await);

    let after = ServerRecord { name: name("omega"), ..before };
    store.change_server(&after).await.unwrap();

    assert_eq!(all(&*store).await, [other, after.clone()]);
    let tools = all_tools(&*store).await;
    let shown: Vec<(&str, &str)> =
        tools.iter().map(|tool| (tool.server_name.as_str(), tool.name.as_str())).collect();
    // The order is that of the servers' names, so it follows the rename too.
    assert_eq!(shown, [("middle", "three"), ("omega", "one"), ("omega", "two")]);
    tools_before.rotate_right(1);
    assert_eq!(ids(&tools), tools_before);
    assert_eq!(tools[1].curation, curation);
    assert_eq!(store.curations(after.id).await.unwrap(), [("one".to_owned(), curation)]);
    assert_eq!(store.history(after.id, Page::ALL).await.unwrap().total, 1);
}

pub(crate) async fn ec_008_a_rename_onto_a_taken_name_changes_nothing(store: Arc<dyn Store>) {
    let first = added(&*store, "first").await;
    let second = added(&*store, "second").await;
    let change = ServerRecord { name: name("first"), description: None, is_wanted: false, ..second.clone() };
    let refusal = store.change_server(&change).await.unwrap_err();
    assert!(matches!(&refusal, StoreError::NameTaken(taken) if *taken == name("first")), "{refusal}");
    assert_eq!(all(&*store).await, [first, second]);
}

pub(crate) async fn ec_008_a_name_that_was_left_can_be_taken(store: Arc<dyn Store>) {
    let first = added(&*store, "first").await;
    store.change_server(&ServerRecord { name: name("moved"), ..first }).await.unwrap();
    added(&*store, "first").await;
    assert_eq!(all(&*store).await.len(), 2);
}

pub(crate) async fn br_008_removing_a_server_leaves_nothing_of_it(store: Arc<dyn Store>) {
    let (gone, kept) = (added(&*store, "gone").await, added(&*store, "kept").await);
    for id in [gone.id, kept.id] {
        store.put_tools(id, &drafts(&["one", "two"])).await.unwrap();
        store.curate(id, "one", &Curation { is_enabled: false, description: None }).await.unwrap();
        store.add_history(&[connected(id)]).await.unwrap();
    }
    assert!(store.remove_server(gone.id).await.unwrap());
    assert!(!store.remove_server(gone.id).await.unwrap());

    // The same id again, so that whatever had been left behind would show.
    store.add_server(&gone).await.unwrap();
    assert_eq!(store.tools(&of_server(gone.id), Page::ALL).await.unwrap().total, 0);
    assert_eq!(store.curations(gone.id).await.unwrap(), []);
    assert_eq!(store.history(gone.id, Page::ALL).await.unwrap().total, 0);
    assert_eq!(store.tools(&of_server(kept.id), Page::ALL).await.unwrap().total, 2);
    assert_eq!(store.curations(kept.id).await.unwrap().len(), 1);
    assert_eq!(store.history(kept.id, Page::ALL).await.unwrap().total, 1);
}
