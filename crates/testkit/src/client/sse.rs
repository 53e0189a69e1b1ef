//! A client of HTTP+SSE, the transport of 2024-11-05.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Uri;
use serde_json::Value;

use super::Client;
use super::exchange::{EventStream, Exchange};
use super::http::HttpClient;
use super::profile::{Profile, is_reply, notification_text, request_text};
use crate::Record;

/// A connected client: one stream for everything that comes, a POST for everything that goes.
pub struct SseClient {
    stream: EventStream,
    poster: HttpClient,
    profile: Profile,
    counter: AtomicU64,
    answering: tokio::task::AbortHandle,
}

impl SseClient {
    /// Opens the stream, waits for its endpoint, and makes the handshake.
    pub async fn connect(url: &str) -> Self {
        Self::connect_as(url, Profile::default()).await
    }

    pub async fn connect_as(url: &str, profile: Profile) -> Self {
        let client = Self::open(url, profile).await;
        let reply = client.ask("initialize", client.profile.initialize_params()).await;
        assert!(reply.get("result").is_some(), "the handshake failed: {reply}");
        client.notify("notifications/initialized", Value::Null).await;
        client
    }

    /// Opens the stream and says nothing yet.
    pub async fn open(url: &str, profile: Profile) -> Self {
        let stream = HttpClient::new(url).open_get_stream().await;
        assert_eq!(stream.status, 200, "no stream at {url}");
        let endpoint = stream.wait_for_event("endpoint").await.data;
        let poster = HttpClient::new(&absolute(url, &endpoint));
        let answering = tokio::spawn(answer(Arc::clone(&stream.messages), poster.clone(), profile.clone()));
        let answering = answering.abort_handle();
        Self { stream, poster, profile, counter: AtomicU64::new(0), answering }
    }

    /// Everything that came on the stream, in order.
    pub fn messages(&self) -> &Record<Value> {
        &self.stream.messages
    }

    pub async fn request(&self, id_raw_json: &str, method: &str, params: Value) -> Value {
        let start = self.stream.messages.len();
        let exchange = self.post(request_text(id_raw_json, method, &params)).await;
        assert!(exchange.status < 300, "{method} was not accepted: {exchange:?}");
        let fits = |message: &Value| is_reply(message, id_raw_json);
        self.stream.messages.wait_after(start, &format!("the reply to {method}"), fits).await.1
    }

    pub async fn notify(&self, method: &str, params: Value) -> Exchange {
        self.post(notification_text(method, &params)).await
    }

    /// A POST of any text to the endpoint.
    pub async fn post(&self, text: String) -> Exchange {
        self.poster.post(text).await
    }
}

impl Drop for SseClient {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

impl Client for SseClient {
    async fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.counter.fetch_add(1, Ordering::Relaxed).to_string();
        self.request(&id, method, params).await
    }
}

async fn answer(messages: Arc<Record<Value>>, poster: HttpClient, profile: Profile) {
    let mut start = 0;
    while let Some((at, message)) = messages.next_after(start, |_| true).await {
        start = at + 1;
        if let Some(reply) = profile.reply_to(&message) {
            // Apart from reading: the next question need not wait for this answer to be taken.
            let poster = poster.clone();
            tokio::spawn(async move { poster.post(reply.to_string()).await });
        }
    }
}

fn absolute(url: &str, endpoint: &str) -> String {
    if endpoint.starts_with("http://") {
        return endpoint.to_owned();
    }
    let base: Uri = url.parse().unwrap();
    format!("http://{}{endpoint}", base.authority().unwrap())
}
