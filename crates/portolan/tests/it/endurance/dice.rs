//! Random numbers that can be had again: whoever sees a run fail sees its seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Names the seed that is used in place of a new one. It begins with nothing that Portolan takes for a setting.
const SEED: &str = "ENDURANCE_SEED";

/// SplitMix64: a few lines, and every seed is a good one.
pub(super) struct Dice(u64);

impl Dice {
    /// New dice. What they are seeded with is printed, which tests show when they fail.
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = match std::env::var(SEED) {
            Ok(seed) => seed.parse().unwrap(),
            Err(_) => since.as_secs() << 20 | u64::from(since.subsec_micros()),
        };
        println!("to have the same dice again: {SEED}={seed}");
        Self(seed)
    }

    /// Dice for somebody else, seeded by these.
    pub(super) fn another(&mut self) -> Self {
        Self(self.below(usize::MAX) as u64)
    }

    /// A number below this one.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    /// Whether this time it is so, which it is once in `of` times.
    pub(super) fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// Puts these into an order of chance.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
