//! Rounds the weights to int8 and writes them in the order and the blocks of `portolan_embed::layout`.

use super::tensors::Tensors;
use anyhow::{Context, Result, bail};
use portolan_embed::layout::{
    BLOCK, DEPTH, HIDDEN, INTERMEDIATE, LAYERS, MAGIC, PLACES, SIZES, TOKENS, VERSION, WIDTH, aligned, place,
};

/// What a piece begins with that goes on with a word.
const CONTINUATION: &str = "##";

/// Everything, as it is to lie on the disk.
pub(super) fn file(tensors: &Tensors<'_>, vocabulary: &str) -> Result<Vec<u8>> {
    let (words, continuations) = tables(vocabulary)?;
    let mut file = File(MAGIC.to_vec());
    let tables = [words.ends.len(), words.text.len(), continuations.ends.len(), continuations.text.len()];
    for number in [VERSION as usize].into_iter().chain(SIZES.map(|(_, size)| size)).chain(tables) {
        file.0.extend(u32::try_from(number)?.to_le_bytes());
    }
    file.align();
    file.table(&words);
    file.table(&continuations);
    embeddings(&mut file, tensors)?;
    for layer in 0..LAYERS {
        write_layer(&mut file, tensors, &format!("encoder.layer.{layer}"))?;
    }
    Ok(file.0)
}

/// There is only ever one segment, so its vector is added to that of every place: one rounding less.
fn embeddings(file: &mut File, tensors: &Tensors<'_>) -> Result<()> {
    file.rows(&tensors.get("embeddings.word_embeddings.weight", &[TOKENS, HIDDEN])?);
    let mut places = tensors.get("embeddings.position_embeddings.weight", &[2 * PLACES, HIDDEN])?;
    let segments = tensors.get("embeddings.token_type_embeddings.weight", &[2, HIDDEN])?;
    places.truncate(PLACES * HIDDEN);
    for place in places.chunks_exact_mut(HIDDEN) {
        for (value, segment) in place.iter_mut().zip(&segments) {
            *value += segment;
        }
    }
    file.rows(&places);
    write_norm(file, tensors, "embeddings.LayerNorm")
}

fn write_layer(file: &mut File, tensors: &Tensors<'_>, layer: &str) -> Result<()> {
    let attention = format!("{layer}.attention");
    let [mut weights, mut biases] = [Vec::new(), Vec::new()];
    for part in ["query", "key", "value"] {
        weights.extend(tensors.get(&format!("{attention}.self.{part}.weight"), &[HIDDEN, HIDDEN])?);
        biases.extend(tensors.get(&format!("{attention}.self.{part}.bias"), &[HIDDEN])?);
    }
    file.matrix(&weights, &biases);
    write_matrix(file, tensors, &format!("{attention}.output.dense"), [HIDDEN, HIDDEN])?;
    write_norm(file, tensors, &format!("{attention}.output.LayerNorm"))?;
    write_matrix(file, tensors, &format!("{layer}.intermediate.dense"), [INTERMEDIATE, HIDDEN])?;
    write_matrix(file, tensors, &format!("{layer}.output.dense"), [HIDDEN, INTERMEDIATE])?;
    write_norm(file, tensors, &format!("{layer}.output.LayerNorm"))
}

fn write_matrix(file: &mut File, tensors: &Tensors<'_>, name: &str, shape: [usize; 2]) -> Result<()> {
    let weights = tensors.get(&format!("{name}.weight"), &shape)?;
    file.matrix(&weights, &tensors.get(&format!("{name}.bias"), &shape[..1])?);
    Ok(())
}

fn write_norm(file: &mut File, tensors: &Tensors<'_>, name: &str) -> Result<()> {
    for part in ["weight", "bias"] {
        file.floats(&tensors.get(&format!("{name}.{part}"), &[HIDDEN])?);
    }
    Ok(())
}

/// Words in the order of their bytes.
#[derive(Default)]
struct Table {
    ends: Vec<u32>,
    ids: Vec<u16>,
    text: Vec<u8>,
}

impl Table {
    fn new(mut words: Vec<(&str, u16)>) -> Result<Self> {
        words.sort_unstable();
        let mut table = Self::default();
        for (word, id) in words {
            table.text.extend(word.bytes());
            table.ends.push(u32::try_from(table.text.len())?);
            table.ids.push(id);
        }
        Ok(table)
    }
}

/// The pieces that begin a word and those that go on with one. The line that a piece is on is its token.
fn tables(vocabulary: &str) -> Result<(Table, Table)> {
    let [mut words, mut continuations] = [Vec::new(), Vec::new()];
    for (id, word) in vocabulary.lines().enumerate() {
        let id = u16::try_from(id).context("the vocabulary is too long")?;
        match word.strip_prefix(CONTINUATION).filter(|rest| !rest.is_empty()) {
            Some(rest) => continuations.push((rest, id)),
            None => words.push((word, id)),
        }
    }
    if words.len() + continuations.len() != TOKENS {
        bail!("the vocabulary has {} words, not {TOKENS}", words.len() + continuations.len());
    }
    Ok((Table::new(words)?, Table::new(continuations)?))
}

/// The file so far; each part ends at the next aligned place.
struct File(Vec<u8>);

impl File {
    fn align(&mut self) {
        self.0.resize(aligned(self.0.len()), 0);
    }

    fn floats(&mut self, numbers: &[f32]) {
        self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        self.align();
    }

    fn table(&mut self, table: &Table) {
        self.0.extend(table.ends.iter().flat_map(|end| end.to_le_bytes()));
        self.align();
        self.0.extend(table.ids.iter().flat_map(|id| id.to_le_bytes()));
        self.align();
        self.0.extend(&table.text);
        self.align();
    }

    /// Rows of [`HIDDEN`], with a scale for every [`DEPTH`] numbers.
    fn rows(&mut self, rows: &[f32]) {
        let (scales, weights): (Vec<f32>, Vec<Vec<u8>>) = rows.chunks_exact(DEPTH).map(round).unzip();
        self.floats(&scales);
        self.0.extend(weights.concat());
        self.align();
    }

    /// A matrix of one row for each bias, in blocks.
    fn matrix(&mut self, weights: &[f32], biases: &[f32]) {
        let inputs = weights.len() / biases.len();
        self.floats(biases);
        let (mut scales, mut blocks) = (Vec::new(), Vec::with_capacity(weights.len()));
        for panel in weights.chunks_exact(WIDTH * inputs) {
            for start in (0..inputs).step_by(DEPTH) {
                let mut block = [0; BLOCK];
                for (output, row) in panel.chunks_exact(inputs).enumerate() {
                    let (scale, rounded) = round(&row[start..start + DEPTH]);
                    scales.push(scale);
                    for (input, weight) in rounded.into_iter().enumerate() {
                        block[place(output, input)] = weight;
                    }
                }
                blocks.extend(block);
            }
        }
        self.floats(&scales);
        self.0.extend(blocks);
        self.align();
    }
}

/// The numbers as int8, and what one of these stands for.
fn round(numbers: &[f32]) -> (f32, Vec<u8>) {
    let largest = numbers.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let scale = largest / f32::from(i8::MAX);
    let per_unit = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "the largest becomes 127")]
    let rounded = numbers.iter().map(|number| ((number * per_unit).round() as i8).cast_unsigned()).collect();
    (scale, rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest_of_255_steps() {
        let (scale, rounded) = round(&[0.0, 1.27, -1.27, 0.014, -0.016]);
        assert_eq!(rounded.into_iter().map(u8::cast_signed).collect::<Vec<_>>(), [0, 127, -127, 1, -2]);
        assert!((scale - 0.01).abs() < 1e-8);
        assert_eq!(round(&[0.0; 4]), (0.0, vec![0; 4]));
    }

    #[test]
    fn a_matrix_lies_in_blocks_with_a_scale_for_each_output() {
        let mut weights = vec![0.0; WIDTH * 2 * DEPTH];
        let (output, input) = (3, DEPTH + 5);
        weights[output * 2 * DEPTH + input] = -254.0;
        let mut file = File(Vec::new());
        file.matrix(&weights, &[0.5; WIDTH]);
        let (biases, rest) = file.0.split_at(WIDTH * 4);
        let (scales, blocks) = rest.split_at(2 * WIDTH * 4);
        assert_eq!(biases.as_chunks().0, [0.5_f32.to_le_bytes(); WIDTH]);
        assert_eq!(scales.as_chunks().0[WIDTH + output], 2.0_f32.to_le_bytes());
        let set: Vec<(usize, u8)> =
            (0..).zip(blocks.iter().copied()).filter(|&(_, weight)| weight != 0).collect();
        assert_eq!(set, [(BLOCK + 2 * 2 * WIDTH + output * 2 + 1, 129)]);
    }

    #[test]
    fn a_vocabulary_of_another_length_is_refused() {
        let error = tables("[UNK]\n##s\n").map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "the vocabulary has 2 words, not 30522");
    }

    #[test]
    fn pieces_are_sorted_and_keep_their_lines() {
        let mut vocabulary = "##zz\nzebra\n##\nant\n##as\n".to_owned();
        vocabulary.extend((5..TOKENS).map(|at| format!("x{at}\n")));
        let (words, continuations) = tables(&vocabulary).unwrap();
        assert_eq!(
            (continuations.text, continuations.ends, continuations.ids),
            (b"aszz".to_vec(), vec![2, 4], vec![4, 0])
        );
        assert_eq!((words.ids[..2].to_vec(), words.ids.last()), (vec![2, 3], Some(&1)));
    }
}
