//! How often an agent may be asked.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

const MINUTE: Duration = Duration::from_mins(1);

/// The queries of the last minute; never more than the limit.
#[derive(Debug, Default)]
pub(crate) struct Rate(VecDeque<Instant>);

impl Rate {
    /// Counts a query if it is within the limit, else says when the next one is. A refused query counts for nothing.
    pub(crate) fn admit(&mut self, limit: u32) -> Result<(), Duration> {
        let now = Instant::now();
        self.0.retain(|at| now.duration_since(*at) < MINUTE);
        if self.0.len() >= limit as usize {
            let oldest = self.0.front().map_or(now, |oldest| *oldest);
            return Err((oldest + MINUTE).duration_since(now));
        }
        self.0.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_so_many_a_minute_and_again_when_the_minute_is_over() {
        let mut rate = Rate::default();
        assert_eq!(rate.admit(2), Ok(()));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(rate.admit(2), Ok(()));
        assert_eq!(rate.admit(2), Err(Duration::from_secs(40)));
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(rate.admit(2), Ok(()));
        assert_eq!(rate.admit(2), Err(Duration::from_secs(20)));
        assert_eq!(Rate::default().admit(0), Err(MINUTE));
    }
}
