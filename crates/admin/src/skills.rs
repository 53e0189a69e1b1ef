//! Skills: what tools can do, listed, added, changed and removed.

pub(crate) mod assignments;
pub(crate) mod drafts;
pub(crate) mod suggestions;

use crate::Shared;
use crate::body::{Json, Listed};
use crate::document::{Anything, Collides, Named, Reads, Takes, Writes};
use crate::path::{Path, SkillKey};
use crate::problem::Refusal;
use crate::query::{Nothing, Query, Window};
use axum::extract::State;
use axum::response::IntoResponse;
use drafts::{SkillBody, SkillChange};
use http::StatusCode;
use http::header::LOCATION;
use portolan_model::{Moment, SkillId};
use portolan_registry::SkilledToolView;
use portolan_skills::SkillRecord;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Something that tools can do.
#[derive(Serialize, ToSchema)]
pub(crate) struct SkillView {
    id: String,
    name: String,
    description: String,
    keywords: Vec<String>,
    /// Sentences as servers write them of such tools.
    examples: Vec<String>,
    /// The larger field that it is part of.
    domain: String,
    /// Whether Portolan came with it.
    is_built_in: bool,
    /// How many of the tools that there are now have it.
    tool_count: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Moment,
}

impl SkillView {
    fn new(skill: SkillRecord, counts: &HashMap<SkillId, u64>) -> Self {
        Self {
            tool_count: counts.get(&skill.id).copied().unwrap_or_default(),
            id: skill.id.into(),
            name: skill.name,
            description: skill.description,
            keywords: skill.keywords,
            examples: skill.examples,
            domain: skill.domain,
            is_built_in: skill.is_built_in,
            created_at: skill.created_at,
            updated_at: skill.updated_at,
        }
    }
}

/// List skills
///
/// By id, those that no tool has included.
#[utoipa::path(
    get,
    path = "/skills",
    tag = "skills",
    params(Window),
    responses(
        (status = 200, description = "The skills.", body = [SkillView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Reads,
    )
)]
pub(crate) async fn list_skills(
    State(shared): State<Arc<Shared>>,
    Query(Window(page)): Query<Window>,
) -> Result<Listed<SkillView>, Refusal> {
    let sorter = &shared.admin.sorter;
    let (skills, counts) = (sorter.skills().await?, sorter.counts().await?);
    let total = skills.len() as u64;
    let shown = skills.into_iter().skip(page.offset as usize).take(page.limit as usize);
    Ok(Listed { items: shown.map(|skill| SkillView::new(skill, &counts)).collect(), total })
}

/// Add a skill
///
/// Tools that are classified from now on may get it; `/skills/classify` has those looked at again that are there already.
#[utoipa::path(
    post,
    path = "/skills",
    tag = "skills",
    responses(
        (status = 201, description = "The skill.", body = SkillView,
            headers(("Location" = String, description = "Where the skill is found from now on."))),
        Anything, Takes, Collides, Writes,
    )
)]
pub(crate) async fn add_skill(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(body): Json<SkillBody>,
) -> Result<impl IntoResponse, Refusal> {
    let skill = shared.admin.sorter.add_skill(body.draft()?).await?;
    let location = format!("/api/v1/skills/{}", skill.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(shown(&shared, skill).await?)))
}

/// Show a skill
#[utoipa::path(
    get,
    path = "/skills/{id}",
    tag = "skills",
    params(SkillKey),
    responses((status = 200, description = "The skill.", body = SkillView), Anything, Named, Reads)
)]
pub(crate) async fn get_skill(
    State(shared): State<Arc<Shared>>,
    Path(SkillKey(key)): Path<SkillKey>,
    _: Query<Nothing>,
) -> Result<Json<SkillView>, Refusal> {
    let skill = shared.admin.sorter.skill(&key).await?;
    Ok(Json(shown(&shared, skill).await?))
}

/// Change a skill
///
/// What is absent stays. Tools keep the skills they have until they are classified again.
#[utoipa::path(
    patch,
    path = "/skills/{id}",
    tag = "skills",
    params(SkillKey),
    responses(
        (status = 200, description = "The skill as it is now.", body = SkillView),
        Anything, Named, Takes, Writes,
    )
)]
pub(crate) async fn change_skill(
    State(shared): State<Arc<Shared>>,
    Path(SkillKey(key)): Path<SkillKey>,
    _: Query<Nothing>,
    Json(body): Json<SkillChange>,
) -> Result<Json<SkillView>, Refusal> {
    let skill = shared.admin.sorter.change_skill(&key, body.patch()?).await?;
    Ok(Json(shown(&shared, skill).await?))
}

/// Remove a skill
///
/// It is taken from its tools; those that have no other are classified anew. One that Portolan came with does not come back
/// by itself.
#[utoipa::path(
    delete,
    path = "/skills/{id}",
    tag = "skills",
    params(SkillKey),
    responses((status = 204, description = "It is gone."), Anything, Named, Writes)
)]
pub(crate) async fn remove_skill(
    State(shared): State<Arc<Shared>>,
    Path(SkillKey(key)): Path<SkillKey>,
    _: Query<Nothing>,
) -> Result<StatusCode, Refusal> {
    shared.admin.sorter.remove_skill(&key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the tools that have a skill
///
/// Each with how sure that is, and who says so.
#[utoipa::path(
    get,
    path = "/skills/{id}/tools",
    tag = "skills",
    params(SkillKey, Window),
    responses(
        (status = 200, description = "The tools.", body = [SkilledToolView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Named, Reads,
    )
)]
pub(crate) async fn list_tools_of_skill(
    State(shared): State<Arc<Shared>>,
    Path(SkillKey(key)): Path<SkillKey>,
    Query(Window(page)): Query<Window>,
) -> Result<Listed<SkilledToolView>, Refusal> {
    let skill = shared.admin.sorter.skill(&key).await?;
    Ok(shared.admin.registry.tools_with(&skill.id, page).await?.into())
}

async fn shown(shared: &Shared, skill: SkillRecord) -> Result<SkillView, Refusal> {
    Ok(SkillView::new(skill, &shared.admin.sorter.counts().await?))
}
