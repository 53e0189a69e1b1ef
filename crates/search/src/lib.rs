//! Finds the right tools: by words (BM25) and by meaning (vectors), in one score, pure and synchronous.
//!
//! The caller embeds: [`passage`] and [`server_passage`] say what is embedded for a tool and for a server,
//! [`clauses`] what is embedded beside a query. Without vectors, words alone decide.

mod clauses;
mod doc;
mod fusion;
mod index;
mod meaning;
mod search;
mod shard;
mod stem;
mod typos;
mod words;

pub use clauses::clauses;
pub use doc::{Doc, DocKey, passage, server_passage};
pub use index::Index;
pub use search::{Hit, Query, QueryVectors};
pub use shard::{Shard, Vectors};
pub use words::{spaced, terms};
