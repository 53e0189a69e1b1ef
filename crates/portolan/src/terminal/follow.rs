//! The stream of events, which goes on where it broke off.

use super::rest::Rest;
use crate::Failure;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use portolan_wire::sse;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// An event is a few hundred bytes.
const LARGEST_EVENT: usize = 1 << 20;
/// A stream that has been silent for this long may have been cut without a word.
const SILENCE: Duration = Duration::from_secs(90);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Something that happened, as it came and as far as people read it.
#[derive(Debug)]
pub(crate) struct Happening {
    pub(crate) text: String,
    pub(crate) told: Told,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Told {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) at: String,
    /// What is about no server has none.
    pub(crate) server_name: Option<String>,
    #[serde(flatten)]
    pub(crate) details: BTreeMap<String, Value>,
}

pub(crate) struct Follow<'a> {
    rest: &'a Rest,
    stream: Option<Incoming>,
    events: sse::Events,
    /// The last event that came; after a break the stream goes on behind it.
    last: Option<String>,
    /// When a stream that broke is opened again, and how long after that if it cannot be.
    retry_at: Instant,
    pause: Duration,
}

impl<'a> Follow<'a> {
    /// Follows from now on. That there is nothing to follow is said at once.
    pub(crate) async fn start(rest: &'a Rest) -> Result<Self, Failure> {
        let stream = Some(rest.events(None).await?);
        let events = sse::Events::new(LARGEST_EVENT);
        Ok(Self { rest, stream, events, last: None, retry_at: Instant::now(), pause: FIRST_PAUSE })
    }

    /// The next event, however often the stream breaks before it. Whoever stops waiting for it misses nothing.
    pub(crate) async fn next(&mut self) -> Result<Happening, Failure> {
        loop {
            match self.events.next_event() {
                Ok(Some(event)) => {
                    if let Some(happening) = self.take(&event) {
                        return Ok(happening);
                    }
                }
                Ok(None) => self.read().await?,
                Err(_) => self.broke(),
            }
        }
    }

    fn take(&mut self, event: &sse::Event) -> Option<Happening> {
        if event.id.is_some() {
            self.last.clone_from(&event.id);
        }
        let text = String::from_utf8(event.data.to_vec()).ok()?;
        // An event of a kind that is not known yet is still one.
        let told = serde_json::from_str(&text).ok()?;
        Some(Happening { text, told })
    }

    /// Reads on, or opens the stream again.
    async fn read(&mut self) -> Result<(), Failure> {
        let Some(stream) = &mut self.stream else { return self.open().await };
        match tokio::time::timeout(SILENCE, stream.frame()).await {
            Ok(Some(Ok(frame))) => {
                self.pause = FIRST_PAUSE;
                if let Some(data) = frame.data_ref() {
                    self.events.feed(data);
                }
            }
            Ok(Some(Err(_)) | None) | Err(_) => self.broke(),
        }
        Ok(())
    }

    fn broke(&mut self) {
        self.stream = None;
        self.pause_a_while();
        // Half an event is none: it comes again.
        self.events = sse::Events::new(LARGEST_EVENT);
    }

    async fn open(&mut self) -> Result<(), Failure> {
        tokio::time::sleep_until(self.retry_at).await;
        match self.rest.events(self.last.as_deref()).await {
            Ok(stream) => self.stream = Some(stream),
            Err(error) if error.is_passing() => self.pause_a_while(),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn pause_a_while(&mut self) {
        self.retry_at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}
