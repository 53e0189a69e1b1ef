//! Texts in passes: as many at once as keep the machine busy and the memory small.

use crate::file::ModelFile;
use crate::forward::{Pass, Scratch};
use crate::kernel::Machine;
use crate::wordpiece;

/// How many tokens one pass takes, unless a single text has more. The weights are read once a pass, and what a pass
/// keeps for each token (12 KB) should stay in a cache.
const PASS_TOKENS: usize = 192;

pub(crate) fn embed(model: &ModelFile, machine: Machine, texts: &[&str]) -> Vec<Vec<f32>> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut scratch = Scratch::default();
    let mut tokens: Vec<u16> = Vec::new();
    let mut ranges = Vec::new();
    let mut texts = texts.iter().map(|text| wordpiece::tokens(&model.vocabulary, text)).peekable();
    while let Some(text) = texts.next() {
        let start = tokens.len();
        tokens.extend(text);
        ranges.push(start..tokens.len());
        let fits = |next: &Vec<u16>| tokens.len() + next.len() <= PASS_TOKENS;
        if !texts.peek().is_some_and(fits) {
            let scratch = &mut scratch;
            machine.run(Pass { model, tokens: &tokens, texts: &ranges, scratch, vectors: &mut vectors });
            tokens.clear();
            ranges.clear();
        }
    }
    vectors
}
