//! Search over what is offered right now: the index follows the catalog, and meanings are found out in the background.

mod aside;
mod board;
mod describe;
mod embedder;
mod finder;
mod follow;
mod handover;
mod packed;
mod shelf;
mod skilled;
#[cfg(test)]
mod tests;

pub use embedder::{BuiltIn, EmbedError, Embedder, Endpoint, Haste};
pub use finder::{About, Finder, Found, FoundTool, Parts, Progress, Strategy, Wish};
pub use follow::Start;
pub use handover::known_by;
pub use shelf::MatchedSkill;
pub use skilled::SearchPassages;
