//! Everything at once: how many there are of what, and how they are.

use crate::Shared;
use crate::body::Json;
use crate::document::Anything;
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
    responses((status = 200, description = "The numbers.", body = StateView), Anything)
)]
pub(crate) async fn get_state(State(shared): State<Arc<Shared>>, _: Query<Nothing>) -> Json<StateView> {
    let (state, progress) = (shared.admin.registry.state(), shared.admin.finder.progress());
    let known = u64::try_from(progress.tools.saturating_sub(progress.unembedded)).unwrap_or_default();
    Json(StateView { unindexed_tools: state.total_tools.saturating_sub(known), ..state })
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
    let is_lexical = progress.model.is_none() || progress.trouble.is_some();
    let search = SearchHealth {
        mode: if is_lexical { "lexical" } else { "hybrid" },
        model: progress.model,
        tools: progress.tools,
        waiting: progress.waiting,
        trouble: progress.trouble,
    };
    let Overall { status, servers } = shared.admin.registry.health();
    Json(Health { status, servers, search })
}

/// How the servers are, and the search over their tools.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `healthy`, or `degraded` if a server that is meant to be connected is not well.
    status: &'static str,
    servers: Vec<HealthView>,
    search: SearchHealth,
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
