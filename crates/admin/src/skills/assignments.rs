//! Which tools have which skills: by a person's word, or by another look of the models.

use crate::Shared;
use crate::body::Json;
use crate::document::{Anything, Named, Reads, Takes, Writes};
use crate::path::{Path, ToolIdKey};
use crate::problem::{FieldError, Refusal};
use crate::query::{Nothing, Query};
use axum::extract::State;
use http::StatusCode;
use portolan_model::ServerId;
use portolan_registry::{Page, ToolView};
use portolan_skills::Overwrite;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

const MOST_TOOLS: usize = 1000;

/// Which tools are to be classified again; all of them where nothing is said.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Classify {
    /// Only tools of this server, by its UUID or its name.
    server_id: Option<String>,
    /// Only these tools, by their ids.
    #[schema(max_items = 1000)]
    tool_ids: Option<Vec<String>>,
    /// Overwrite what people have assigned, too.
    #[serde(default)]
    #[schema(default = false)]
    force: bool,
}

/// The answer to the wish to classify tools.
#[derive(Serialize, ToSchema)]
pub(crate) struct Classifying {
    /// How many of these tools wait for their turn now.
    waiting: usize,
}

/// Classify tools again
///
/// In the background; the answer does not wait for it. What people have assigned stays, unless it is forced.
#[utoipa::path(
    post,
    path = "/skills/classify",
    tag = "skills",
    request_body(content = Classify, description = "May be left out."),
    responses(
        (status = 202, description = "They will be looked at.", body = Classifying),
        Anything, Named, Takes, Reads,
    )
)]
pub(crate) async fn classify_tools(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    wish: Option<Json<Classify>>,
) -> Result<(StatusCode, Json<Classifying>), Refusal> {
    let Classify { server_id, tool_ids, force } = wish.map(|Json(wish)| wish).unwrap_or_default();
    let registry = &shared.admin.registry;
    let tools = match (server_id, tool_ids) {
        (_, Some(ids)) if ids.len() > MOST_TOOLS => {
            let msg = format!("has at most {MOST_TOOLS} entries");
            return Err(Refusal::invalid(vec![FieldError::new(&["body", "tool_ids"], msg)]));
        }
        (server, Some(ids)) => registry.tools_by_id(server.as_deref(), &ids).await?,
        (Some(server), None) => registry.tools_of(&server, Page::ALL).await?.items,
        (None, None) => registry.tools(Page::ALL).await?.items,
    };
    let mut by_server: BTreeMap<ServerId, Vec<String>> = BTreeMap::new();
    for tool in tools {
        if let Ok(server) = tool.server_id.parse() {
            by_server.entry(server).or_default().push(tool.original_name);
        }
    }
    let overwrite = if force { Overwrite::Everything } else { Overwrite::KeepPersons };
    let classify = |(server, tools)| shared.admin.sorter.classify(server, tools, overwrite);
    let waiting = by_server.into_iter().map(classify).sum();
    Ok((StatusCode::ACCEPTED, Json(Classifying { waiting })))
}

/// The skills that a tool is to have.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillsOfTool {
    /// None: the models decide again.
    #[schema(max_items = 3, example = json!(["web_search"]))]
    skill_ids: Vec<String>,
    /// One of them; the first where it is absent.
    primary_skill_id: Option<String>,
}

/// Assign skills to a tool
///
/// A person's word: it holds against every model, also when the tool changes, until it is changed here or forced.
#[utoipa::path(
    put,
    path = "/tools/{id}/skills",
    tag = "skills",
    params(ToolIdKey),
    responses(
        (status = 200, description = "The tool as it is now.", body = ToolView),
        Anything, Named, Takes, Writes,
    )
)]
pub(crate) async fn assign_skills(
    State(shared): State<Arc<Shared>>,
    Path(ToolIdKey(tool)): Path<ToolIdKey>,
    _: Query<Nothing>,
    Json(SkillsOfTool { mut skill_ids, primary_skill_id }): Json<SkillsOfTool>,
) -> Result<Json<ToolView>, Refusal> {
    let (registry, sorter) = (&shared.admin.registry, &shared.admin.sorter);
    if let Some(primary) = primary_skill_id {
        let Some(at) = skill_ids.iter().position(|skill| *skill == primary) else {
            sorter.skill(&primary).await?;
            let msg = "must be one of skill_ids";
            return Err(Refusal::invalid(vec![FieldError::new(&["body", "primary_skill_id"], msg)]));
        };
        skill_ids[..=at].rotate_right(1);
    }
    sorter.assign(&tool, &skill_ids).await?;
    let now = registry.tools_by_id(None, std::slice::from_ref(&tool)).await?.pop();
    now.map(Json).ok_or_else(|| portolan_skills::SkillError::NoSuchTool(tool).into())
}
