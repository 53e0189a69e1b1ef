//! Exact percentiles and medians over recorded values.

/// Three percentiles of one run, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
}

impl Spread {
    /// Sorts in place; an empty run has a spread of zeros.
    pub fn of(times_ns: &mut [u64]) -> Self {
        times_ns.sort_unstable();
        let at = |share| percentile(times_ns, share) as f64 / 1000.0;
        Self { p50: at(0.50), p90: at(0.90), p99: at(0.99) }
    }

    /// The median of each percentile over several runs: one disturbed run does not move it.
    pub fn median_of(runs: &[Spread]) -> Self {
        let over = |pick: fn(&Spread) -> f64| median(runs.iter().map(pick));
        Self { p50: over(|s| s.p50), p90: over(|s| s.p90), p99: over(|s| s.p99) }
    }
}

/// The nearest rank: the smallest value that at least `share` of all values do not exceed.
fn percentile(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(&upper), 1) => upper,
        (Some(&upper), _) => f64::midpoint(sorted[middle - 1], upper),
    }
}

/// A quotient of two measured values; not a number where one of them was not measured, which meets no target.
pub fn ratio(over: f64, under: f64) -> f64 {
    if over > 0.0 && under > 0.0 { over / under } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut times: Vec<u64> = (1..=200).rev().map(|us| us * 1000).collect();
        assert_eq!(Spread::of(&mut times), Spread { p50: 100.0, p90: 180.0, p99: 198.0 });
        assert_eq!(Spread::of(&mut [5000]), Spread { p50: 5.0, p90: 5.0, p99: 5.0 });
        assert_eq!(Spread::of(&mut []), Spread::default());
    }

    #[test]
    fn medians_ignore_one_outlier() {
        assert!((median([3.0, 900.0, 1.0]) - 3.0).abs() < f64::EPSILON);
        assert!((median([4.0, 2.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median([]).abs() < f64::EPSILON);
    }

    #[test]
    fn a_ratio_of_or_to_nothing_is_no_number() {
        assert!(ratio(1.0, 0.0).is_nan() && ratio(0.0, 1.0).is_nan());
        assert!((ratio(3.0, 2.0) - 1.5).abs() < f64::EPSILON);
    }
}
