//! Who says what texts mean: the model inside the process, or an endpoint.

use crate::aside::{Manner, aside};
use async_trait::async_trait;
use portolan_embed::{MODEL_ID, Model, ModelError, model_hash};
use portolan_model::mask_url;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

/// As many texts as a desk of servers has.
const FEW: usize = 300;

/// Whether somebody waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    Query,
    /// Calls go before it, and yet it is done in seconds on a machine that has much else to do.
    Soon,
    /// Calls are not to notice it, however long it takes.
    Whenever,
}

impl Haste {
    /// For work behind which so many texts stand. A few are done before anybody notices; ten thousand would be felt.
    pub(crate) fn behind(texts: usize) -> Self {
        if texts <= FEW { Self::Soon } else { Self::Whenever }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbedError {
    #[error(transparent)]
    Model(Arc<ModelError>),
    #[error("the endpoint for embeddings: {0}")]
    Endpoint(String),
    #[error("embedding was given up")]
    GivenUp,
}

#[async_trait]
pub trait Embedder: Send + Sync {
    /// Names the model, so that vectors of two are never compared.
    fn id(&self) -> String;

    /// A vector for each text, in their order.
    async fn embed(&self, texts: Vec<String>, haste: Haste) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// The model that is part of the program. Nothing of it is touched before the first text.
pub struct BuiltIn {
    model: Arc<OnceLock<Result<Model, Arc<ModelError>>>>,
    /// A turn for each core: even a thread that gives way takes a little from calls, and ten take ten times that.
    soon: Arc<Semaphore>,
    /// Turns of their own: whoever is soon to be done does not wait behind those who may never be.
    whenever: Arc<Semaphore>,
}

impl Default for BuiltIn {
    fn default() -> Self {
        let [soon, whenever] = [(); 2].map(|()| Arc::new(Semaphore::new(cores())));
        Self { model: Arc::default(), soon, whenever }
    }
}

/// How many texts can be worked on at the same time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[async_trait]
impl Embedder for BuiltIn {
    fn id(&self) -> String {
        format!("{MODEL_ID}:{}", model_hash())
    }

    async fn embed(&self, texts: Vec<String>, haste: Haste) -> Result<Vec<Vec<f32>>, EmbedError> {
        let model = self.model.clone();
        let work = move || {
            let model = model.get_or_init(|| Model::built_in().map_err(Arc::new));
            let model = model.as_ref().map_err(|error| EmbedError::Model(error.clone()))?;
            Ok(model.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        let (turns, manner) = match haste {
            Haste::Query => {
                return tokio::task::spawn_blocking(work).await.unwrap_or(Err(EmbedError::GivenUp));
            }
            Haste::Soon => (&self.soon, Manner::Nice),
            Haste::Whenever => (&self.whenever, Manner::Idle),
        };
        let turn = turns.clone().acquire_owned().await.map_err(|_| EmbedError::GivenUp)?;
        // The thread works on where nobody waits for it any longer, and keeps its turn until then.
        let worked = aside(manner, move || {
            let outcome = work();
            drop(turn);
            outcome
        });
        worked.await.unwrap_or(Err(EmbedError::GivenUp))
    }
}

/// An OpenAI-compatible endpoint.
pub struct Endpoint {
    client: portolan_llm::Client,
    id: String,
    dimension: OnceLock<usize>,
}

impl Endpoint {
    /// The id is shown to people, and the address may hold a key.
    pub fn new(client: portolan_llm::Client, model: &str, url: &str) -> Self {
        Self { client, id: format!("{model}@{}", mask_url(url)), dimension: OnceLock::new() }
    }
}

#[async_trait]
impl Embedder for Endpoint {
    fn id(&self) -> String {
        self.id.clone()
    }

    async fn embed(&self, texts: Vec<String>, _: Haste) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = self
            .client
            .embeddings(&texts, self.dimension.get().copied())
            .await
            .map_err(|error| EmbedError::Endpoint(error.to_string()))?;
        if let Some(first) = vectors.first() {
            self.dimension.set(first.len()).unwrap_or_default();
        }
        Ok(vectors)
    }
}
