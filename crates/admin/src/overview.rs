//! Everything at once: how many there are of what, and how they are.

use crate::Shared;
use crate::body::Json;
use crate::document::Anything;
use crate::query::{Nothing, Query};
use axum::extract::State;
use portolan_registry::{Overall, StateView};
use std::sync::Arc;

/// Count servers and tools
#[utoipa::path(
    get,
    path = "/aggregator/state",
    tag = "overview",
    responses((status = 200, description = "The numbers.", body = StateView), Anything)
)]
pub(crate) async fn get_state(State(shared): State<Arc<Shared>>, _: Query<Nothing>) -> Json<StateView> {
    Json(shared.admin.registry.state())
}

/// Show the health of all servers
#[utoipa::path(
    get,
    path = "/aggregator/health",
    tag = "overview",
    responses((status = 200, description = "How they are, each and all.", body = Overall), Anything)
)]
pub(crate) async fn get_health(State(shared): State<Arc<Shared>>, _: Query<Nothing>) -> Json<Overall> {
    Json(shared.admin.registry.health())
}
