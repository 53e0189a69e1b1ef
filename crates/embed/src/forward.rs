//! The way through the six layers: from tokens to vectors, for some texts at once.
#![expect(
    clippy::inline_always,
    reason = "what is not inlined into a function for one kind of machine is not compiled for it"
)]

use crate::attention::{self, Desk, TRIPLE};
use crate::file::{Layer, ModelFile, Norm};
use crate::kernel::{Kernel, Work};
use crate::layout::{HIDDEN, INTERMEDIATE};
use crate::math;
use crate::matrix::{Matrix, Rows, multiply};
use std::ops::Range;

/// Room for the tokens of one pass. It is kept from pass to pass, and grows to what the largest one takes.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Each token's vector, from layer to layer.
    hidden: Vec<f32>,
    /// What a matrix made, wide or as wide as `hidden`.
    wide: Vec<f32>,
    mixed: Vec<f32>,
    rows: Rows,
    desk: Desk,
}

/// One pass: the tokens of some texts, one text after the other. The products take all of them as one matrix, so
/// that no text is padded to the length of another; only attention looks at texts.
pub(crate) struct Pass<'a> {
    pub(crate) model: &'a ModelFile,
    pub(crate) tokens: &'a [u16],
    /// Where in `tokens` each text lies.
    pub(crate) texts: &'a [Range<usize>],
    pub(crate) scratch: &'a mut Scratch,
    /// Takes one vector a text.
    pub(crate) vectors: &'a mut Vec<Vec<f32>>,
}

impl Work for Pass<'_> {
    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) {
        let Self { model, tokens, texts, scratch, vectors } = self;
        scratch.hidden.resize(tokens.len() * HIDDEN, 0.0);
        for text in texts {
            let rows = scratch.hidden.as_chunks_mut::<HIDDEN>().0[text.clone()].iter_mut();
            for (place, (row, &token)) in rows.zip(&tokens[text.clone()]).enumerate() {
                model.look_up(token, place, row);
            }
        }
        settle(&mut scratch.hidden, model.norm());
        for layer in model.layers() {
            pass_layer(kernel, scratch, texts, layer);
        }
        for text in texts {
            vectors.push(pool(&scratch.hidden[text.start * HIDDEN..text.end * HIDDEN]));
        }
    }
}

#[inline(always)]
fn pass_layer<K: Kernel>(kernel: K, scratch: &mut Scratch, texts: &[Range<usize>], layer: Layer<'_>) {
    let Scratch { hidden, wide, mixed, rows, desk } = scratch;
    let count = hidden.len() / HIDDEN;
    rows.quantize(hidden, HIDDEN);
    wide.resize(count * INTERMEDIATE, 0.0);
    mixed.resize(count * HIDDEN, 0.0);

    multiply(kernel, rows, layer.triple, &mut wide[..count * TRIPLE]);
    for text in texts {
        let triples = &wide[text.start * TRIPLE..text.end * TRIPLE];
        attention::attend(desk, triples, &mut mixed[text.start * HIDDEN..text.end * HIDDEN]);
    }
    rows.quantize(mixed, HIDDEN);
    join(kernel, rows, layer.output, mixed, hidden);
    settle(hidden, layer.output_norm);

    rows.quantize(hidden, HIDDEN);
    multiply(kernel, rows, layer.up, wide);
    for value in wide.iter_mut() {
        *value = math::gelu(*value);
    }
    rows.quantize(wide, INTERMEDIATE);
    join(kernel, rows, layer.down, mixed, hidden);
    settle(hidden, layer.down_norm);
}

/// Adds what `matrix` makes of the rows to the tokens' vectors.
#[inline(always)]
fn join<K: Kernel>(kernel: K, rows: &Rows, matrix: Matrix<'_>, room: &mut [f32], hidden: &mut [f32]) {
    multiply(kernel, rows, matrix, room);
    for (value, more) in hidden.iter_mut().zip(room) {
        *value += *more;
    }
}

#[inline(always)]
fn settle(hidden: &mut [f32], norm: Norm<'_>) {
    for row in hidden.as_chunks_mut::<HIDDEN>().0 {
        math::normalize(row, norm.weights, norm.biases);
    }
}

/// A text's vector: the mean of its tokens', brought to length 1. The length makes dividing by their number needless.
#[inline(always)]
fn pool(rows: &[f32]) -> Vec<f32> {
    let mut vector = vec![0.0; HIDDEN];
    for row in rows.as_chunks::<HIDDEN>().0 {
        for (sum, value) in vector.iter_mut().zip(row) {
            *sum += value;
        }
    }
    let length = math::sum_of(&vector, |value| value * value).sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    for value in &mut vector {
        *value *= scale;
    }
    vector
}
