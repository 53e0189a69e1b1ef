//! Curations: what people set for a tool, and how long it holds.

use super::{added, all_tools, defined, draft, drafts};
use crate::{Curation, Store};
use portolan_model::ServerId;
use std::sync::Arc;

fn curation(is_enabled: bool, description: Option<&str>) -> Curation {
    Curation { is_enabled, description: description.map(str::to_owned) }
}

pub(crate) async fn a_tool_is_enabled_until_somebody_says_otherwise(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one"])).await.unwrap();
    assert_eq!(all_tools(&*store).await[0].curation, curation(true, None));
    assert_eq!(store.curations(server.id).await.unwrap(), []);
}

pub(crate) async fn the_latest_curation_holds(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["two", "one"])).await.unwrap();
    for latest in [
        curation(false, Some("")),
        curation(false, None),
        curation(true, Some("Suche 🔎")),
        curation(true, None),
    ] {
        assert!(store.curate(server.id, "one", &latest).await.unwrap());
        let tools = all_tools(&*store).await;
        assert_eq!((&tools[0].curation, &tools[1].curation), (&Curation::default(), &latest));
        assert_eq!(tools[1].description.as_deref(), Some("does one"));
        assert_eq!(store.curations(server.id).await.unwrap(), [("one".to_owned(), latest)]);
    }
    assert!(store.curate(server.id, "two", &curation(false, None)).await.unwrap());
    let names: Vec<String> =
        store.curations(server.id).await.unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one", "two"]);
}

pub(crate) async fn only_a_tool_that_is_there_can_be_curated(store: Arc<dyn Store>) {
    let (server, other) = (added(&*store, "github").await, added(&*store, "other").await);
    store.put_tools(other.id, &drafts(&["one"])).await.unwrap();
    let off = curation(false, None);
    assert!(!store.curate(server.id, "one", &off).await.unwrap());
    assert!(!store.curate(ServerId::random(), "one", &off).await.unwrap());
    assert!(!store.curate(other.id, "ONE", &off).await.unwrap());
    for id in [server.id, other.id] {
        assert_eq!(store.curations(id).await.unwrap(), []);
    }
}

pub(crate) async fn a_curation_outlives_the_absence_of_its_tool(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
    let off = curation(false, Some("mine"));
    store.curate(server.id, "one", &off).await.unwrap();
    store.put_tools(server.id, &drafts(&["two"])).await.unwrap();
    assert_eq!(store.curations(server.id).await.unwrap(), [("one".to_owned(), off.clone())]);
    // While it is away nothing is set for it, and what was set stays.
    assert!(!store.curate(server.id, "one", &curation(true, None)).await.unwrap());
    store.put_tools(server.id, &drafts(&["one"])).await.unwrap();
    assert_eq!(all_tools(&*store).await[0].curation, off);
}

pub(crate) async fn a_curation_stays_when_the_tool_changes_or_moves(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
    let off = curation(false, Some("mine"));
    store.curate(server.id, "one", &off).await.unwrap();
    store.put_tools(server.id, &[draft("two"), defined("one", "{\"title\": \"Other\"}")]).await.unwrap();
    assert_eq!(all_tools(&*store).await[1].curation, off);
}
