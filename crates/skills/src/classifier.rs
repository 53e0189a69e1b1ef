//! Which skills tools have, by whichever model there is.

use crate::anchors::{Anchors, chosen};
use crate::judge;
use crate::passages::{Passages, description};
use crate::taxonomy::Background;
use crate::vectors::Vectors;
use portolan_llm::{ChatModel, LlmError};
use portolan_model::{SkillSource, fingerprint};
use portolan_search::spaced;
use portolan_store::{Assignment, ServerRecord, SkillRecord, ToolRecord};
use std::sync::Arc;
use tokio::sync::Mutex;

/// Tools whose vectors are looked at together.
const MANY: usize = 100;

/// What came out for a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// One to three, the primary one first.
    Skills(Vec<Assignment>),
    Nothing(Suggested),
}

/// A skill that would fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggested {
    pub name: String,
    pub description: String,
}

/// Why nothing came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Whoever decides is away or refuses everybody: the same may go well later.
    Away(String),
    /// It answered, and not about these tools in a way that can be used.
    Unusable(String),
}

impl Trouble {
    pub fn reason(&self) -> &str {
        match self {
            Self::Away(reason) | Self::Unusable(reason) => reason,
        }
    }
}

impl From<LlmError> for Trouble {
    fn from(error: LlmError) -> Self {
        let reason = error.to_string();
        match error {
            LlmError::Garbage { .. } | LlmError::TooLarge { .. } | LlmError::DimensionMismatch { .. } => {
                Self::Unusable(reason)
            }
            // A wrong key or a wrong name of the model is mended by people, and then it works for all tools at once.
            LlmError::Unauthorized { .. }
            | LlmError::RateLimited { .. }
            | LlmError::Unavailable { .. }
            | LlmError::TimedOut { .. }
            | LlmError::OverBudget(_)
            | LlmError::Rejected { .. }
            | LlmError::Misconfigured { .. } => Self::Away(reason),
        }
    }
}

/// The models, and what they read.
pub struct Classifier {
    vectors: Arc<dyn Vectors>,
    passages: Arc<dyn Passages>,
    background: Background,
    /// Goes before the vectors where there is one.
    model: Option<Arc<dyn ChatModel>>,
    /// The latest, with the hash of what they were made from. Batches that begin together wait for one to make them.
    anchors: Mutex<Option<(String, Arc<Anchors>)>>,
}

impl Classifier {
    pub fn new(
        vectors: Arc<dyn Vectors>,
        passages: Arc<dyn Passages>,
        background: Background,
        model: Option<Arc<dyn ChatModel>>,
    ) -> Self {
        Self { vectors, passages, background, model, anchors: Mutex::default() }
    }

    /// How many tools are looked at together: a model reads only so many well; of vectors, many cost hardly more than few.
    pub(crate) fn batch(&self) -> usize {
        if self.model.is_some() { judge::BATCH } else { MANY }
    }

    /// One finding for each tool, in their order.
    pub async fn classify(
        &self,
        skills: &[SkillRecord],
        server: &ServerRecord,
        tools: &[&ToolRecord],
    ) -> Result<Vec<Found>, Trouble> {
        match &self.model {
            Some(model) => self.by_model(&**model, skills, server, tools).await,
            None => self.by_meaning(skills, server, tools).await,
        }
    }

    async fn by_model(
        &self,
        model: &dyn ChatModel,
        skills: &[SkillRecord],
        server: &ServerRecord,
        tools: &[&ToolRecord],
    ) -> Result<Vec<Found>, Trouble> {
        let mut found = Vec::with_capacity(tools.len());
        for some in tools.chunks(judge::BATCH) {
            let opinions = judge::ask(model, skills, server, some).await?;
            for (tool, opinion) in some.iter().zip(opinions) {
                let assignments = chosen(opinion.fits, SkillSource::Llm);
                let suggested = opinion.missing.map(|(name, description)| Suggested { name, description });
                found.push(match (assignments.is_empty(), suggested) {
                    (false, _) => Found::Skills(assignments),
                    (true, Some(suggested)) => Found::Nothing(suggested),
                    (true, None) => Found::Nothing(suggestion(server, tool)),
                });
            }
        }
        Ok(found)
    }

    async fn by_meaning(
        &self,
        skills: &[SkillRecord],
        server: &ServerRecord,
        tools: &[&ToolRecord],
    ) -> Result<Vec<Found>, Trouble> {
        let away = || Trouble::Away("the embedding model does not answer".to_owned());
        let anchors = self.anchors(skills).await.ok_or_else(away)?;
        let mut texts: Vec<String> = tools.iter().map(|tool| self.passages.tool(tool)).collect();
        // A server that says nothing of itself is no evidence: its name alone would count as much as the tool.
        texts.extend(self.passages.server(server));
        let count = texts.len();
        let vectors = self.vectors.of(texts).await.filter(|made| made.len() == count).ok_or_else(away)?;
        let (of_tools, of_server) = vectors.split_at(tools.len());
        let of_server = of_server.first().map(Vec::as_slice);
        let found = tools.iter().zip(of_tools).map(|(tool, vector)| {
            let assignments = chosen(anchors.fits(vector, of_server), SkillSource::Embedding);
            if assignments.is_empty() {
                Found::Nothing(suggestion(server, tool))
            } else {
                Found::Skills(assignments)
            }
        });
        Ok(found.collect())
    }

    /// The anchors of these skills, made anew when a skill or the embedding model is another one.
    async fn anchors(&self, skills: &[SkillRecord]) -> Option<Arc<Anchors>> {
        let hash = made_from(skills, &self.vectors.model());
        let mut latest = self.anchors.lock().await;
        if let Some((of, anchors)) = &*latest
            && *of == hash
        {
            return Some(Arc::clone(anchors));
        }
        let anchors = Arc::new(Anchors::of(skills, &self.background, &*self.vectors).await?);
        *latest = Some((hash, Arc::clone(&anchors)));
        Some(anchors)
    }
}

/// What stands for a skill that nobody has named: the tools of one server wait together.
fn suggestion(server: &ServerRecord, tool: &ToolRecord) -> Suggested {
    let name = spaced(server.name.as_str());
    let mut letters = name.chars();
    let name = letters.next().map(|first| first.to_uppercase().chain(letters).collect());
    Suggested {
        name: name.unwrap_or_default(),
        description: format!(
            "No skill fits tools of the server {}, such as {}: {}",
            server.name,
            tool.name,
            description(tool)
        ),
    }
}

/// What anchors depend on.
fn made_from(skills: &[SkillRecord], model: &str) -> String {
    let mut parts: Vec<&[u8]> = vec![model.as_bytes()];
    for skill in skills {
        parts.extend([skill.id.as_str().as_bytes(), skill.name.as_bytes(), skill.description.as_bytes()]);
        parts.extend(skill.keywords.iter().chain(&skill.examples).map(String::as_bytes));
    }
    fingerprint(parts)
}
