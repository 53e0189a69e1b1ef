//! From one model to the next: the old one's vectors serve until the new one knows every tool.

use crate::board::{Board, Text};
use crate::embedder::{Embedder, Haste, cores};
use crate::finder::Finder;
use crate::follow::{BATCH, CACHED, embedded, read};
use crate::packed::Packed;
use futures_util::future::join_all;
use portolan_store::{Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which model's vectors the store has for all tools.
const KNOWN_BY: &str = "search.model";

/// The model that knew every tool when Portolan last ran.
pub async fn known_by(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let id = store.setting(KNOWN_BY).await?;
    Ok(id.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

impl Finder {
    /// Serves with what the old model knows, and has the new one learn it all. `false` if that has to be tried again.
    pub(crate) async fn hand_over(&self, new: &Arc<dyn Embedder>) -> bool {
        let Some(before) = self.board.load().before.clone() else { return true };
        self.recall(&before.id()).await;
        if self.is_filling() {
            return true;
        }
        let model = new.id();
        loop {
            let texts = self.board.load().texts();
            let mut found = self.kept(&model, &texts).await;
            let missing: Vec<Text> =
                texts.into_iter().filter(|text| !found.contains_key(&text.hash)).collect();
            let haste = Haste::behind(missing.len());
            for some in missing.chunks(BATCH * cores()) {
                for outcome in join_all(some.chunks(BATCH).map(|batch| embedded(&**new, batch, haste))).await
                {
                    match outcome {
                        Ok(vectors) => {
                            self.keep(&model, &vectors).await;
                            found.extend(vectors);
                        }
                        Err(why) => {
                            tracing::warn!(%why, "the new model does not answer; search goes by the old one");
                            self.set_trouble(Some(why));
                            return false;
                        }
                    }
                }
            }
            self.refresh().await;
            if self.take_over(&found).await {
                self.set_trouble(None);
                tracing::info!(model, "search goes by the new model from here");
                return true;
            }
        }
    }

    /// Whether servers are still to come: who knows every tool of those that are there need not know theirs.
    fn is_filling(&self) -> bool {
        self.board.load().servers.is_empty() || self.parts.catalog.snapshot().is_settling()
    }

    /// Puts the new vectors in the place of the old ones, if there is one for every text.
    async fn take_over(&self, found: &BTreeMap<String, Packed>) -> bool {
        let _one = self.writing.lock().await;
        let mut next: Board = (**self.board.load()).clone();
        if !next.texts().iter().all(|text| found.contains_key(&text.hash)) {
            return false;
        }
        next.relearn(found);
        self.hang(next);
        true
    }

    async fn kept(&self, model: &str, texts: &[Text]) -> BTreeMap<String, Packed> {
        let Some(store) = &self.parts.store else { return BTreeMap::new() };
        let mut kept = BTreeMap::new();
        for some in texts.chunks(CACHED) {
            let hashes: Vec<String> = some.iter().map(|text| text.hash.clone()).collect();
            // What cannot be read is made anew.
            let records = store.vectors(model, &hashes).await.unwrap_or_default();
            kept.extend(records.into_iter().filter_map(read));
        }
        kept
    }

    /// Writes down that this model knows every tool.
    pub(crate) async fn note_model(&self, model: &str) {
        let Some(store) = &self.parts.store else { return };
        if known_by(&**store).await.is_ok_and(|known| known.as_deref() != Some(model))
            && let Err(error) = store.put_setting(KNOWN_BY, model.as_bytes()).await
        {
            tracing::debug!(%error, "which model is in use cannot be kept");
        }
    }
}
