//! What happens, as it happens: a stream of events that goes on where its reader left off.

use crate::Shared;
use crate::document::Anything;
use crate::problem::{FieldError, Refusal};
use crate::query::{LAST_EVENT_ID_HEADER, Query, Since};
use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event as Shown, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use http::header::HeaderMap;
use portolan_registry::{Event, Subscription};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// Often enough for the shortest idle limits that proxies have.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// After how long a reader whose stream broke comes back.
const RETRY: Duration = Duration::from_secs(2);

/// Follow what happens
///
/// A stream of server-sent events that goes on until it is closed. Each has an `id`, its type as `event`, and a JSON object
/// as `data`. A reader that was away says which event it saw last and is told what has happened since. An event
/// `log.reset` says that some are lost: read the lists again, and go on.
#[utoipa::path(
    get,
    path = "/aggregator/events",
    tag = "overview",
    params(Since),
    responses(
        (status = 200, description = "The events.", body = String, content_type = "text/event-stream"),
        Anything,
    )
)]
pub(crate) async fn follow_events(
    State(shared): State<Arc<Shared>>,
    Query(Since(since)): Query<Since>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Refusal> {
    let after = last_seen(&headers)?.or(since);
    let subscription = shared.admin.registry.events(after);
    let events = telling(subscription, shared.admin.options.stop.clone()).map(Ok::<_, Infallible>);
    // Nothing on the way may hold the events back.
    let unbuffered = [("x-accel-buffering", "no")];
    Ok((unbuffered, Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))))
}

/// The event that a reader says it saw last when it comes back.
fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let number = &LAST_EVENT_ID_HEADER;
    let Some(value) = headers.get(number.name) else { return Ok(None) };
    let seen = value.to_str().ok().and_then(|text| number.parse(text));
    let wrong = || Refusal::invalid(vec![FieldError::new(&["header", number.name], number.allowed())]);
    seen.map(Some).ok_or_else(wrong)
}

fn telling(subscription: Subscription, stop: CancellationToken) -> impl Stream<Item = Shown> {
    let Subscription { past, live } = subscription;
    let telling = Telling { past: past.into_iter(), live, last: 0, stop };
    let events = stream::unfold(telling, async |mut telling| {
        let event = telling.next().await?;
        Some((event, telling))
    });
    stream::once(std::future::ready(Shown::default().retry(RETRY))).chain(events)
}

/// One reader's place in what happens.
struct Telling {
    past: std::vec::IntoIter<Arc<Event>>,
    live: Receiver<Arc<Event>>,
    /// The last event that was told: what is both past and live is told once.
    last: u64,
    stop: CancellationToken,
}

impl Telling {
    async fn next(&mut self) -> Option<Shown> {
        if let Some(event) = self.past.next() {
            return Some(self.tell(&event));
        }
        loop {
            let received = tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                received = self.live.recv() => received,
            };
            match received {
                Ok(event) if event.id <= self.last => {}
                Ok(event) => return Some(self.tell(&event)),
                // Who comes back after this one gets what was told after it.
                Err(RecvError::Lagged(_)) => return Some(self.tell(&Event::reset(self.last))),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn tell(&mut self, event: &Event) -> Shown {
        self.last = self.last.max(event.id);
        // Texts and numbers can always be written.
        let data = serde_json::to_string(event).unwrap_or_default();
        Shown::default().id(event.id.to_string()).event(&event.kind).data(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use portolan_model::Moment;
    use std::collections::BTreeMap;
    use tokio::sync::broadcast;

    fn event(id: u64) -> Arc<Event> {
        Arc::new(Event {
            id,
            kind: "server.status".into(),
            at: Moment::from_millis(0),
            server_id: Some("00000000-0000-4000-8000-000000000000".into()),
            server_name: Some("git".into()),
            details: BTreeMap::from([("status".to_owned(), "CONNECTED".into())]),
        })
    }

    /// Everything that a reader gets until the stream ends.
    async fn told(subscription: Subscription, stop: CancellationToken) -> String {
        let events = telling(subscription, stop).map(Ok::<_, Infallible>);
        let body = Sse::new(events).into_response().into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    fn ids(told: &str) -> Vec<&str> {
        told.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
    }

    #[tokio::test]
    async fn the_past_comes_first_and_what_is_past_and_live_comes_once() {
        let (sender, live) = broadcast::channel(16);
        for id in [2, 3, 4, 5] {
            sender.send(event(id)).unwrap();
        }
        drop(sender);
        let told =
            told(Subscription { past: vec![event(1), event(2), event(3)], live }, CancellationToken::new());
        let told = told.await;
        assert!(told.starts_with("retry: 2000\n\n"), "{told}");
        assert_eq!(ids(&told), ["1", "2", "3", "4", "5"]);
        let first = told.split("\n\n").nth(1).unwrap();
        assert!(first.contains("event: server.status"), "{first}");
        let data = first.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!((&data["type"], &data["status"]), (&"server.status".into(), &"CONNECTED".into()));
    }

    #[tokio::test]
    async fn a_reader_that_lags_is_told_to_read_the_lists_again_and_goes_on() {
        let (sender, live) = broadcast::channel(2);
        for id in 1..=5 {
            sender.send(event(id)).unwrap();
        }
        drop(sender);
        let told = told(Subscription { past: Vec::new(), live }, CancellationToken::new()).await;
        assert_eq!(ids(&told), ["0", "4", "5"]);
        let reset = told.split("\n\n").nth(1).unwrap();
        assert!(reset.contains("event: log.reset") && reset.contains("read the lists again"), "{reset}");
    }

    #[tokio::test]
    async fn a_stream_ends_when_portolan_does() {
        let (_sender, live) = broadcast::channel::<Arc<Event>>(2);
        let stop = CancellationToken::new();
        stop.cancel();
        assert_eq!(told(Subscription { past: Vec::new(), live }, stop).await, "retry: 2000\n\n");
    }

    #[track_caller]
    fn check(value: &str, expected: Result<Option<u64>, ()>) {
        let headers = HeaderMap::from_iter([("last-event-id".parse().unwrap(), value.parse().unwrap())]);
        assert_eq!(last_seen(&headers).map_err(drop), expected, "{value}");
    }

    #[test]
    fn a_place_to_go_on_from_is_a_number_or_it_is_refused() {
        assert_eq!(last_seen(&HeaderMap::new()).unwrap(), None);
        check("0", Ok(Some(0)));
        check("9007199254740991", Ok(Some(9_007_199_254_740_991)));
        for value in ["", "x", "-1", "1.5", "9007199254740992", "1 "] {
            check(value, Err(()));
        }
    }
}
