//! Search over what is offered right now: the index follows the catalog, and meanings are found out in the background.

mod board;
mod describe;
mod embedder;
mod finder;
mod follow;
mod packed;

pub use embedder::{BuiltIn, EmbedError, Embedder, Endpoint, Haste};
pub use finder::{About, Finder, Found, FoundTool, Parts, Progress, Wish};
pub use follow::Start;
