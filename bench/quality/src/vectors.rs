//! Vectors by the hash of their text, kept in a file: embedding thousands of tools is paid once.

use anyhow::{Context, Result, bail};
use portolan_embed::{DIMENSION, Model, model_hash};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

const HASH: usize = 32;
const RECORD: usize = HASH + DIMENSION * size_of::<f32>();
/// So many texts are embedded in one call.
const BATCH: usize = 64;

type Hash = [u8; HASH];

pub(crate) struct Vectors {
    path: PathBuf,
    known: HashMap<Hash, Vec<f32>>,
}

impl Vectors {
    /// What `path` has; nothing if it is not there yet.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = if path.exists() { fs::read(path)? } else { Vec::new() };
        if !bytes.len().is_multiple_of(RECORD) {
            bail!("{} was cut off: delete it, and it is made anew", path.display());
        }
        let mut known = HashMap::new();
        for record in bytes.chunks_exact(RECORD) {
            let (hash, numbers) = record.split_at(HASH);
            let vector = numbers.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            known.insert(hash.try_into()?, vector);
        }
        Ok(Self { path: path.to_owned(), known })
    }

    /// Embeds what is not known yet, on all cores, and keeps it. Tells how many texts that were.
    pub(crate) fn learn(&mut self, texts: &[String]) -> Result<usize> {
        let mut missing: BTreeMap<Hash, &str> = BTreeMap::new();
        for text in texts {
            let hash = hash(text);
            if !self.known.contains_key(&hash) {
                missing.insert(hash, text);
            }
        }
        let missing: Vec<(Hash, &str)> = missing.into_iter().collect();
        let model = Model::built_in()?;
        let cores = thread::available_parallelism()?.get();
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        for round in missing.chunks(BATCH * cores) {
            for (hash, vector) in embed(&model, round)? {
                let numbers = vector.iter().flat_map(|number| number.to_le_bytes());
                let record: Vec<u8> = hash.into_iter().chain(numbers).collect();
                file.write_all(&record)?;
                self.known.insert(hash, vector);
            }
        }
        Ok(missing.len())
    }

    pub(crate) fn of(&self, text: &str) -> Result<&[f32]> {
        self.known.get(&hash(text)).map(Vec::as_slice).context("a text was not embedded")
    }
}

/// One batch on each core.
fn embed(model: &Model, texts: &[(Hash, &str)]) -> Result<Vec<(Hash, Vec<f32>)>> {
    thread::scope(|scope| {
        let batch = |batch: &[(Hash, &str)]| {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            let hashes = batch.iter().map(|(hash, _)| *hash);
            hashes.zip(model.embed(&texts)).collect::<Vec<_>>()
        };
        let running: Vec<_> = texts.chunks(BATCH).map(|texts| scope.spawn(move || batch(texts))).collect();
        let mut embedded = Vec::with_capacity(texts.len());
        for thread in running {
            let Ok(batch) = thread.join() else { bail!("a batch of texts could not be embedded") };
            embedded.extend(batch);
        }
        Ok(embedded)
    })
}

/// Of the model and the text: another model's vectors are other vectors.
fn hash(text: &str) -> Hash {
    Sha256::new().chain_update(model_hash()).chain_update(text).finalize().into()
}
