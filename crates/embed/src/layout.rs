//! The model file: what `cargo xtask model` writes and this crate reads, stated once.
//!
//! ```text
//! header     magic; then as u32 VERSION, SIZES, and for both tables of words their count and the length of their text
//! words      those that begin a word, sorted; then those that go on with one, without their `##`
//!            each: ends u32 × count, ids u16 × count, the text
//! embeddings of tokens, then of places (with that of the one segment added):
//!            scales f32, one for every DEPTH numbers; rows of HIDDEN int8
//! norm       weights f32 × HIDDEN, biases f32 × HIDDEN
//! 6 layers   query, key and value as one matrix; output; norm; up; down; norm
//! ```
//!
//! All numbers are little endian, and every part begins at a multiple of [`ALIGNMENT`]. A matrix is its biases, its
//! scales and its weights. The weights lie in [`BLOCK`]s of [`WIDTH`] outputs × [`DEPTH`] inputs, the blocks of the same
//! outputs one after the other. Within a block pairs of inputs follow each other, and in each the outputs, so that one
//! load brings two inputs for many outputs. A scale holds for one output within one block, since one large number
//! spoils only the 64 that share its scale: with whole rows the loss against f32 is more than twice as large.

/// What the file begins with.
pub const MAGIC: [u8; 8] = *b"PTLEMBED";

/// Changes with whatever follows.
pub const VERSION: u32 = 1;

/// The length of a token's vector, and of a text's.
pub const HIDDEN: usize = 384;
/// The length of a token's vector between the two halves of a layer.
pub const INTERMEDIATE: usize = 1536;
pub const LAYERS: usize = 6;
pub const HEADS: usize = 12;
/// How many tokens the vocabulary has.
pub const TOKENS: usize = 30_522;
/// The model was trained with at most so many tokens a text; its table of places is cut to that.
pub const PLACES: usize = 256;

/// Outputs in a block: as many sums as four wide registers hold.
pub const WIDTH: usize = 64;
/// Inputs in a block: as many as one scale serves.
pub const DEPTH: usize = 64;
pub const BLOCK: usize = WIDTH * DEPTH;

/// A cache line: no block takes one more than it must.
pub const ALIGNMENT: usize = 64;

/// What the header says after the version, so that another model is not taken for this one.
pub const SIZES: [(&str, usize); 8] = [
    ("the vector", HIDDEN),
    ("the inner vector", INTERMEDIATE),
    ("the number of layers", LAYERS),
    ("the number of heads", HEADS),
    ("the vocabulary", TOKENS),
    ("the number of places", PLACES),
    ("the width of a block", WIDTH),
    ("the depth of a block", DEPTH),
];

/// Where the part after one that ends at `at` begins.
pub const fn aligned(at: usize) -> usize {
    at.next_multiple_of(ALIGNMENT)
}

/// Where in a block the weight from `input` to `output` lies.
pub const fn place(output: usize, input: usize) -> usize {
    input / 2 * 2 * WIDTH + output * 2 + input % 2
}
