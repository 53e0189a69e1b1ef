//! One HTTP request and what came back on it, as it comes and when it is over.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::task::AbortHandle;

use super::events::{Event, EventParser};
use super::profile::is_reply;
use crate::Record;

/// A finished request.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub status: u16,
    pub headers: HeaderMap,
    /// Every JSON message of the body, in order: one for a JSON answer, any number for a stream.
    pub messages: Vec<Value>,
    /// The events of a stream, those without a message included.
    pub events: Vec<Event>,
    /// The body as it came.
    pub body: String,
    /// The first message that answers the request, or null.
    pub reply: Value,
    /// How the body ended if it broke off.
    pub broken: Option<String>,
}

impl Exchange {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The result of the reply; panics where there is none.
    pub fn result(&self) -> &Value {
        self.reply.get("result").unwrap_or_else(|| panic!("no result in {self:?}"))
    }

    /// The notifications of that method, in order.
    pub fn notifications(&self, method: &str) -> Vec<&Value> {
        self.messages.iter().filter(|message| message["method"] == method).collect()
    }
}

/// A request whose answer is still coming. Dropped, it closes its connection.
pub struct Pending {
    pub status: u16,
    pub headers: HeaderMap,
    /// The messages so far.
    pub messages: Arc<Record<Value>>,
    events: Arc<Record<Event>>,
    body: Arc<Record<Bytes>>,
    id_raw_json: Option<String>,
    reading: AbortHandle,
}

/// The stream of a GET, which belongs to no request.
pub type EventStream = Pending;

const WHOLE: &str = "the body is complete";

impl Pending {
    /// Reads the answer in the background; `on_message` sees each message after it is recorded.
    pub(crate) fn read(
        response: Response<Incoming>,
        id_raw_json: Option<String>,
        on_message: impl Fn(&Value) + Send + Sync + 'static,
    ) -> Self {
        let (head, mut incoming) = response.into_parts();
        let is_stream = content_type(&head.headers).starts_with("text/event-stream");
        let messages: Arc<Record<Value>> = Arc::default();
        let events: Arc<Record<Event>> = Arc::default();
        let body: Arc<Record<Bytes>> = Arc::default();
        let sinks = (Arc::clone(&messages), Arc::clone(&events), Arc::clone(&body));
        let task = tokio::spawn(async move {
            let (messages, events, body) = sinks;
            let take = |text: &str| {
                if let Ok(message) = serde_json::from_str::<Value>(text) {
                    messages.push(message.clone());
                    on_message(&message);
                }
            };
            let mut parser = EventParser::default();
            let end = loop {
                match incoming.frame().await {
                    None => break WHOLE.to_owned(),
                    Some(Err(error)) => break format!("the body broke off: {error}"),
                    Some(Ok(frame)) => {
                        let Ok(bytes) = frame.into_data() else { continue };
                        body.push(bytes.clone());
                        if is_stream {
                            for event in parser.push(&bytes) {
                                events.push(event.clone());
                                take(&event.data);
                            }
                        }
                    }
                }
            };
            if !is_stream {
                take(&joined(&body));
            }
            body.close(end.clone());
            events.close(end.clone());
            messages.close(end);
        });
        let reading = task.abort_handle();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            messages,
            events,
            body,
            id_raw_json,
            reading,
        }
    }

    /// Waits for a message of this method on this stream.
    pub async fn wait_for_method(&self, method: &str) -> Value {
        self.messages.wait_for(method, |message| message["method"] == method).await
    }

    /// Waits for an event of this name on this stream.
    pub async fn wait_for_event(&self, name: &str) -> Event {
        self.events.wait_for(name, |event| event.event.as_deref() == Some(name)).await
    }

    /// The events so far, those without a message included.
    pub fn events(&self) -> Vec<Event> {
        self.events.all()
    }

    /// Waits for the reply, not for the end of the stream.
    pub async fn wait_for_reply(&self) -> Value {
        let id = self.id_raw_json.clone().expect("a GET has no reply");
        self.messages.wait_for("the reply", |message| is_reply(message, &id)).await
    }

    /// Waits until the body has ended.
    pub async fn finish(self) -> Exchange {
        let end = self.messages.wait_closed("an HTTP answer").await;
        let messages = self.messages.all();
        let reply = self.id_raw_json.as_ref().and_then(|id| {
            // An error about the request as a whole has a null id.
            let fits = |message: &&Value| {
                is_reply(message, id) || (message["id"].is_null() && message.get("error").is_some())
            };
            messages.iter().find(fits).cloned()
        });
        Exchange {
            status: self.status,
            headers: self.headers.clone(),
            reply: reply.unwrap_or_default(),
            messages,
            events: self.events.all(),
            body: joined(&self.body),
            broken: (end != WHOLE).then_some(end),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

fn joined(body: &Record<Bytes>) -> String {
    String::from_utf8_lossy(&body.all().concat()).into_owned()
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
}
