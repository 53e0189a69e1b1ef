//! When to ask again while whoever decides is away.

use std::time::Duration;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(5);

/// How many batches are under way in all, whichever server they are of.
const LANES: usize = 10;

/// Whether it answers, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Pause {
    #[default]
    None,
    /// Nobody asks until then.
    Until { then: Instant, length: Duration },
    /// The pause is over, and one batch finds out whether it is back.
    Trying { length: Duration },
}

impl Pause {
    /// Others that fail of the same outage do not make the pause longer.
    pub(crate) fn failed(&mut self, now: Instant) {
        let length = match *self {
            Self::None => FIRST,
            Self::Trying { length } => (length * 2).min(LONGEST),
            Self::Until { .. } => return,
        };
        *self = Self::Until { then: now + length, length };
    }

    /// It is back: nobody waits any more.
    pub(crate) fn answered(&mut self) {
        *self = Self::None;
    }

    /// The time has come, or somebody knows that it is back.
    pub(crate) fn over(&mut self) {
        if let Self::Until { length, .. } = *self {
            *self = Self::Trying { length };
        }
    }

    pub(crate) fn until(self) -> Option<Instant> {
        match self {
            Self::Until { then, .. } => Some(then),
            Self::None | Self::Trying { .. } => None,
        }
    }

    /// How many batches may be under way.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Self::None => LANES,
            Self::Until { .. } => 0,
            Self::Trying { .. } => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ec_009_pauses_grow_up_to_five_minutes_and_end_with_the_first_answer() {
        let (now, mut pause) = (Instant::now(), Pause::default());
        let mut lengths = Vec::new();
        for _ in 0..11 {
            pause.failed(now);
            lengths.push((pause.until().unwrap() - now).as_secs());
            pause.over();
            assert_eq!((pause.until(), pause.lanes()), (None, 1));
        }
        assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        pause.answered();
        assert_eq!((pause, pause.lanes()), (Pause::None, LANES));
    }

    #[tokio::test]
    async fn failures_of_one_outage_are_one_failure() {
        let (now, mut pause) = (Instant::now(), Pause::default());
        pause.failed(now);
        let first = pause;
        pause.failed(now + Duration::from_millis(500));
        assert_eq!((pause, pause.lanes()), (first, 0));
    }
}
