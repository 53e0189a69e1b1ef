//! The index follows the catalog; what texts mean follows the index.

use crate::board::{Board, Listed, Text};
use crate::embedder::{Embedder, Haste, cores};
use crate::finder::Finder;
use crate::packed::Packed;
use futures_util::{StreamExt as _, stream};
use portolan_catalog::View;
use portolan_model::{Kind, ServerName};
use portolan_store::VectorRecord;
use portolan_wire::Abilities;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How many texts are embedded at a time.
pub(crate) const BATCH: usize = 32;
/// After how many it is looked whether they are still wanted.
const ROUND: usize = 16 * BATCH;
/// Texts that are embedded are told of at most this often: the index of their servers is made anew each time.
const BETWEEN: Duration = Duration::from_secs(1);
/// How many are asked of the store at a time.
pub(crate) const CACHED: usize = 2_000;
/// How soon a model that does not answer is asked again; and at most.
const RETRY: Duration = Duration::from_secs(5);
const RETRY_MOST: Duration = Duration::from_mins(1);

/// When the work begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    AtOnce,
    /// At the first search.
    WhenNeeded,
}

impl Finder {
    /// Keeps the index true for as long as it is polled.
    pub async fn follow(self: Arc<Self>, start: Start) {
        if start == Start::WhenNeeded {
            self.needed.notified().await;
        }
        let mut generations = self.parts.catalog.generations();
        let mut pause = RETRY;
        loop {
            generations.mark_unchanged();
            self.refresh().await;
            let is_complete = self.embed_what_is_new().await;
            let wait = pause;
            pause = if is_complete { RETRY } else { (pause * 2).min(RETRY_MOST) };
            let again = async {
                if is_complete {
                    std::future::pending::<()>().await;
                } else {
                    tokio::time::sleep(wait).await;
                }
            };
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return },
                () = again => {}
            }
        }
    }

    /// Brings the words of the index to what the catalog has now.
    pub(crate) async fn refresh(&self) {
        let (changed, gone) = self.differences();
        if changed.is_empty() && gone.is_empty() {
            return;
        }
        let _one = self.writing.lock().await;
        let (changed, gone) = self.differences();
        let (board, snapshot) = (self.board.load_full(), self.parts.catalog.snapshot().clone());
        // Ten thousand tools take a while, and calls are not to wait for them.
        let built = tokio::task::spawn_blocking(move || {
            let mut board = (*board).clone();
            for server in &gone {
                board.remove(server);
            }
            for (server, about) in &changed {
                let entry = snapshot.servers().get(server);
                let Some(offer) = entry.and_then(|entry| entry.offer()) else { continue };
                let stamp = stamp(&snapshot, server);
                board.file(&Listed { server, stamp, about, tools: &offer.tools });
            }
            board
        });
        if let Ok(board) = built.await {
            self.hang(board);
        }
    }

    /// The servers that are not in the index as they are in the catalog, with what they are about; and those that have gone.
    fn differences(&self) -> (Vec<(ServerName, String)>, Vec<ServerName>) {
        let (board, snapshot) = (self.board.load(), self.parts.catalog.snapshot());
        let mut changed = Vec::new();
        let offering = snapshot.servers().iter().filter_map(|(server, entry)| Some((server, entry.offer()?)));
        for (server, offer) in offering {
            let told = (self.parts.about)(server);
            let about = told.or_else(|| offer.manner.instructions.as_deref().map(str::to_owned));
            let about = about.unwrap_or_default();
            let listed =
                Listed { server, stamp: stamp(&snapshot, server), about: &about, tools: &offer.tools };
            if !board.servers.get(server).is_some_and(|filed| filed.is(&listed)) {
                changed.push((server.clone(), about));
            }
        }
        let is_there =
            |server: &ServerName| snapshot.servers().get(server).is_some_and(|e| e.offer().is_some());
        let gone = board.servers.keys().filter(|server| !is_there(server)).cloned().collect();
        (changed, gone)
    }

    /// Finds out what the texts mean that are new; `false` if it has to be tried again.
    async fn embed_what_is_new(&self) -> bool {
        let Some(embedder) = self.parts.embedder.clone() else { return true };
        let model = embedder.id();
        if !self.hand_over(&embedder).await {
            return false;
        }
        if self.board.load().before.is_some() {
            // The old model serves on, and the next server that comes is the next occasion.
            return true;
        }
        self.recall(&model).await;
        loop {
            let missing = self.missing(ROUND);
            if missing.is_empty() {
                self.set_trouble(None);
                if !self.board.load().servers.is_empty() {
                    self.note_model(&model).await;
                }
                return true;
            }
            let trouble = self.learn(&model, &*embedder, &missing).await.err();
            if let Some(why) = trouble {
                tracing::warn!(%why, "tools cannot be embedded right now; search goes by words");
                self.set_trouble(Some(why));
                return false;
            }
            // The catalog may have changed meanwhile, and what has gone need not be embedded.
            self.refresh().await;
        }
    }

    /// Has these texts embedded, and tells of them a part at a time.
    async fn learn(&self, model: &str, embedder: &dyn Embedder, texts: &[Text]) -> Result<(), String> {
        let haste = Haste::behind(texts.len());
        let batches: Vec<_> = texts.chunks(BATCH).map(|batch| embedded(embedder, batch, haste)).collect();
        let mut batches = stream::iter(batches).buffer_unordered(cores());
        let (mut found, mut told) = (BTreeMap::new(), Instant::now());
        let mut outcome = Ok(());
        while let Some(embedded) = batches.next().await {
            match embedded {
                Ok(vectors) => found.extend(vectors),
                Err(why) => {
                    // The others would wait for the same model in vain.
                    outcome = Err(why);
                    break;
                }
            }
            if told.elapsed() >= BETWEEN {
                self.keep(model, &found).await;
                self.apply(std::mem::take(&mut found)).await;
                told = Instant::now();
            }
        }
        self.keep(model, &found).await;
        self.apply(found).await;
        outcome
    }

    fn missing(&self, most: usize) -> Vec<Text> {
        let board = self.board.load();
        let mut seen = BTreeSet::new();
        let all = board.servers.values().flat_map(|filed| filed.missing());
        all.filter(|text| seen.insert(text.hash.clone())).take(most).cloned().collect()
    }

    /// Takes from the store what it has.
    pub(crate) async fn recall(&self, model: &str) {
        let Some(store) = &self.parts.store else { return };
        let hashes: Vec<String> = self.missing(usize::MAX).into_iter().map(|text| text.hash).collect();
        for some in hashes.chunks(CACHED) {
            match store.vectors(model, some).await {
                Ok(records) => {
                    self.apply(records.into_iter().filter_map(read).collect()).await;
                }
                Err(error) => {
                    tracing::debug!(%error, "kept vectors cannot be read; they are made anew");
                    return;
                }
            }
        }
    }

    pub(crate) async fn keep(&self, model: &str, found: &BTreeMap<String, Packed>) {
        let Some(store) = &self.parts.store else { return };
        let record = |(hash, packed): (&String, &Packed)| VectorRecord {
            text_hash: hash.clone(),
            vector: packed.as_bytes().to_vec(),
        };
        let records: Vec<VectorRecord> = found.iter().map(record).collect();
        if let Err(error) = store.put_vectors(model, &records).await {
            tracing::debug!(%error, "vectors cannot be kept; the next start makes them anew");
        }
    }

    async fn apply(&self, found: BTreeMap<String, Packed>) {
        if found.is_empty() {
            return;
        }
        let _one = self.writing.lock().await;
        let board = self.board.load_full();
        let learned = tokio::task::spawn_blocking(move || {
            let mut next: Board = (*board).clone();
            next.learn(&found);
            next
        });
        if let Ok(next) = learned.await {
            self.hang(next);
        }
    }

    /// Makes this the board, and says so.
    pub(crate) fn hang(&self, board: Board) {
        self.board.store(Arc::new(board));
        self.learned.send_modify(|count| *count += 1);
    }
}

/// A kept vector with the hash of its text; nothing for what is none.
pub(crate) fn read(record: VectorRecord) -> Option<(String, Packed)> {
    Some((record.text_hash, Packed::from_bytes(record.vector)?))
}

fn stamp(snapshot: &portolan_catalog::Snapshot, server: &ServerName) -> u64 {
    snapshot.stamp(&View::Server(server.clone()), Kind::Tools, &Abilities::default())
}

/// The vectors of some texts by their hashes, or why there are none.
pub(crate) async fn embedded(
    embedder: &dyn Embedder,
    texts: &[Text],
    haste: Haste,
) -> Result<BTreeMap<String, Packed>, String> {
    let passages = texts.iter().map(|text| text.passage.clone()).collect();
    let vectors = embedder.embed(passages, haste).await.map_err(|error| error.to_string())?;
    if vectors.len() != texts.len() {
        return Err(format!("{} vectors came for {} texts", vectors.len(), texts.len()));
    }
    let packed = texts.iter().zip(&vectors).map(|(text, vector)| {
        let packed = Packed::of(vector).ok_or("a vector has no direction, or numbers that are none")?;
        Ok((text.hash.clone(), packed))
    });
    packed.collect::<Result<_, &str>>().map_err(str::to_owned)
}
