//! Whether a connected server still answers: asked now and then, unless its traffic says so by itself.

use crate::error::ConnectError;
use crate::session::Session;
use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::Full;
use portolan_model::{Moment, Origin, Secret};
use portolan_outbound::Outbound;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long an answer may take; a server that is well needs a fraction of it.
const PATIENCE: Duration = Duration::from_secs(5);

/// What one more look means for the server's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unchanged,
    /// BR-006: two misses in a row may be a slow network.
    Ill,
    /// It answered again.
    Well,
    /// Three are a dead server.
    Dead,
}

/// What the last looks have shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub checked_at: Option<Moment>,
    /// How long the last answer took that was asked for.
    pub response_time: Option<Duration>,
    pub consecutive_failures: u32,
    /// Why the last look that failed did; it stays until one succeeds.
    pub last_error: Option<Arc<str>>,
}

/// Whom to ask.
#[derive(Debug, Clone)]
pub(crate) enum HealthCheck {
    /// The server itself, over its session.
    Session,
    /// The address that people gave for it.
    Address { uri: Uri, origin: Origin },
}

impl HealthCheck {
    pub(crate) fn new(url: Option<&Secret>, origin: Origin) -> Result<Self, ConnectError> {
        let Some(url) = url else { return Ok(Self::Session) };
        let uri = url
            .reveal()
            .parse()
            .map_err(|error| ConnectError::Failed(format!("its health_check_url cannot be used: {error}")))?;
        Ok(Self::Address { uri, origin })
    }
}

/// What one look has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Look {
    /// With how long it took, if it had to be asked.
    Well(Option<Duration>),
    /// The address is there but does not like the question: that is somebody's mistake, and no sign of illness.
    Neither(StatusCode),
    Failed(String),
}

#[derive(Debug)]
pub(crate) struct Health {
    interval: Duration,
    check: HealthCheck,
    due: Instant,
    /// How many answers the session had had at the last look.
    answers: u64,
    report: Report,
}

impl Health {
    pub(crate) fn new(interval: Duration, check: HealthCheck) -> Self {
        // The first look comes at a random moment, so that many servers are not all asked at once.
        let mut byte = [255u8];
        getrandom::fill(&mut byte).unwrap_or_default();
        let first = interval.mul_f32(0.5 + f32::from(byte[0]) / 512.0);
        Self { interval, check, due: Instant::now() + first, answers: 0, report: Report::default() }
    }

    pub(crate) fn report(&self) -> Report {
        self.report.clone()
    }

    /// Waits until the next look is due.
    pub(crate) async fn due(&self) {
        tokio::time::sleep_until(self.due).await;
    }

    pub(crate) async fn look(&mut self, session: &Session, outbound: &Outbound) -> Verdict {
        let patience = PATIENCE.min(self.interval);
        let look = match &self.check {
            HealthCheck::Session => self.ask_session(session, patience).await,
            HealthCheck::Address { uri, origin } => {
                let asked = timeout(patience, get(outbound, uri, *origin)).await;
                asked.unwrap_or_else(|_| {
                    Look::Failed(format!("health_check_url: no answer within {patience:?}"))
                })
            }
        };
        self.answers = session.answers();
        self.due = Instant::now() + self.interval;
        self.count(look)
    }

    /// A session that has answered something since the last time need not be asked.
    async fn ask_session(&self, session: &Session, patience: Duration) -> Look {
        if session.answers() > self.answers {
            return Look::Well(None);
        }
        let start = Instant::now();
        if session.ping(patience).await {
            Look::Well(Some(start.elapsed()))
        } else {
            Look::Failed(format!("no answer to ping within {patience:?}"))
        }
    }

    fn count(&mut self, look: Look) -> Verdict {
        let before = self.report.consecutive_failures;
        self.report.checked_at = Some(Moment::now());
        match look {
            Look::Well(took) => {
                self.report.response_time = took.or(self.report.response_time);
                self.report.consecutive_failures = 0;
                self.report.last_error = None;
                if before >= 2 { Verdict::Well } else { Verdict::Unchanged }
            }
            Look::Neither(status) => {
                tracing::warn!(%status, "a health_check_url does not take the question: is it right?");
                Verdict::Unchanged
            }
            Look::Failed(why) => {
                tracing::warn!(why, "a health check has failed");
                self.report.consecutive_failures = before.saturating_add(1);
                self.report.last_error = Some(why.into());
                match before {
                    0 => Verdict::Unchanged,
                    1 => Verdict::Ill,
                    _ => Verdict::Dead,
                }
            }
        }
    }
}

/// EC-005: only 200 is well, 4xx counts as neither, all else is a failure.
async fn get(outbound: &Outbound, uri: &Uri, origin: Origin) -> Look {
    let start = Instant::now();
    let mut request = Request::new(Full::<Bytes>::default());
    *request.uri_mut() = uri.clone();
    match outbound.send(request, origin).await {
        Ok(response) if response.status() == StatusCode::OK => Look::Well(Some(start.elapsed())),
        Ok(response) if response.status().is_client_error() => Look::Neither(response.status()),
        Ok(response) => Look::Failed(format!("health_check_url answered {}", response.status())),
        Err(error) => Look::Failed(format!("health_check_url: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Dead, Ill, Unchanged, Well};

    fn judged<const N: usize>(looks: [Look; N]) -> [Verdict; N] {
        let mut health = Health::new(Duration::from_secs(30), HealthCheck::Session);
        looks.map(|look| health.count(look))
    }

    #[tokio::test]
    async fn br_006_two_misses_degrade_three_fail_one_answer_heals() {
        let looks = [false, true, false, false, true, true, false, false, false]
            .map(|well| if well { Look::Well(None) } else { Look::Failed("mute".to_owned()) });
        assert_eq!(
            judged(looks),
            [Unchanged, Unchanged, Unchanged, Ill, Well, Unchanged, Unchanged, Ill, Dead]
        );
    }

    #[tokio::test]
    async fn br_006_a_client_error_counts_as_neither() {
        let (miss, odd) = (Look::Failed("500".to_owned()), Look::Neither(StatusCode::NOT_FOUND));
        let looks = [miss.clone(), odd.clone(), odd, miss.clone(), miss];
        assert_eq!(judged(looks), [Unchanged, Unchanged, Unchanged, Ill, Dead]);
    }

    #[tokio::test]
    async fn a_report_keeps_the_last_error_until_an_answer_comes() {
        let mut health = Health::new(Duration::from_secs(30), HealthCheck::Session);
        health.count(Look::Failed("mute".to_owned()));
        let report = health.report();
        assert_eq!((report.consecutive_failures, report.last_error.as_deref()), (1, Some("mute")));
        health.count(Look::Well(Some(Duration::from_millis(3))));
        let report = health.report();
        assert_eq!((report.consecutive_failures, report.last_error), (0, None));
        assert_eq!(report.response_time, Some(Duration::from_millis(3)));
        assert!(report.checked_at.is_some());
    }
}
