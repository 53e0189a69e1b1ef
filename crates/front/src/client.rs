//! One client as the front knows it: what it negotiated, what it has in flight, where to reach it.

use crate::feed::{Feed, Naming};
use crate::questions::{Form, Questions};
use crate::request::Request;
use bytes::Bytes;
use portolan_catalog::{Snapshot, View};
use portolan_model::{Kind, Kinds, NameStyle, ServerName};
use portolan_router::{Aside, Caller, Party, Watched};
use portolan_telemetry::counters;
use portolan_wire::level::Level;
use portolan_wire::{Abilities, Revision};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// How many streams one client may hold open for messages of no request.
const MOST_STREAMS: usize = 4;
/// Messages waiting for a slow reader, for each stream; what is over is dropped and counted.
pub(crate) const STREAM_QUEUE: usize = 64;

/// How many answers of one client can be taken up again at most; the oldest is forgotten first.
const MOST_FEEDS: usize = 32;

/// Requests of one client being worked on, of any kind; a client that sends more waits until one is done.
const MOST_AT_WORK: u32 = 1024;

/// The level of a client that has not asked for one: what people should see, without what only developers do.
pub(crate) const UNASKED: Level = Level::Info;

/// What a handshake settles, or a request says for itself.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) revision: Revision,
    pub(crate) style: NameStyle,
    /// The instance id of a client that is a Portolan too.
    pub(crate) peer: Option<String>,
    /// What it can be asked.
    pub(crate) abilities: Abilities,
    /// The log messages that this one request asks for.
    pub(crate) level: Option<Level>,
}

/// Numbers for clients: what belongs to one is told from what belongs to others by them.
static NEXT: AtomicU64 = AtomicU64::new(1);

pub(crate) fn next_number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) struct Client {
    pub(crate) view: View,
    pub(crate) number: u64,
    terms: OnceLock<Terms>,
    pub(crate) questions: Arc<Questions>,
    /// The resources that it wants to hear of, each as it asked for it.
    pub(crate) watched: Mutex<HashMap<Watched, String>>,
    /// Tool calls in flight.
    pub(crate) slots: Semaphore,
    /// Requests being worked on, for transports that read on meanwhile.
    pub(crate) at_work: Arc<Semaphore>,
    level: AtomicU8,
    in_flight: Mutex<Vec<(Bytes, Arc<Aside>)>>,
    streams: Mutex<Vec<mpsc::Sender<Bytes>>>,
    /// Answers that can be taken up again where they were cut off, the latest last.
    feeds: Mutex<VecDeque<Arc<Feed>>>,
    next_feed: AtomicU64,
    gone: CancellationToken,
    /// What its lists looked like when it was last told of a change.
    told: [AtomicU64; Kind::ALL.len()],
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Critical sections here push and remove; a panic in one leaves nothing half-done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    pub(crate) fn new(view: View, in_flight: usize) -> Self {
        Self {
            view,
            number: next_number(),
            terms: OnceLock::new(),
            questions: Arc::default(),
            watched: Mutex::default(),
            slots: Semaphore::new(in_flight),
            at_work: Arc::new(Semaphore::new(MOST_AT_WORK as usize)),
            level: AtomicU8::new(UNASKED as u8),
            in_flight: Mutex::default(),
            streams: Mutex::default(),
            feeds: Mutex::default(),
            next_feed: AtomicU64::new(0),
            gone: CancellationToken::new(),
            told: Default::default(),
        }
    }

    /// Settles the terms; `false` if they have been before.
    pub(crate) fn agree(&self, terms: Terms) -> bool {
        let names_server = self.view.alone().is_none();
        let form = Form { revision: terms.revision, abilities: terms.abilities.clone(), names_server };
        let is_first = self.terms.set(terms).is_ok();
        if is_first {
            self.questions.agree(form);
        }
        is_first
    }

    /// What was agreed on; a client that asks before its handshake is taken for one of the newest revision.
    pub(crate) fn terms(&self) -> &Terms {
        static BEFORE: OnceLock<Terms> = OnceLock::new();
        self.terms.get().unwrap_or_else(|| {
            BEFORE.get_or_init(|| Terms {
                revision: Revision::NEWEST_WITH_HANDSHAKE,
                style: NameStyle::Dot,
                peer: None,
                abilities: Abilities::default(),
                level: None,
            })
        })
    }

    /// Who asks, as servers may know it.
    pub(crate) fn caller(&self, request: &Request) -> Caller {
        let terms = request.terms(self);
        let can_be_asked = terms.revision.has_handshake() && !terms.abilities.is_none();
        let desk = can_be_asked.then(|| self.questions.clone() as _);
        let client = request.number.unwrap_or(self.number);
        let party = Party { client, abilities: terms.abilities.clone(), desk };
        let level = if terms.revision.has_handshake() { Some(self.level()) } else { terms.level };
        Caller { revision: terms.revision, party, level }
    }

    fn level(&self) -> Level {
        Level::from_number(self.level.load(Ordering::Relaxed))
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn wants(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    pub(crate) fn sees(&self, server: &ServerName) -> bool {
        self.view.has_server(server)
    }

    /// Notes a request that its client may cancel; the entry goes when the guard is dropped.
    pub(crate) fn begin(&self, id: Bytes, aside: &Arc<Aside>) -> InFlight<'_> {
        locked(&self.in_flight).push((id, aside.clone()));
        InFlight { client: self, aside: aside.clone() }
    }

    /// Cancels this client's own requests of that id, and nobody else's.
    pub(crate) fn cancel(&self, id: &str, reason: Option<&str>) {
        for (other, aside) in locked(&self.in_flight).iter() {
            if other == id.as_bytes() {
                aside.cancel(reason);
            }
        }
    }

    /// Counts a tick for every request in flight, so that long ones show a sign of life. Answers that were read long ago are
    /// forgotten.
    pub(crate) fn tick(&self) {
        locked(&self.feeds).retain(|feed| !feed.is_over());
        for (_, aside) in locked(&self.in_flight).iter() {
            aside.grow_older();
        }
    }

    /// Opens a stream for what belongs to no request; `None` when the client has enough of them. The oldest open one
    /// is used: a second stream never takes over the first.
    pub(crate) fn open_stream(&self) -> Option<mpsc::Receiver<Bytes>> {
        let mut streams = locked(&self.streams);
        streams.retain(|stream| !stream.is_closed());
        if streams.len() >= MOST_STREAMS {
            return None;
        }
        let (sender, receiver) = mpsc::channel(STREAM_QUEUE);
        self.questions.reach_by(&sender);
        streams.push(sender);
        Some(receiver)
    }

    /// Ready when the client has been hung up on.
    pub(crate) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// A feed for an answer that can be taken up again where it was cut off.
    pub(crate) fn open_feed(&self) -> Arc<Feed> {
        let name = format!("{:x}", self.next_feed.fetch_add(1, Ordering::Relaxed));
        let feed = Feed::new(Naming::Resumable(name.into()));
        let mut feeds = locked(&self.feeds);
        while feeds.len() >= MOST_FEEDS {
            // One that is over is of less use than one that is not.
            let over = feeds.iter().position(|feed| feed.is_done()).unwrap_or_default();
            feeds.remove(over);
        }
        feeds.push_back(feed.clone());
        feed
    }

    /// The feed that an event was of, and the event's number in it.
    pub(crate) fn feed_of(&self, event: &str) -> Option<(Arc<Feed>, u64)> {
        let (name, number) = event.rsplit_once('-')?;
        let feeds = locked(&self.feeds);
        let feed = feeds.iter().find(|feed| feed.name() == Some(name))?;
        Some((feed.clone(), number.parse().ok()?))
    }

    pub(crate) fn has_stream(&self) -> bool {
        locked(&self.streams).iter().any(|stream| !stream.is_closed())
    }

    /// Ends the client's streams.
    pub(crate) fn hang_up(&self) {
        self.gone.cancel();
        self.questions.give_up();
        locked(&self.streams).clear();
    }

    /// Sends a message outside of any request, if the client listens and keeps up.
    pub(crate) fn tell(&self, message: &Bytes) {
        let streams = locked(&self.streams);
        if let Some(stream) = streams.iter().find(|stream| !stream.is_closed())
            && stream.try_send(message.clone()).is_err()
        {
            counters::NOTES_DROPPED.one();
        }
    }

    /// Sends an answer over the client's stream, waiting for a slow reader; one that has gone needs none.
    pub(crate) async fn deliver(&self, message: Bytes) {
        let stream = locked(&self.streams).iter().find(|stream| !stream.is_closed()).cloned();
        if let Some(stream) = stream {
            stream.send(message).await.unwrap_or_default();
        }
    }

    /// Waits until nothing of this client is being worked on.
    pub(crate) async fn all_done(&self) {
        // All turns can be had at once only when nobody holds one.
        self.at_work.acquire_many(MOST_AT_WORK).await.map(drop).unwrap_or_default();
    }

    /// Which of its lists have changed since it was last told so; it counts as told from now on.
    pub(crate) fn news(&self, snapshot: &Snapshot) -> Kinds {
        Kind::ALL.into_iter().fold(Kinds::NONE, |news, kind| {
            let now = snapshot.stamp(&self.view, kind, &self.terms().abilities);
            let is_new = self.told[kind.index()].swap(now, Ordering::Relaxed) != now;
            if is_new { news.with(kind) } else { news }
        })
    }

    /// How it asked for a resource that it wants to hear of.
    pub(crate) fn watches(&self, resource: &Watched) -> Option<String> {
        locked(&self.watched).get(resource).cloned()
    }
}

pub(crate) struct InFlight<'c> {
    client: &'c Client,
    aside: Arc<Aside>,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut in_flight = locked(&self.client.in_flight);
        // Ids may repeat; each guard takes away its own entry.
        if let Some(at) = in_flight.iter().position(|(_, aside)| Arc::ptr_eq(aside, &self.aside)) {
            in_flight.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::new(View::All, 8)
    }

    #[test]
    fn f49_two_requests_of_one_id_are_two_and_cancelling_reaches_both() {
        let client = client();
        let asides: [Arc<Aside>; 3] = Default::default();
        let one = client.begin(Bytes::from_static(b"1"), &asides[0]);
        let two = client.begin(Bytes::from_static(b"1"), &asides[1]);
        let other = client.begin(Bytes::from_static(b"2"), &asides[2]);
        client.cancel("1", None);
        assert_eq!(asides.each_ref().map(|aside| aside.is_cancelled()), [true, true, false]);
        drop(one);
        assert_eq!(locked(&client.in_flight).len(), 2);
        drop((two, other));
        assert!(locked(&client.in_flight).is_empty());
    }

    #[tokio::test]
    async fn t07_a_second_stream_never_takes_over_the_first() {
        let client = client();
        let (mut first, mut second) = (client.open_stream().unwrap(), client.open_stream().unwrap());
        client.tell(&Bytes::from_static(b"a"));
        assert_eq!(first.recv().await.as_deref(), Some(&b"a"[..]));
        drop(first);
        client.tell(&Bytes::from_static(b"b"));
        assert_eq!(second.recv().await.as_deref(), Some(&b"b"[..]));
    }
}
