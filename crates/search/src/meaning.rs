//! Vectors as rows of small whole numbers: a quarter of the memory, and a scan of sixteen products at a time.

mod kernel;

use kernel::{Kernel, LANES, Work};

/// The largest step of a row; its own scale says what a step is worth. Vectors are kept in as many, and lose nothing.
const ROW_STEPS: f32 = 127.0;
/// That of a probe: a multiple, so that one that was kept loses nothing either. Over 8,192 dimensions the sum of the
/// products still fits 32 bits.
const PROBE_STEPS: f32 = 4.0 * ROW_STEPS;

/// The vectors of some texts, all of one length; some of the texts may have none yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    dimension: usize,
    /// What one step of each row is worth; 0 where there is no vector.
    scales: Vec<f32>,
    steps: Vec<[i8; LANES]>,
}

/// A query's vector, ready to be held against rows.
#[derive(Debug)]
pub(crate) struct Probe {
    dimension: usize,
    scale: f32,
    steps: Vec<[i16; LANES]>,
}

impl Rows {
    /// A vector of another length than the first one is of another model: its text counts as having none.
    pub(crate) fn new(vectors: &[Option<&[f32]>]) -> Self {
        let dimension = vectors.iter().flatten().map(|vector| vector.len()).next().unwrap_or(0);
        let mut rows = Self { dimension, scales: Vec::with_capacity(vectors.len()), steps: Vec::new() };
        rows.steps.reserve_exact(dimension.div_ceil(LANES) * vectors.len());
        for (at, vector) in vectors.iter().enumerate() {
            let vector = vector.filter(|vector| vector.len() == dimension).unwrap_or_default();
            let scale = scale(vector, ROW_STEPS);
            rows.scales.push(scale);
            if scale > 0.0 {
                rows.steps.extend(steps(vector, |x| row_step(x / scale)));
            }
            rows.steps.resize((at + 1) * dimension.div_ceil(LANES), [0; LANES]);
        }
        rows
    }

    /// Whether the text at `at` has a vector that a query of `dimension` can be held against.
    pub(crate) fn has(&self, at: usize, dimension: usize) -> bool {
        self.dimension == dimension && self.scales[at] > 0.0
    }

    /// Holds every row against every probe: `tell` gets the row's place, the probe's and their product. Rows without
    /// a vector are passed over.
    pub(crate) fn scan(&self, probes: &[Probe], tell: &mut impl FnMut(usize, usize, f32)) {
        let fits = probes.iter().all(|probe| probe.dimension == self.dimension);
        if fits && self.dimension > 0 {
            kernel::run(Scan { rows: self, probes, tell });
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.steps.capacity() * LANES + self.scales.capacity() * size_of::<f32>()
    }
}

/// All rows against all probes, of the same dimension.
struct Scan<'s, T> {
    rows: &'s Rows,
    probes: &'s [Probe],
    tell: &'s mut T,
}

impl<T: FnMut(usize, usize, f32)> Work for Scan<'_, T> {
    /// In whole numbers, so that every machine comes to the same products.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "a sum above 2^24 loses its last bits only")]
    fn run<K: Kernel>(self, kernel: K) {
        let rows = self.rows.steps.chunks_exact(self.rows.dimension.div_ceil(LANES));
        for (at, (row, &scale)) in rows.zip(&self.rows.scales).enumerate() {
            if scale <= 0.0 {
                continue;
            }
            for (which, probe) in self.probes.iter().enumerate() {
                let sum = kernel.product(row, &probe.steps);
                (self.tell)(at, which, sum as f32 * scale * probe.scale);
            }
        }
    }
}

impl Probe {
    pub(crate) fn new(vector: &[f32]) -> Self {
        let scale = scale(vector, PROBE_STEPS);
        let steps = steps(vector, |x| probe_step(x / scale)).collect();
        Self { dimension: vector.len(), scale, steps }
    }
}

/// What a step of this vector is worth; 0 for one that points nowhere.
fn scale(vector: &[f32], steps: f32) -> f32 {
    let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    if largest.is_finite() { largest / steps } else { 0.0 }
}

/// The vector in steps, with zeros up to a whole number of lanes.
fn steps<S: Copy + Default>(vector: &[f32], step: impl Fn(f32) -> S) -> impl Iterator<Item = [S; LANES]> {
    vector.chunks(LANES).map(move |chunk| {
        let mut lanes = [S::default(); LANES];
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = step(*x);
        }
        lanes
    })
}

/// What is no number, as for a scale of 0, becomes 0.
#[expect(clippy::cast_possible_truncation, reason = "rounded, and within ±127 by its scale")]
fn row_step(x: f32) -> i8 {
    x.round() as i8
}

/// Likewise.
#[expect(clippy::cast_possible_truncation, reason = "rounded, and within ±508 by its scale")]
fn probe_step(x: f32) -> i16 {
    x.round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(seed: &[f32]) -> Vec<f32> {
        let norm = seed.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
        seed.iter().map(|x| x / norm).collect()
    }

    fn products(rows: &Rows, query: &[f32]) -> Vec<(usize, f32)> {
        let mut found = Vec::new();
        rows.scan(&[Probe::new(query)], &mut |at, _, product| found.push((at, product)));
        found
    }

    proptest! {
        #[test]
        fn a_product_is_that_of_the_vectors_but_for_half_a_step_of_each_number(
            a in proptest::collection::vec(-1.0_f32..1.0, 48),
            b in proptest::collection::vec(-1.0_f32..1.0, 48),
        ) {
            let (a, b) = (unit(&a), unit(&b));
            let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let found = products(&Rows::new(&[Some(&a)]), &b);
            // Both have length 1, so that each is wrong by the length of its own error at most.
            let error = |vector: &[f32], steps: f32| 48_f32.sqrt() * scale(vector, steps) / 2.0;
            let (of_a, of_b) = (error(&a, ROW_STEPS), error(&b, PROBE_STEPS));
            let most = of_a + of_b + of_a * of_b + 1e-5;
            prop_assert!((found[0].1 - exact).abs() <= most, "{} for {exact}, ±{most}", found[0].1);
        }
    }

    #[test]
    fn rows_without_a_vector_or_of_another_length_are_passed_over() {
        let (long, short) = ([0.6, 0.8], [1.0]);
        let rows = Rows::new(&[None, Some(&long), Some(&short), Some(&[0.0, 0.0]), Some(&[f32::NAN, 1.0])]);
        assert_eq!(rows.scales.len(), 5);
        assert_eq!(products(&rows, &[0.6, 0.8]).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 4]);
        assert!(rows.has(1, 2) && !rows.has(1, 3) && !rows.has(2, 2) && !rows.has(0, 2));
        assert_eq!(products(&rows, &[1.0, 0.0, 0.0]), []);
        assert_eq!(products(&Rows::new(&[None, None]), &[1.0]), []);
    }
}
