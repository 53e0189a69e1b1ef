//! Skills that seem to be missing, and what people make of them.

use super::drafts::SkillChange;
use crate::Shared;
use crate::body::{Json, Listed};
use crate::document::{Anything, Collides, Named, Reads, Takes, Writes};
use crate::path::{Path, SuggestionKey};
use crate::problem::Refusal;
use crate::query::{Nothing, Query, SuggestionList};
use axum::extract::State;
use portolan_model::Moment;
use portolan_skills::SuggestionRecord;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// A skill that seems to be missing.
#[derive(Serialize, ToSchema)]
pub(crate) struct SuggestionView {
    id: String,
    name: String,
    description: String,
    /// `PENDING`, `APPROVED`, `REJECTED` or `MERGED`.
    status: &'static str,
    /// The skill that it has become, or that its tools were given.
    skill_id: Option<String>,
    /// The tools that no skill fits.
    tools: Vec<SuggestedTool>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = Option<String>, format = DateTime)]
    settled_at: Option<Moment>,
}

/// A tool that no skill fits.
#[derive(Serialize, ToSchema)]
pub(crate) struct SuggestedTool {
    /// `server.tool`.
    name: String,
    original_name: String,
    #[schema(format = "uuid")]
    server_id: String,
    server_name: String,
}

/// The names of servers, by their ids.
struct ServerNames(HashMap<String, String>);

impl ServerNames {
    fn of(shared: &Shared) -> Self {
        let servers = shared.admin.registry.servers().into_iter();
        Self(servers.map(|server| (server.id, server.name)).collect())
    }

    fn show(&self, suggestion: SuggestionRecord) -> SuggestionView {
        let tools = suggestion.tools.into_iter().filter_map(|(server, tool)| {
            let server_id = server.to_string();
            let server_name = self.0.get(&server_id)?.clone();
            Some(SuggestedTool {
                name: format!("{server_name}.{tool}"),
                original_name: tool,
                server_id,
                server_name,
            })
        });
        SuggestionView {
            id: suggestion.id.to_string(),
            name: suggestion.name,
            description: suggestion.description,
            status: suggestion.state.as_str(),
            skill_id: suggestion.skill.map(Into::into),
            tools: tools.collect(),
            created_at: suggestion.created_at,
            settled_at: suggestion.settled_at,
        }
    }
}

/// List suggestions
///
/// Skills that seem to be missing, since none fits some tools; the latest first.
#[utoipa::path(
    get,
    path = "/skills/suggestions",
    tag = "skills",
    params(SuggestionList),
    responses(
        (status = 200, description = "The suggestions.", body = [SuggestionView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Reads,
    )
)]
pub(crate) async fn list_suggestions(
    State(shared): State<Arc<Shared>>,
    Query(list): Query<SuggestionList>,
) -> Result<Listed<SuggestionView>, Refusal> {
    let found = shared.admin.sorter.suggestions(list.status, list.page).await?;
    let names = ServerNames::of(&shared);
    let items = found.items.into_iter().map(|suggestion| names.show(suggestion)).collect();
    Ok(Listed { items, total: found.total })
}

/// Approve a suggestion
///
/// It becomes a skill, and its tools have it. What is to be called or described otherwise may be said along with it.
#[utoipa::path(
    post,
    path = "/skills/suggestions/{id}/approve",
    tag = "skills",
    params(SuggestionKey),
    request_body(content = SkillChange, description = "May be left out."),
    responses(
        (status = 200, description = "The suggestion as it is now.", body = SuggestionView),
        Anything, Named, Takes, Collides, Writes,
    )
)]
pub(crate) async fn approve_suggestion(
    State(shared): State<Arc<Shared>>,
    Path(SuggestionKey(key)): Path<SuggestionKey>,
    _: Query<Nothing>,
    change: Option<Json<SkillChange>>,
) -> Result<Json<SuggestionView>, Refusal> {
    let sorter = &shared.admin.sorter;
    let change = change.map(|Json(change)| change).unwrap_or_default();
    let draft = change.of(sorter.suggestion(&key).await?)?;
    let settled = sorter.approve(&key, draft).await?;
    Ok(Json(ServerNames::of(&shared).show(settled)))
}

/// Reject a suggestion
///
/// Its tools stay without a skill, and it is not made again.
#[utoipa::path(
    post,
    path = "/skills/suggestions/{id}/reject",
    tag = "skills",
    params(SuggestionKey),
    responses(
        (status = 200, description = "The suggestion as it is now.", body = SuggestionView),
        Anything, Named, Collides, Writes,
    )
)]
pub(crate) async fn reject_suggestion(
    State(shared): State<Arc<Shared>>,
    Path(SuggestionKey(key)): Path<SuggestionKey>,
    _: Query<Nothing>,
) -> Result<Json<SuggestionView>, Refusal> {
    let settled = shared.admin.sorter.reject(&key).await?;
    Ok(Json(ServerNames::of(&shared).show(settled)))
}

/// The skill that is there already.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merge {
    #[schema(example = "web_search")]
    skill_id: String,
}

/// Merge a suggestion into a skill
///
/// Its tools are given a skill that is there already.
#[utoipa::path(
    post,
    path = "/skills/suggestions/{id}/merge",
    tag = "skills",
    params(SuggestionKey),
    responses(
        (status = 200, description = "The suggestion as it is now.", body = SuggestionView),
        Anything, Named, Takes, Collides, Writes,
    )
)]
pub(crate) async fn merge_suggestion(
    State(shared): State<Arc<Shared>>,
    Path(SuggestionKey(key)): Path<SuggestionKey>,
    _: Query<Nothing>,
    Json(Merge { skill_id }): Json<Merge>,
) -> Result<Json<SuggestionView>, Refusal> {
    let settled = shared.admin.sorter.merge(&key, &skill_id).await?;
    Ok(Json(ServerNames::of(&shared).show(settled)))
}
