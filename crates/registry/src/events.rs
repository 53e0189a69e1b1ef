//! The log of what happened: a window on the last thousand events, and whoever listens for the next.

use crate::view::Event;
use portolan_model::{Moment, ServerId, ServerName};
use portolan_store::EventRecord;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;

/// As many as the store keeps.
const KEPT: usize = 1000;
/// Events that a slow listener may be behind before it has to start over.
const BEHIND: usize = 1024;
/// Tells a listener that events are missing here: what it knows may be stale.
pub const RESET: &str = "log.reset";

/// The stream of events from some point on.
pub struct Subscription {
    /// What has happened since that point and is still known.
    pub past: Vec<Arc<Event>>,
    /// What happens from now on.
    pub live: broadcast::Receiver<Arc<Event>>,
}

pub(crate) struct EventLog {
    window: Mutex<Window>,
    live: broadcast::Sender<Arc<Event>>,
}

struct Window {
    events: VecDeque<Arc<Event>>,
    last: u64,
}

/// Whom an event is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) id: ServerId,
    pub(crate) name: &'a ServerName,
}

impl EventLog {
    /// Goes on where the stored log ends.
    pub(crate) fn new(stored: &[EventRecord]) -> Self {
        let events: VecDeque<Arc<Event>> = stored.iter().filter_map(restored).map(Arc::new).collect();
        // The last few may have been told and not stored when the process was killed: their ids are not given again.
        let stored_last = stored.last().and_then(|record| u64::try_from(record.id).ok());
        let last = stored_last.map_or(0, |last| last + KEPT as u64);
        Self { window: Mutex::new(Window { events, last }), live: broadcast::channel(BEHIND).0 }
    }

    /// Tells of something; the record is for the store.
    pub(crate) fn tell(
        &self,
        kind: &str,
        subject: Subject<'_>,
        details: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> EventRecord {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        window.last += 1;
        let event = Event {
            id: window.last,
            kind: kind.to_owned(),
            at: Moment::now(),
            server_id: Some(subject.id.to_string()),
            server_name: Some(subject.name.to_string()),
            details: details.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        };
        let record = recorded(&event);
        let event = Arc::new(event);
        if window.events.len() == KEPT {
            window.events.pop_front();
        }
        window.events.push_back(event.clone());
        // Sent while the window is held, so that nobody sees two events in the wrong order. Nobody may be listening.
        self.live.send(event).unwrap_or_default();
        record
    }

    /// What came after the event of this id, and what comes; without an id only what comes. Whoever asks for what is
    /// no longer known is told so first.
    pub(crate) fn since(&self, after: Option<u64>) -> Subscription {
        let window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let live = self.live.subscribe();
        let Some(after) = after else { return Subscription { past: Vec::new(), live } };
        let first = window.events.front().map_or(window.last.saturating_add(1), |event| event.id);
        let mut past = Vec::new();
        if after.saturating_add(1) < first || after > window.last {
            past.push(Arc::new(Event::reset(first.saturating_sub(1))));
        }
        let is_new = |event: &&Arc<Event>| event.id > after || after > window.last;
        past.extend(window.events.iter().filter(is_new).cloned());
        Subscription { past, live }
    }
}

impl Event {
    /// Says that events before this id are missing.
    pub fn reset(id: u64) -> Self {
        let why = "events are missing here: read the lists again".into();
        let details = BTreeMap::from([("detail".to_owned(), why)]);
        Self { id, kind: RESET.to_owned(), at: Moment::now(), server_id: None, server_name: None, details }
    }
}

fn recorded(event: &Event) -> EventRecord {
    let data = serde_json::json!({
        "server_id": event.server_id, "server_name": event.server_name, "details": event.details,
    });
    let id = i64::try_from(event.id).unwrap_or(i64::MAX);
    EventRecord { id, kind: event.kind.clone(), data: data.to_string(), at: event.at }
}

/// An event that this version cannot read any more is left out.
fn restored(record: &EventRecord) -> Option<Event> {
    let mut data: BTreeMap<String, Value> = serde_json::from_str(&record.data).ok()?;
    let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
    let (server_id, server_name) = (text("server_id"), text("server_name"));
    let details = data.remove("details").and_then(|details| serde_json::from_value(details).ok())?;
    let id = u64::try_from(record.id).ok()?;
    Some(Event { id, kind: record.kind.clone(), at: record.at, server_id, server_name, details })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(log: &EventLog, count: usize) -> Vec<EventRecord> {
        let name = ServerName::parse("one").unwrap();
        let subject = Subject { id: ServerId::random(), name: &name };
        (0..count).map(|n| log.tell("server.status", subject, [("n", n.into())])).collect()
    }

    fn ids(subscription: &Subscription) -> Vec<u64> {
        subscription.past.iter().map(|event| event.id).collect()
    }

    #[test]
    fn a_listener_gets_what_it_missed_and_then_what_comes() {
        let log = EventLog::new(&[]);
        told(&log, 3);
        let mut subscription = log.since(Some(1));
        assert_eq!(ids(&subscription), [2, 3]);
        told(&log, 1);
        assert_eq!(subscription.live.try_recv().unwrap().id, 4);
        assert_eq!(ids(&log.since(None)), [0u64; 0]);
        assert_eq!(ids(&log.since(Some(4))), [0u64; 0]);
    }

    #[test]
    fn a_log_goes_on_after_a_restart_with_the_same_events() {
        let log = EventLog::new(&[]);
        let records = told(&log, 3);
        let again = EventLog::new(&records);
        let past = again.since(Some(1)).past;
        assert_eq!(past.len(), 2);
        assert_eq!(past[1].details["n"], 2);
        assert_eq!(past[1].server_name.as_deref(), Some("one"));
        let next = told(&again, 1)[0].id;
        assert!(next > 3, "{next} may have been told before");
        assert_eq!(ids(&again.since(Some(3))), [u64::try_from(next).unwrap()]);
    }

    #[test]
    fn whoever_asks_for_what_is_gone_is_told_so() {
        let log = EventLog::new(&[]);
        told(&log, KEPT + 5);
        let past = log.since(Some(2)).past;
        assert_eq!((past[0].kind.as_str(), past[0].id, past.len()), (RESET, 5, KEPT + 1));
        let from_another_log = log.since(Some(99_999)).past;
        assert_eq!(from_another_log[0].kind, RESET);
    }
}
