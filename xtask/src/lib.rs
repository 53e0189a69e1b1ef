//! The rules of the house as a program: tidy, the test run, generated documents, the demo, the fuzz targets, the model file.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to people")]

pub mod demo;
pub mod docs;
pub mod fuzz;
pub mod model;
mod program;
pub mod quality;
pub mod test;
pub mod tidy;
pub mod tokens;

use std::path::Path;

/// The workspace's root folder, wherever `cargo xtask` was called.
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}
