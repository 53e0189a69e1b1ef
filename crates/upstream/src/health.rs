//! Whether a connected server still answers: asked now and then, unless its traffic says so by itself.

use crate::session::Session;
use std::time::Duration;
use tokio::time::Instant;

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

#[derive(Debug)]
pub(crate) struct Health {
    interval: Duration,
    due: Instant,
    misses: u32,
    /// How many answers the session had had at the last look.
    answers: u64,
}

impl Health {
    pub(crate) fn new(interval: Duration) -> Self {
        // The first look comes at a random moment, so that many servers are not all asked at once.
        let mut byte = [255u8];
        getrandom::fill(&mut byte).unwrap_or_default();
        let first = interval.mul_f32(0.5 + f32::from(byte[0]) / 512.0);
        Self { interval, due: Instant::now() + first, misses: 0, answers: 0 }
    }

    /// Waits until the next look is due.
    pub(crate) async fn due(&self) {
        tokio::time::sleep_until(self.due).await;
    }

    /// Looks: a session that has answered something since the last time need not be asked.
    pub(crate) async fn look(&mut self, session: &Session) -> Verdict {
        let answers = session.answers();
        let is_well = answers > self.answers || session.ping(PATIENCE.min(self.interval)).await;
        self.answers = session.answers();
        self.due = Instant::now() + self.interval;
        self.count(is_well)
    }

    fn count(&mut self, is_well: bool) -> Verdict {
        let before = std::mem::take(&mut self.misses);
        if is_well {
            return if before >= 2 { Verdict::Well } else { Verdict::Unchanged };
        }
        self.misses = before + 1;
        match self.misses {
            0 | 1 => Verdict::Unchanged,
            2 => Verdict::Ill,
            _ => Verdict::Dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Dead, Ill, Unchanged, Well};

    #[tokio::test]
    async fn br_006_two_misses_degrade_three_fail_one_answer_heals() {
        let mut health = Health::new(Duration::from_secs(30));
        let verdicts =
            [false, true, false, false, true, true, false, false, false].map(|well| health.count(well));
        assert_eq!(verdicts, [Unchanged, Unchanged, Unchanged, Ill, Well, Unchanged, Unchanged, Ill, Dead]);
    }
}
