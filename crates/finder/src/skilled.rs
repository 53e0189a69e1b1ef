//! Skills and search: what one finds out about texts serves the other.

use crate::describe::doc;
use crate::embedder::Haste;
use crate::finder::Finder;
use crate::follow::read;
use crate::packed::Packed;
use crate::shelf::{Shelf, Stock, about};
use async_trait::async_trait;
use portolan_model::{ServerId, ServerName, Tool, Workspace, fingerprint};
use portolan_search::{DocKey, passage, server_passage};
use portolan_skills::{Passages, Vectors};
use portolan_store::{AssignmentFinder, ServerRecord, SkillRecord, StoreError, ToolRecord};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How much longer the pause before a shelf is made anew is than the work itself: while ten thousand tools are sorted, it
/// would be all that is done.
const SHARE: u32 = 20;
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(10);

#[async_trait]
impl Vectors for Finder {
    fn model(&self) -> String {
        self.parts.embedder.as_ref().map(|embedder| embedder.id()).unwrap_or_default()
    }

    /// What the index is about to find out is waited for; then the store has it, and what it has not is embedded.
    async fn of(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let hashes: Vec<String> = texts.iter().map(|text| fingerprint([text.as_bytes()])).collect();
        self.learned(&hashes).await?;
        let mut known = self.known(&hashes).await;
        let missing = texts.iter().zip(&hashes).filter(|(_, hash)| !known.contains_key(*hash));
        let (texts, fresh): (Vec<String>, Vec<String>) =
            missing.map(|(text, hash)| (text.clone(), hash.clone())).unzip();
        if !texts.is_empty() {
            if self.trouble().is_some() {
                return None;
            }
            // Nothing comes of these before the index has embedded what it is at.
            let haste = Haste::behind(texts.len().max(self.board.load().waiting()));
            let made = self.parts.embedder.as_ref()?.embed(texts, haste).await.ok()?;
            let packed: Option<Vec<Packed>> = made.iter().map(|vector| Packed::of(vector)).collect();
            let found: BTreeMap<String, Packed> = fresh.into_iter().zip(packed?).collect();
            self.keep(&self.model(), &found).await;
            known.extend(found);
        }
        hashes.iter().map(|hash| known.get(hash).map(Packed::unpack)).collect()
    }
}

impl Finder {
    /// What the store knows of these texts.
    async fn known(&self, hashes: &[String]) -> HashMap<String, Packed> {
        let Some(store) = &self.parts.store else { return HashMap::new() };
        // What cannot be read is made anew.
        let records = store.vectors(&self.model(), hashes).await.unwrap_or_default();
        records.into_iter().filter_map(read).collect()
    }

    /// Waits until the index has nothing more to find out about these texts; not while it cannot.
    async fn learned(&self, hashes: &[String]) -> Option<()> {
        let hashes: HashSet<&str> = hashes.iter().map(String::as_str).collect();
        let mut learned = self.learned.subscribe();
        loop {
            learned.mark_unchanged();
            // What has just been listed is the index's to embed, also where it has not heard of it yet.
            self.refresh().await;
            if !self.board.load().is_any_missing(&hashes) {
                return Some(());
            }
            if self.trouble().is_some() {
                return None;
            }
            learned.changed().await.ok()?;
        }
    }

    /// Keeps the shelf true for as long as it is polled: skills change, and so does what is known of tools.
    pub async fn follow_skills(self: Arc<Self>, mut changes: watch::Receiver<u64>) {
        let Some(store) = self.parts.store.clone() else { return };
        let mut learned = self.learned.subscribe();
        loop {
            changes.mark_unchanged();
            learned.mark_unchanged();
            let begun = Instant::now();
            match self.stock(&*store).await {
                Ok(()) => {}
                Err(error) => tracing::debug!(%error, "skills cannot be read; search goes by those it knows"),
            }
            tokio::time::sleep((begun.elapsed() * SHARE).clamp(SHORTEST, LONGEST)).await;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                changed = learned.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn stock(&self, store: &dyn portolan_store::Store) -> Result<(), StoreError> {
        let workspace = Workspace::default();
        let skills = store.skills(&workspace).await?;
        let finder = AssignmentFinder { workspace: workspace.clone(), ..AssignmentFinder::default() };
        let assignments = store.assignments(&finder).await?;
        let servers = store.servers(&workspace).await?;
        let names: HashMap<ServerId, ServerName> =
            servers.into_iter().map(|server| (server.id, server.name)).collect();
        let own = self.own_vectors(&skills).await;
        let board = self.board.load_full();
        let built = tokio::task::spawn_blocking(move || {
            let own = own.as_deref();
            Shelf::new(&Stock { skills: &skills, assignments: &assignments, names: &names, own }, &board)
        });
        if let Ok(shelf) = built.await {
            self.shelf.store(Arc::new(shelf));
        }
        Ok(())
    }

    async fn own_vectors(&self, skills: &[SkillRecord]) -> Option<Vec<Vec<f32>>> {
        self.parts.embedder.as_ref()?;
        self.of(skills.iter().map(about).collect()).await
    }
}

/// What is embedded of stored tools: the very text that search embeds, so that it is done once.
pub struct SearchPassages {
    pub finder: Arc<Finder>,
}

impl Passages for SearchPassages {
    fn tool(&self, tool: &ToolRecord) -> String {
        let mut definition: Value = serde_json::from_str(&tool.definition).unwrap_or_default();
        if let (Some(curated), true) = (&tool.curation.description, definition.is_object()) {
            definition["description"] = json!(curated);
        }
        let Ok(definition) = to_raw_value(&definition) else { return tool.name.clone() };
        passage(&doc(DocKey(0), &Tool { name: tool.name.as_str().into(), definition }))
    }

    fn server(&self, server: &ServerRecord) -> Option<String> {
        let board = self.finder.board.load();
        let filed = board.servers.get(&server.name).map(|filed| filed.about().to_owned());
        let about = filed.or_else(|| server.description.clone()).filter(|about| !about.is_empty());
        about.map(|about| server_passage(server.name.as_str(), &about))
    }
}
