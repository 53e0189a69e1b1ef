//! The model file as it is used: small parts copied, the matrices where they lie.

use crate::ModelError;
use crate::attention::TRIPLE;
use crate::layout::{
    BLOCK, DEPTH, HIDDEN, INTERMEDIATE, LAYERS, MAGIC, PLACES, SIZES, TOKENS, VERSION, WIDTH, aligned,
};
use crate::matrix::Matrix;
use crate::vocabulary::{Table, Vocabulary};
use std::borrow::Cow;
use std::ops::Range;

/// Longer than any vocabulary of this many tokens, and short enough that no sum of lengths overflows.
const MAX_TEXT: usize = 1 << 24;

pub(crate) struct ModelFile {
    bytes: Cow<'static, [u8]>,
    pub(crate) vocabulary: Vocabulary,
    tokens: StoredRows,
    places: StoredRows,
    norm: StoredNorm,
    layers: Vec<StoredLayer>,
}

/// Vectors of [`HIDDEN`] int8 with a scale for every [`DEPTH`] of them.
struct StoredRows {
    scales: Vec<f32>,
    rows: Range<usize>,
}

struct StoredNorm {
    weights: Vec<f32>,
    biases: Vec<f32>,
}

struct StoredMatrix {
    inputs: usize,
    biases: Vec<f32>,
    scales: Vec<f32>,
    weights: Range<usize>,
}

struct StoredLayer {
    triple: StoredMatrix,
    output: StoredMatrix,
    output_norm: StoredNorm,
    up: StoredMatrix,
    down: StoredMatrix,
    down_norm: StoredNorm,
}

#[derive(Clone, Copy)]
pub(crate) struct Norm<'a> {
    pub(crate) weights: &'a [f32],
    pub(crate) biases: &'a [f32],
}

/// One layer, in the order in which it is used.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub(crate) triple: Matrix<'a>,
    pub(crate) output: Matrix<'a>,
    pub(crate) output_norm: Norm<'a>,
    pub(crate) up: Matrix<'a>,
    pub(crate) down: Matrix<'a>,
    pub(crate) down_norm: Norm<'a>,
}

impl ModelFile {
    pub(crate) fn read(bytes: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        let [words, continuations] = read_header(&bytes)?;
        let (found, expected) = (bytes.len(), expected_length([words, continuations]));
        if found != expected {
            return Err(ModelError::WrongLength { found, expected });
        }
        let mut reader = Reader { bytes: &bytes, at: HEADER };
        let vocabulary = Vocabulary::new(reader.table(words)?, reader.table(continuations)?)?;
        let tokens = reader.rows(TOKENS);
        let places = reader.rows(PLACES);
        let norm = reader.norm();
        let layers = (0..LAYERS).map(|_| reader.layer()).collect();
        Ok(Self { bytes, vocabulary, tokens, places, norm, layers })
    }

    /// Writes what the model knows of a token at a place, before the first layer.
    pub(crate) fn look_up(&self, token: u16, place: usize, row: &mut [f32; HIDDEN]) {
        row.fill(0.0);
        self.add_row(&self.tokens, usize::from(token), row);
        self.add_row(&self.places, place, row);
    }

    fn add_row(&self, stored: &StoredRows, at: usize, row: &mut [f32; HIDDEN]) {
        let parts = self.bytes[stored.rows.clone()][at * HIDDEN..].as_chunks::<DEPTH>().0;
        let scales = &stored.scales[at * HIDDEN / DEPTH..];
        for ((values, part), scale) in row.as_chunks_mut::<DEPTH>().0.iter_mut().zip(parts).zip(scales) {
            for (value, number) in values.iter_mut().zip(part) {
                *value += f32::from(number.cast_signed()) * scale;
            }
        }
    }

    pub(crate) fn norm(&self) -> Norm<'_> {
        self.norm.borrow()
    }

    pub(crate) fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        self.layers.iter().map(|layer| Layer {
            triple: self.matrix(&layer.triple),
            output: self.matrix(&layer.output),
            output_norm: layer.output_norm.borrow(),
            up: self.matrix(&layer.up),
            down: self.matrix(&layer.down),
            down_norm: layer.down_norm.borrow(),
        })
    }

    fn matrix<'a>(&'a self, stored: &'a StoredMatrix) -> Matrix<'a> {
        let StoredMatrix { inputs, biases, scales, weights } = stored;
        Matrix { inputs: *inputs, biases, scales, weights: &self.bytes[weights.clone()] }
    }
}

impl StoredNorm {
    fn borrow(&self) -> Norm<'_> {
        Norm { weights: &self.weights, biases: &self.biases }
    }
}

/// How many entries a table of words has, and how long its text is.
#[derive(Clone, Copy)]
struct TableSize {
    count: usize,
    text: usize,
}

/// Magic, version, sizes, and the sizes of the two tables of words.
const HEADER: usize = aligned(MAGIC.len() + 4 * (1 + SIZES.len() + 4));

/// What the header says, if it is that of the one model that this code is for.
fn read_header(bytes: &[u8]) -> Result<[TableSize; 2], ModelError> {
    let Some(header) = bytes.get(..HEADER).filter(|header| header.starts_with(&MAGIC)) else {
        return Err(ModelError::NotAModel);
    };
    let mut numbers = header[MAGIC.len()..].as_chunks().0.iter().map(|&number| u32::from_le_bytes(number));
    let mut next = || numbers.next().unwrap_or_default();
    let version = next();
    if version != VERSION {
        return Err(ModelError::OtherVersion { found: version });
    }
    for (what, expected) in SIZES {
        let (found, expected) = (next(), u32::try_from(expected).unwrap_or(u32::MAX));
        if found != expected {
            return Err(ModelError::OtherSizes { what, found, expected });
        }
    }
    let mut table = || {
        let [count, text] = [next(), next()].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        if count <= TOKENS && text <= MAX_TEXT {
            Ok(TableSize { count, text })
        } else {
            Err(ModelError::Vocabulary)
        }
    };
    Ok([table()?, table()?])
}

/// How long a file is whose tables of words have these sizes.
fn expected_length(tables: [TableSize; 2]) -> usize {
    let matrix = |inputs: usize, outputs: usize| {
        [outputs * 4, inputs / DEPTH * outputs * 4, inputs * outputs].map(aligned).iter().sum::<usize>()
    };
    let rows = |count: usize| aligned(count * HIDDEN / DEPTH * 4) + aligned(count * HIDDEN);
    let norm = 2 * aligned(HIDDEN * 4);
    let table = |table: TableSize| aligned(table.count * 4) + aligned(table.count * 2) + aligned(table.text);
    let layer = matrix(HIDDEN, TRIPLE)
        + matrix(HIDDEN, HIDDEN)
        + norm
        + matrix(HIDDEN, INTERMEDIATE)
        + matrix(INTERMEDIATE, HIDDEN)
        + norm;
    HEADER + tables.map(table).iter().sum::<usize>() + rows(TOKENS) + rows(PLACES) + norm + LAYERS * layer
}

/// Goes through the parts of a file whose length is known to be right.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn part(&mut self, length: usize) -> Range<usize> {
        let part = self.at..self.at + length;
        self.at = aligned(part.end);
        part
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        let part = self.part(count * 4);
        self.bytes[part].as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect()
    }

    fn table(&mut self, size: TableSize) -> Result<Table, ModelError> {
        let [ends, ids, text] = [size.count * 4, size.count * 2, size.text].map(|length| self.part(length));
        let ends = self.bytes[ends].as_chunks().0.iter().map(|&number| u32::from_le_bytes(number)).collect();
        let ids = self.bytes[ids].as_chunks().0.iter().map(|&number| u16::from_le_bytes(number)).collect();
        Table::new(ends, ids, self.bytes[text].into())
    }

    fn rows(&mut self, count: usize) -> StoredRows {
        StoredRows { scales: self.floats(count * HIDDEN / DEPTH), rows: self.part(count * HIDDEN) }
    }

    fn norm(&mut self) -> StoredNorm {
        StoredNorm { weights: self.floats(HIDDEN), biases: self.floats(HIDDEN) }
    }

    fn matrix(&mut self, inputs: usize, outputs: usize) -> StoredMatrix {
        const { assert!(HIDDEN.is_multiple_of(DEPTH) && HIDDEN.is_multiple_of(WIDTH)) };
        let biases = self.floats(outputs);
        let scales = self.floats(inputs * outputs / BLOCK * WIDTH);
        StoredMatrix { inputs, biases, scales, weights: self.part(inputs * outputs) }
    }

    fn layer(&mut self) -> StoredLayer {
        StoredLayer {
            triple: self.matrix(HIDDEN, TRIPLE),
            output: self.matrix(HIDDEN, HIDDEN),
            output_norm: self.norm(),
            up: self.matrix(HIDDEN, INTERMEDIATE),
            down: self.matrix(INTERMEDIATE, HIDDEN),
            down_norm: self.norm(),
        }
    }
}
