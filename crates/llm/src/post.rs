//! One request to a provider: its deadline, its tries, and what a refusal means.

use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderMap, RETRY_AFTER};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Full;
use portolan_model::Secret;
use portolan_outbound::{Origin, Outbound, OutboundError, read_body};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use crate::LlmError;
use crate::excerpt::keyless_excerpt;

/// The longest answer or the largest batch of embeddings has a few megabytes.
pub(crate) const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// A refusal is a sentence or two; some come with a page of HTML.
const MAX_REFUSAL: usize = 64 * 1024;

const TRIES: u32 = 3;

/// Before the second try, doubled before the third, where the provider does not say how long it wants.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// There are moments too far away to be reckoned with, and nobody waits for a model this long.
const LONGEST: Duration = Duration::from_hours(24);

/// By when an answer has to be there, all tries included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn within(limit: Duration) -> Self {
        let limit = limit.min(LONGEST);
        Self { at: Instant::now() + limit, limit }
    }
}

/// Sends to one provider.
pub(crate) struct Post {
    pub(crate) outbound: Outbound,
    pub(crate) origin: Origin,
    pub(crate) headers: HeaderMap,
    /// Only to keep it out of errors.
    pub(crate) key: Option<Secret>,
}

/// Why a try failed, and how long the provider wants to be left alone.
struct Setback {
    error: LlmError,
    retry_after: Option<Duration>,
}

impl Post {
    /// The body of the answer. What may pass is tried again while there is time: asking a model twice costs a little, and
    /// changes nothing.
    pub(crate) async fn send(
        &self,
        address: &Uri,
        body: Bytes,
        deadline: Deadline,
    ) -> Result<Bytes, LlmError> {
        let mut tries = 0;
        loop {
            let Ok(outcome) = timeout_at(deadline.at, self.attempt(address, body.clone())).await else {
                return Err(LlmError::TimedOut { limit: deadline.limit });
            };
            let Setback { error, retry_after } = match outcome {
                Ok(answer) => return Ok(answer),
                Err(setback) => setback,
            };
            let pause = retry_after.unwrap_or_else(|| jittered(FIRST_PAUSE * 2_u32.pow(tries)));
            tries += 1;
            if !error.is_passing()
                || tries == TRIES
                || pause >= deadline.at.saturating_duration_since(Instant::now())
            {
                return Err(error);
            }
            tracing::debug!(%error, ?pause, "asking the model again");
            sleep(pause).await;
        }
    }

    /// An error over this answer, without the key: there are servers that answer with what they were sent.
    pub(crate) fn masked(&self, error: LlmError, answer: &[u8]) -> LlmError {
        let LlmError::Garbage { reason, .. } = error else { return error };
        let keyless = |text: &str| keyless_excerpt(text, self.key.as_ref());
        LlmError::Garbage { reason: keyless(&reason), excerpt: keyless(&String::from_utf8_lossy(answer)) }
    }

    async fn attempt(&self, address: &Uri, body: Bytes) -> Result<Bytes, Setback> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = address.clone();
        *request.headers_mut() = self.headers.clone();
        let response = self.outbound.send(request, self.origin).await.map_err(|failure| lost(&failure))?;
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return read_body(body, MAX_ANSWER).await.map_err(|failure| lost(&failure));
        }
        let retry_after = retry_after(&head.headers);
        let said = said(&read_body(body, MAX_REFUSAL).await.unwrap_or_default());
        let reason = keyless_excerpt(&said, self.key.as_ref());
        Err(Setback { error: refusal(head.status, reason, retry_after), retry_after })
    }
}

fn lost(failure: &OutboundError) -> Setback {
    let error = match failure {
        OutboundError::NotSent { .. } | OutboundError::Lost { .. } => {
            LlmError::Unavailable { reason: failure.to_string() }
        }
        OutboundError::TooLarge { limit } => LlmError::TooLarge { limit: *limit },
        OutboundError::Refused { .. } | OutboundError::Misconfigured { .. } => {
            LlmError::Misconfigured { reason: failure.to_string() }
        }
    };
    Setback { error, retry_after: None }
}

fn refusal(status: StatusCode, reason: String, retry_after: Option<Duration>) -> LlmError {
    match status.as_u16() {
        401 | 403 => LlmError::Unauthorized { reason },
        429 => LlmError::RateLimited { retry_after },
        // 529 is Anthropic's word for being overloaded; 501 means that it cannot do this at all.
        status @ (408 | 500 | 502..=599) => LlmError::Unavailable { reason: format!("{status}: {reason}") },
        status => LlmError::Rejected { status, reason },
    }
}

/// The provider's own words. Every one wraps them differently.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(json) = serde_json::from_str::<Value>(&text) else { return text.into_owned() };
    let places = ["/error/message", "/error", "/message", "/detail"];
    let words = places.iter().find_map(|place| json.pointer(place).and_then(Value::as_str));
    words.map_or_else(|| text.into_owned(), str::to_owned)
}

/// How long the provider wants to be left alone: in milliseconds as OpenAI says it, in seconds, or until a moment.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    // A moment that has passed means now.
    Some(moment.duration_since(jiff::Timestamp::now()).try_into().unwrap_or_default())
}

/// Up to a fifth longer, so that those who were turned away together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0_u8];
    // Without randomness the wait is simply the plain one.
    getrandom::fill(&mut byte).unwrap_or_default();
    pause + pause * u32::from(byte[0]) / (5 * 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_pause(header: (&'static str, &str), expected: Option<Duration>) {
        let mut headers = HeaderMap::new();
        headers.insert(header.0, header.1.parse().unwrap());
        assert_eq!(retry_after(&headers), expected, "{header:?}");
    }

    #[test]
    fn f30_retry_after_is_read_in_all_its_forms() {
        check_pause(("retry-after", "7"), Some(Duration::from_secs(7)));
        check_pause(("retry-after", "0.5"), Some(Duration::from_millis(500)));
        check_pause(("retry-after-ms", "30"), Some(Duration::from_millis(30)));
        check_pause(("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        check_pause(("retry-after", "soon"), None);
        check_pause(("retry-after", "-1"), None);
        check_pause(("retry-after", "NaN"), None);
        check_pause(("retry-after", "1e300"), None);
        let in_an_hour = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let written = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&in_an_hour);
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", written.unwrap().parse().unwrap());
        assert!(retry_after(&headers).unwrap() > Duration::from_mins(50));
    }

    #[track_caller]
    fn check_said(body: &str, expected: &str) {
        assert_eq!(said(body.as_bytes()), expected);
    }

    #[test]
    fn the_provider_s_own_words_are_found_however_they_are_wrapped() {
        check_said(r#"{"error":{"message":"no such model","code":404}}"#, "no such model");
        check_said(r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, "busy");
        check_said(r#"{"error":"batch size 64 > 32","error_type":"Validation"}"#, "batch size 64 > 32");
        check_said(r#"{"object":"error","message":"too long"}"#, "too long");
        check_said(r#"{"detail":"Not Found"}"#, "Not Found");
        check_said(r#"{"other":1}"#, r#"{"other":1}"#);
        check_said("<h1>502</h1>", "<h1>502</h1>");
    }

    #[test]
    fn a_pause_grows_by_a_fifth_at_most() {
        for _ in 0..100 {
            let pause = jittered(FIRST_PAUSE);
            assert!((FIRST_PAUSE..=FIRST_PAUSE * 6 / 5).contains(&pause), "{pause:?}");
        }
    }
}
