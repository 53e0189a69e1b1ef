//! Skills put together: whoever sorts tools reads what search reads, and search follows what comes of it.

use super::Gateway;
use crate::Failure;
use portolan_config::ProviderSetting;
use portolan_finder::SearchPassages;
use portolan_llm::ChatModel;
use portolan_model::Workspace;
use portolan_registry::Registry;
use portolan_skills::{Classifier, Sorter, Taxonomy};
use portolan_store::Store;
use std::sync::Arc;

/// Makes the sorter, which hears of what the registry stores; it works once it is told to.
pub(crate) async fn sorter(
    gateway: &Gateway,
    registry: &Registry,
    store: Arc<dyn Store>,
    llm: Option<Arc<dyn ChatModel>>,
) -> Result<Arc<Sorter>, Failure> {
    let taxonomy = Taxonomy::built_in().map_err(|error| Failure::Failed(error.into()))?;
    let finder = gateway.finder.clone();
    let passages = Arc::new(SearchPassages { finder: finder.clone() });
    let classifier = Classifier::new(finder, passages, taxonomy.background.clone(), llm);
    let sorter = Arc::new(Sorter::new(store, classifier, Workspace::default()));
    sorter.plant(&taxonomy).await.map_err(|error| Failure::Failed(error.into()))?;
    let told = Arc::downgrade(&sorter);
    registry.on_stored_tools(move |server| {
        if let Some(sorter) = told.upgrade() {
            sorter.discovered(server);
        }
    });
    Ok(sorter)
}

impl Gateway {
    /// Has tools sorted, and search follow what comes of it.
    pub(crate) fn sort(&self, sorter: &Arc<Sorter>) {
        self.filing.owns(self.finder.clone().follow_skills(sorter.changes()));
        // Without any model tools have the skills that people give them.
        if !self.finder.has_model() && self.settings.llm.provider == ProviderSetting::Off {
            sorter.has_nobody(
                "there is neither a model for embeddings nor a language model: see `search.embeddings` and `llm.provider`",
            );
            return;
        }
        let (sorting, stop) = (sorter.clone(), self.filing.stop.clone());
        sorter.resume();
        self.filing.owns(async move { sorting.run(stop).await });
    }
}
