//! The arithmetic on rows of numbers: sums in one order, and the curves, as plain loops that compilers widen.
//!
//! Nothing here calls the system's mathematics or fuses a product with a sum, so that every machine gives the same bits.
#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a function for one kind of machine is not compiled for it"
)]

/// How many sums run beside each other: a wide register's worth, whatever the machine has.
pub(crate) const LANES: usize = 16;

/// The number whose addition rounds to a whole one, which then stands in the lowest bits: 1.5 × 2²³.
const ROUNDER: f32 = 12_582_912.0;

/// The sum of the `term`s of a row: [`LANES`] sums beside each other, which are added up at the end.
#[inline(always)]
pub(crate) fn sum_of(row: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (whole, rest) = row.as_chunks::<LANES>();
    for chunk in whole {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += term(value);
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        *sum += term(value);
    }
    sums.iter().sum()
}

/// The largest `key` in `row`, or `start` if none is larger.
#[inline(always)]
pub(crate) fn largest(row: &[f32], start: f32, key: impl Fn(f32) -> f32) -> f32 {
    let mut found = [start; LANES];
    let keep = |found: &mut f32, value: f32| {
        if value > *found {
            *found = value;
        }
    };
    let (whole, rest) = row.as_chunks::<LANES>();
    for chunk in whole {
        for (found, &value) in found.iter_mut().zip(chunk) {
            keep(found, key(value));
        }
    }
    for (found, &value) in found.iter_mut().zip(rest) {
        keep(found, key(value));
    }
    found.into_iter().fold(start, |largest, value| if value > largest { value } else { largest })
}

/// e to the power of `x`, for x up to 88, to 2 units of the last place; 0 below -87, where nothing is left of it.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// ln 2 in two parts: the first has so few bits that its product with a power is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let clamped = if x < -87.0 { -87.0 } else { x };
    let rounded = clamped * std::f32::consts::LOG2_E + ROUNDER;
    let power = rounded - ROUNDER;
    let rest = (clamped - power * LN_2[0]) - power * LN_2[1];
    let mut curve = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        curve = curve * rest + coefficient;
    }
    let curve = curve * rest * rest + rest + 1.0;
    let scale = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { curve * scale }
}

/// x · Φ(x), with the error function by Abramowitz and Stegun 7.1.26: off by 1.5e-7 at most, below what is kept of it.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut curve = 1.061_405_4;
    for coefficient in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        curve = curve * t + coefficient;
    }
    let tail = 0.5 * curve * t * exp(-z * z);
    x * if x < 0.0 { tail } else { 1.0 - tail }
}

/// Brings a row to mean 0 and variance 1, and then to what the model learned for each place.
#[inline(always)]
pub(crate) fn normalize(row: &mut [f32], weights: &[f32], biases: &[f32]) {
    const EPSILON: f32 = 1e-12;
    #[expect(clippy::cast_precision_loss, reason = "a row has some hundred numbers")]
    let length = row.len() as f32;
    let mean = sum_of(row, |value| value) / length;
    let variance = sum_of(row, |value| (value - mean) * (value - mean)) / length;
    let scale = 1.0 / (variance + EPSILON).sqrt();
    for ((value, weight), bias) in row.iter_mut().zip(weights).zip(biases) {
        *value = (*value - mean) * scale * weight + bias;
    }
}

/// Writes `row` as whole numbers of up to 15 bits and returns what one of them stands for.
#[inline(always)]
pub(crate) fn quantize(row: &[f32], whole: &mut [i16]) -> f32 {
    let largest = largest(row, 0.0, f32::abs);
    if largest == 0.0 {
        whole.fill(0);
        return 0.0;
    }
    let per_unit = f32::from(i16::MAX) / largest;
    for (whole, &value) in whole.iter_mut().zip(row) {
        #[expect(clippy::cast_possible_truncation, reason = "the lowest 16 bits are the number itself")]
        let bits = (value * per_unit + ROUNDER).to_bits() as i16;
        *whole = bits;
    }
    largest / f32::from(i16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exact_to_a_few_units_and_ends_at_zero() {
        for step in -8600..=8800_i16 {
            let x = f32::from(step) / 100.0;
            let expected = f64::from(x).exp();
            assert!((f64::from(exp(x)) / expected - 1.0).abs() < 3e-7, "exp({x}) = {}", exp(x));
        }
        assert_eq!([-87.5, f32::MIN, f32::NEG_INFINITY].map(|x| exp(x).to_bits()), [0; 3]);
    }

    #[test]
    fn gelu_follows_its_definition() {
        // x · Φ(x) to nine digits, from tables of the normal distribution.
        let table = [
            (0.0, 0.0),
            (0.5, 0.345_731_230),
            (1.0, 0.841_344_746),
            (2.0, 1.954_499_736),
            (5.0, 4.999_998_567),
            (-0.5, -0.154_268_770),
            (-1.0, -0.158_655_254),
            (-2.0, -0.045_500_264),
            (-5.0, -0.000_001_433),
        ];
        for (x, expected) in table {
            assert!((f64::from(gelu(x)) - expected).abs() < 5e-7, "gelu({x}) = {}", gelu(x));
        }
    }

    #[test]
    fn a_quantized_row_comes_back_to_fifteen_bits() {
        let row: Vec<f32> = (0..384_i16).map(|i| f32::from(i % 37) - 20.5).collect();
        let mut whole = vec![0; row.len()];
        let unit = quantize(&row, &mut whole);
        for (&whole, &value) in whole.iter().zip(&row) {
            assert!((f32::from(whole) * unit - value).abs() <= unit * 0.51, "{whole} × {unit} for {value}");
        }
        assert_eq!(quantize(&[0.0; 16], &mut whole[..16]).to_bits(), 0);
        assert_eq!(whole[..16], [0; 16]);
    }
}
