//! When to try again: three quick retries, then slowly for as long as the server is wanted.

use std::time::Duration;

/// After the first try, 1, 2 and 4 s; those may be a slow start. After that the server is in `ERROR`.
const QUICK: [u64; 3] = [1, 2, 4];
const SLOW_FIRST: u64 = 8;
const SLOW_MOST: u64 = 60;

#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Still within the first tries.
    Quick(Duration),
    /// Given up for now; one more try after this.
    Slow(Duration),
}

impl Backoff {
    pub(crate) fn failed(&mut self) -> Pace {
        let failures = self.failures as usize;
        self.failures = self.failures.saturating_add(1);
        match QUICK.get(failures) {
            Some(&seconds) => Pace::Quick(jittered(seconds)),
            None => {
                let doublings = (failures - QUICK.len()).min(8);
                Pace::Slow(jittered((SLOW_FIRST << doublings).min(SLOW_MOST)))
            }
        }
    }
}

/// Up to a tenth more or less, so that many servers that failed together do not come back together.
fn jittered(seconds: u64) -> Duration {
    let mut byte = [128u8];
    // Without randomness the wait is simply the plain one.
    getrandom::fill(&mut byte).unwrap_or_default();
    Duration::from_millis(seconds * (900 + 200 * u64::from(byte[0]) / 255))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn br_002_three_quick_retries_then_slow_ones_up_to_a_minute() {
        let mut backoff = Backoff::default();
        let paces: Vec<(bool, u64)> = (0..8)
            .map(|_| match backoff.failed() {
                Pace::Quick(d) => (true, (d + Duration::from_millis(500)).as_secs()),
                Pace::Slow(d) => (false, d.as_secs()),
            })
            .collect();
        assert_eq!(paces[..3], [(true, 1), (true, 2), (true, 4)]);
        assert!(paces[3..].iter().all(|(quick, _)| !quick));
        for (pace, plain) in paces[3..].iter().zip([8u64, 16, 32, 60, 60]) {
            assert!(pace.1 * 10 >= plain * 8 && pace.1 * 10 <= plain * 11, "{pace:?} for {plain}");
        }
    }
}
