//! Skills: what tools can do, in a taxonomy that people can change, and how tools come to have them.
//!
//! A tool is classified after its server listed it, in the background and never in the way of a call: by a language model
//! where one is configured, else by the embedding model. What fails is found and called like any other tool, and is tried
//! again. A person's word holds against both.

mod anchors;
mod classifier;
mod error;
mod judge;
mod passages;
mod pause;
mod queue;
mod sorter;
mod taxonomy;
#[cfg(test)]
mod tests;
mod vectors;

pub use anchors::{Anchors, Fit, MOST_SKILLS, SURE};
pub use classifier::{Classifier, Found, Suggested, Trouble};
pub use error::SkillError;
pub use judge::BATCH;
pub use passages::{Passages, PlainPassages};
pub use portolan_store::{Overwrite, SkillRecord, SuggestionRecord};
pub use sorter::{SkillDraft, SkillPatch, Sorter, Standing};
pub use taxonomy::{Background, Taxonomy, TaxonomyError};
pub use vectors::{Vectors, weighted_mean};
