//! The journal: histories and events, and how much of them is kept.

use super::added;
use crate::{EventRecord, HistoryRecord, Page, Store};
use portolan_model::{Moment, ServerId};
use std::sync::Arc;

fn entry(server: ServerId, event: &str, at: i64) -> HistoryRecord {
    let details = (at % 2 == 0).then(|| format!("reason 🧭 {at}"));
    HistoryRecord { id: 0, server, event: event.to_owned(), details, at: Moment::from_millis(at) }
}

fn event(id: i64) -> EventRecord {
    let data = format!("{{\"number\": {id}}}");
    EventRecord { id, kind: "server.status".to_owned(), data, at: Moment::from_millis(id * 10) }
}

fn moments(entries: &[HistoryRecord]) -> Vec<i64> {
    entries.iter().map(|entry| entry.at.as_millis()).collect()
}

pub(crate) async fn history_comes_latest_first_and_in_pages(store: Arc<dyn Store>) {
    let (server, other) = (added(&*store, "github").await, added(&*store, "other").await);
    store.add_history(&[]).await.unwrap();
    assert_eq!(store.history(server.id, Page::ALL).await.unwrap().total, 0);
    let connecting = entry(server.id, "CONNECTING", 1);
    let connected = entry(server.id, "CONNECTED", 2);
    // What was added last is the latest, whatever the clock says.
    let lost = entry(server.id, "ERROR", 0);
    store.add_history(&[connecting.clone(), entry(other.id, "ERROR", 9), connected.clone()]).await.unwrap();
    store.add_history(std::slice::from_ref(&lost)).await.unwrap();

    let found = store.history(server.id, Page::ALL).await.unwrap();
    assert_eq!(found.total, 3);
    assert!(found.items.is_sorted_by(|a, b| a.id > b.id));
    for (found, expected) in found.items.iter().zip([lost, connected, connecting]) {
        assert_eq!(*found, HistoryRecord { id: found.id, ..expected });
    }
    for (limit, offset, expected) in [(2, 0, &[0, 2][..]), (2, 1, &[2, 1]), (2, 3, &[]), (0, 0, &[])] {
        let page = store.history(server.id, Page { limit, offset }).await.unwrap();
        assert_eq!((moments(&page.items).as_slice(), page.total), (expected, 3), "{limit} from {offset}");
    }
}

pub(crate) async fn history_of_servers_that_are_gone_is_left_out(store: Arc<dyn Store>) {
    let (server, gone) = (added(&*store, "github").await, added(&*store, "gone").await);
    store.remove_server(gone.id).await.unwrap();
    let entries = [entry(gone.id, "DISCONNECTED", 1), entry(server.id, "CONNECTED", 2)];
    store.add_history(&entries).await.unwrap();
    assert_eq!(store.history(gone.id, Page::ALL).await.unwrap().items, []);
    assert_eq!(store.history(server.id, Page::ALL).await.unwrap().total, 1);
}

pub(crate) async fn each_server_keeps_its_latest_thousand_entries(store: Arc<dyn Store>) {
    let (busy, calm) = (added(&*store, "busy").await, added(&*store, "calm").await);
    store.add_history(&[entry(calm.id, "CONNECTED", 0)]).await.unwrap();
    let entries = |from: i64, to: i64| -> Vec<HistoryRecord> {
        (from..to).map(|at| entry(busy.id, "CONNECTED", at)).collect()
    };
    store.add_history(&entries(0, 1000)).await.unwrap();
    assert_eq!(store.history(busy.id, Page::ALL).await.unwrap().total, 1000);
    store.add_history(&entries(1000, 1003)).await.unwrap();
    let kept = store.history(busy.id, Page::ALL).await.unwrap();
    assert_eq!((kept.total, kept.items.len()), (1000, 1000));
    assert_eq!(moments(&kept.items), (3..1003).rev().collect::<Vec<_>>());
    store.add_history(&entries(2000, 3100)).await.unwrap();
    let kept = store.history(busy.id, Page::ALL).await.unwrap();
    assert_eq!(moments(&kept.items), (2100..3100).rev().collect::<Vec<_>>());
    assert_eq!(store.history(calm.id, Page::ALL).await.unwrap().total, 1);
}

pub(crate) async fn events_come_oldest_first_under_their_own_ids(store: Arc<dyn Store>) {
    assert_eq!(store.events().await.unwrap(), []);
    store.add_events(&[]).await.unwrap();
    store.add_events(&[event(40), event(41)]).await.unwrap();
    store.add_events(&[event(7)]).await.unwrap();
    assert_eq!(store.events().await.unwrap(), [event(7), event(40), event(41)]);
}

pub(crate) async fn the_latest_thousand_events_are_kept(store: Arc<dyn Store>) {
    store.add_events(&(1..=1000).map(event).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(store.events().await.unwrap().len(), 1000);
    store.add_events(&[event(1001), event(2000)]).await.unwrap();
    let kept: Vec<i64> = store.events().await.unwrap().iter().map(|event| event.id).collect();
    assert_eq!(kept, (3..=1001).chain([2000]).collect::<Vec<_>>());
    store.add_events(&(3000..4100).map(event).collect::<Vec<_>>()).await.unwrap();
    let kept: Vec<i64> = store.events().await.unwrap().iter().map(|event| event.id).collect();
    assert_eq!(kept, (3100..4100).collect::<Vec<_>>());
}

pub(crate) async fn events_may_be_sent_again(store: Arc<dyn Store>) {
    store.add_events(&[event(1), event(2)]).await.unwrap();
    store.add_events(&[EventRecord { kind: "other".to_owned(), ..event(2) }, event(3)]).await.unwrap();
    assert_eq!(store.events().await.unwrap(), [event(1), event(2), event(3)]);
}
