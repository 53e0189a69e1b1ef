//! Money as people write it in settings.

use std::fmt;
use std::str::FromStr;

const NANOS: u64 = 1_000_000_000;
const DECIMALS: usize = 9;

/// US dollars, exact to a billionth: a price for a million tokens may be a part of a cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Dollars(u64);

impl Dollars {
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an amount is a number like 0.15, with nine decimals at most")]
pub struct NoAmount;

impl FromStr for Dollars {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS {
            return Err(NoAmount);
        }
        let whole: u64 = whole.parse().map_err(|_| NoAmount)?;
        let nanos: u64 = format!("{decimals:0<DECIMALS$}").parse().map_err(|_| NoAmount)?;
        whole.checked_mul(NANOS).and_then(|whole| whole.checked_add(nanos)).map(Self).ok_or(NoAmount)
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:0DECIMALS$}", self.0 / NANOS, self.0 % NANOS);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, nanos) in [("0.15", 150_000_000), ("15", 15_000_000_000), ("0.000000001", 1), ("0", 0)] {
            assert_eq!(text.parse(), Ok(Dollars(nanos)), "{text}");
        }
        for wrong in ["", ".", "1.", ".5", "-1", "1e3", "$3", "nan", "0.0000000001", "99999999999999999999"] {
            assert_eq!(wrong.parse::<Dollars>(), Err(NoAmount), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn an_amount_reads_back_what_it_shows(nanos: u64) {
            prop_assert_eq!(Dollars(nanos).to_string().parse(), Ok(Dollars(nanos)));
        }
    }
}
