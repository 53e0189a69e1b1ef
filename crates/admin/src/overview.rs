//! Everything at once: how many there are of what, and how they are.

use crate::Shared;
use crate::body::Json;
use crate::document::{Anything, Reads};
use crate::problem::Refusal;
use crate::query::{Nothing, Query};
use axum::extract::State;
use portolan_registry::{HealthView, Overall, StateView};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Count servers and tools
#[utoipa::path(
    get,
    path = "/aggregator/state",
    tag = "overview",
    responses((status = 200, description = "The numbers.", body = StateView), Anything, Reads)
)]
pub(crate) async fn get_state(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
) -> Result<Json<StateView>, Refusal> {
    let (state, progress) = (shared.admin.registry.state().await?, shared.admin.finder.progress());
    let known = u64::try_from(progress.tools.saturating_sub(progress.unembedded)).unwrap_or_default();
    Ok(Json(StateView { unindexed_tools: state.total_tools.saturating_sub(known), ..state }))
}

/// Show the health of all servers
#[utoipa::path(
    get,
    path = "/aggregator/health",
    tag = "overview",
    responses((status = 200, description = "How they are, each and all.", body = Health), Anything)
)]
pub(crate) async fn get_health(State(shared): State<Arc<Shared>>, _: Query<Nothing>) -> Json<Health> {
    let progress = shared.admin.finder.progress();
    let search = SearchHealth {
        mode: if progress.is_understood { "hybrid" } else { "lexical" },
        model: progress.model,
        tools: progress.tools,
        waiting: progress.waiting,
        trouble: progress.trouble,
    };
    let Overall { status, servers } = shared.admin.registry.health();
    let sorting = shared.admin.sorter.standing().borrow().clone();
    let skills = SkillsHealth { waiting: sorting.waiting, trouble: sorting.away };
    Json(Health { status, servers, search, skills })
}

/// How the servers are, the search over their tools, and what is found out about these.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `healthy`, or `degraded` if a server that is meant to be connected is not well.
    status: &'static str,
    servers: Vec<HealthView>,
    search: SearchHealth,
    skills: SkillsHealth,
}

/// How tools are found.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchHealth {
    /// `hybrid`, or `lexical` while words alone decide.
    mode: &'static str,
    /// What says how much two texts mean the same.
    model: Option<String>,
    tools: usize,
    /// Texts of tools and servers that are found by their words only, for now.
    waiting: usize,
    /// Why that is so, where it is not a matter of time.
    trouble: Option<String>,
}

/// How tools come to have skills.
#[derive(Serialize, ToSchema)]
pub(crate) struct SkillsHealth {
    /// Tools whose turn is to come.
    waiting: usize,
    /// Why no tool gets any for now.
    trouble: Option<String>,
}
