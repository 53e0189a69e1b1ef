//! The product of rows with a matrix of the model: whole numbers inside of a block, floating point between them.
#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a function for one kind of machine is not compiled for it"
)]

use crate::kernel::{Kernel, ROWS};
use crate::layout::{BLOCK, DEPTH, WIDTH};
use crate::math;

/// A matrix of the model where it lies in the file, with its copied scales.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(crate) inputs: usize,
    pub(crate) biases: &'a [f32],
    /// [`WIDTH`] for each block.
    pub(crate) scales: &'a [f32],
    pub(crate) weights: &'a [u8],
}

/// Rows as whole numbers with a scale each. There are always a multiple of [`ROWS`]; what is too many is 0.
#[derive(Default)]
pub(crate) struct Rows {
    whole: Vec<i16>,
    scales: Vec<f32>,
}

impl Rows {
    /// Takes in rows of `width` numbers, over what was there before.
    #[inline(always)]
    pub(crate) fn quantize(&mut self, rows: &[f32], width: usize) {
        let count = (rows.len() / width).next_multiple_of(ROWS);
        self.whole.resize(count * width, 0);
        self.scales.resize(count, 0.0);
        let mut targets = self.whole.chunks_exact_mut(width).zip(&mut self.scales);
        for (row, (whole, scale)) in rows.chunks_exact(width).zip(&mut targets) {
            *scale = math::quantize(row, whole);
        }
        for (whole, scale) in targets {
            whole.fill(0);
            *scale = 0.0;
        }
    }
}

/// Writes what `matrix` makes of each row. `out` holds as many rows as were taken in, and is as wide as there are outputs.
#[inline(always)]
pub(crate) fn multiply<K: Kernel>(kernel: K, rows: &Rows, matrix: Matrix<'_>, out: &mut [f32]) {
    let depth = matrix.inputs / DEPTH;
    let outputs = matrix.biases.len();
    let (blocks, _) = matrix.weights.as_chunks::<BLOCK>();
    let (scales, _) = matrix.scales.as_chunks::<WIDTH>();
    let (whole, _) = rows.whole.as_chunks::<DEPTH>();
    // A panel of blocks stays in the nearest cache while all rows pass by.
    let panels =
        blocks.chunks_exact(depth).zip(scales.chunks_exact(depth)).zip(matrix.biases.as_chunks::<WIDTH>().0);
    for (panel, ((blocks, scales), biases)) in panels.enumerate() {
        let groups = whole.chunks_exact(depth * ROWS).zip(rows.scales.as_chunks::<ROWS>().0);
        for ((group, units), out) in groups.zip(out.chunks_mut(ROWS * outputs)) {
            let mut totals = [[0.0_f32; WIDTH]; ROWS];
            for (at, (block, scales)) in blocks.iter().zip(scales).enumerate() {
                let inputs = std::array::from_fn(|row| &group[row * depth + at]);
                let sums = kernel.block(inputs, block);
                for (totals, sums) in totals.iter_mut().zip(&sums) {
                    add_scaled(totals, sums, scales);
                }
            }
            for ((out, totals), unit) in out.chunks_exact_mut(outputs).zip(&totals).zip(units) {
                let out = &mut out[panel * WIDTH..][..WIDTH];
                for ((out, total), bias) in out.iter_mut().zip(totals).zip(biases) {
                    *out = total * unit + bias;
                }
            }
        }
    }
}

#[inline(always)]
fn add_scaled(totals: &mut [f32; WIDTH], sums: &[i32; WIDTH], scales: &[f32; WIDTH]) {
    for ((total, &sum), scale) in totals.iter_mut().zip(sums).zip(scales) {
        #[expect(clippy::cast_precision_loss, reason = "24 bits of 28: the weights have seven")]
        let sum = sum as f32;
        *total += sum * scale;
    }
}
