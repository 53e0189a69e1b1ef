//! What tokens cost: exact sums, and the table that the settings give.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use crate::chat::Usage;

const NANOS: u64 = 1_000_000_000;
const DECIMALS: usize = 9;
const MILLION: u128 = 1_000_000;

/// An amount of money in whatever currency the price table is written in, to a billionth: one token may cost less than a
/// millionth, and many of them have to add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cost(u64);

impl Cost {
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Self::plus)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a price is a number like 0.15, with nine decimals at most")]
pub struct NoCost;

impl FromStr for Cost {
    type Err = NoCost;

    fn from_str(text: &str) -> Result<Self, NoCost> {
        let (units, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(units) || !is_number(decimals) || decimals.len() > DECIMALS {
            return Err(NoCost);
        }
        let units: u64 = units.parse().map_err(|_| NoCost)?;
        let nanos: u64 = format!("{decimals:0<DECIMALS$}").parse().map_err(|_| NoCost)?;
        units.checked_mul(NANOS).and_then(|whole| whole.checked_add(nanos)).map(Self).ok_or(NoCost)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:0DECIMALS$}", self.0 / NANOS, self.0 % NANOS);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    pub input: Cost,
    pub output: Cost,
}

impl Price {
    /// Rounded up, so that nothing is free that is not.
    pub fn of(self, usage: Usage) -> Cost {
        let part = |tokens: u64, price: Cost| u128::from(tokens) * u128::from(price.0);
        let nanos = (part(usage.input, self.input) + part(usage.output, self.output)).div_ceil(MILLION);
        Cost(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Prices by the name of the model, or by its beginning and a `*`.
#[derive(Debug, Clone, Default)]
pub struct PriceTable(BTreeMap<String, Price>);

impl PriceTable {
    /// The whole name counts before its beginning, and a longer beginning before a shorter one.
    pub fn find(&self, model: &str) -> Option<Price> {
        if let Some(price) = self.0.get(model) {
            return Some(*price);
        }
        let begins =
            |name: &str| name.strip_suffix('*').is_some_and(|beginning| model.starts_with(beginning));
        let fitting = self.0.iter().filter(|(name, _)| begins(name));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, price)| *price)
    }
}

impl FromIterator<(String, Price)> for PriceTable {
    fn from_iter<I: IntoIterator<Item = (String, Price)>>(rows: I) -> Self {
        Self(rows.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(text: &str) -> Cost {
        text.parse().unwrap()
    }

    fn price(input: &str, output: &str) -> Price {
        Price { input: cost(input), output: cost(output) }
    }

    #[test]
    fn costs_are_read_as_people_write_them() {
        assert_eq!(cost("0.15"), Cost(150_000_000));
        assert_eq!(cost("15"), Cost(15_000_000_000));
        assert_eq!(cost("0.000000001"), Cost(1));
        for wrong in ["", ".", "1.", ".5", "-1", "1e3", "$3", "0.0000000001", "99999999999999999999"] {
            assert_eq!(wrong.parse::<Cost>(), Err(NoCost), "{wrong}");
        }
    }

    #[test]
    fn small_calls_add_up_exactly() {
        let mini = price("0.15", "0.60");
        assert_eq!(mini.of(Usage { input: 1_000_000, output: 1_000_000 }).to_string(), "0.75");
        assert_eq!(mini.of(Usage { input: 1000, output: 200 }).to_string(), "0.00027");
        assert_eq!(mini.of(Usage::default()), Cost::ZERO);
        let tiny = price("0.000000001", "0");
        assert_eq!(tiny.of(Usage { input: 1, output: 0 }), Cost(1));
        assert_eq!(price("18000000000", "0").of(Usage { input: u64::MAX, output: 0 }), Cost(u64::MAX));
    }

    #[test]
    fn a_price_goes_by_the_whole_name_then_by_its_longest_beginning() {
        let rows = [("gpt-4o", "1"), ("gpt-4o-*", "2"), ("gpt-4o-mini*", "3"), ("*", "4")];
        let table: PriceTable =
            rows.iter().map(|(name, input)| ((*name).to_owned(), price(input, "0"))).collect();
        let input_of = |model: &str| table.find(model).unwrap().input.to_string();
        assert_eq!(input_of("gpt-4o"), "1");
        assert_eq!(input_of("gpt-4o-2024-08-06"), "2");
        assert_eq!(input_of("gpt-4o-mini-2024"), "3");
        assert_eq!(input_of("llama"), "4");
        assert!(PriceTable::default().find("llama").is_none());
    }

    proptest! {
        #[test]
        fn a_cost_reads_back_what_it_shows(nanos: u64) {
            prop_assert_eq!(Cost(nanos).to_string().parse::<Cost>(), Ok(Cost(nanos)));
        }
    }
}
