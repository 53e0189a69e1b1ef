//! Tools: listed, looked for anew, switched on and off, described better.

use crate::Shared;
use crate::body::{Json, Listed};
use crate::document::{Anything, Collides, Named, Reads, Takes, Writes};
use crate::path::{Path, ServerKey, ToolKey};
use crate::problem::Refusal;
use crate::query::{Nothing, Query, Window};
use axum::extract::State;
use http::StatusCode;
use portolan_registry::{Connected, ToolPatch, ToolView};
use std::sync::Arc;

/// List all tools
///
/// Those of all servers, whether they can be called right now or not.
#[utoipa::path(
    get,
    path = "/aggregator/tools",
    tag = "tools",
    params(Window),
    responses(
        (status = 200, description = "The tools.", body = [ToolView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Reads,
    )
)]
pub(crate) async fn list_tools(
    State(shared): State<Arc<Shared>>,
    Query(Window(page)): Query<Window>,
) -> Result<Listed<ToolView>, Refusal> {
    Ok(shared.admin.registry.tools(page).await?.into())
}

/// List a server's tools
#[utoipa::path(
    get,
    path = "/aggregator/servers/{id}/tools",
    tag = "tools",
    params(ServerKey, Window),
    responses(
        (status = 200, description = "The tools.", body = [ToolView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Named, Reads,
    )
)]
pub(crate) async fn list_server_tools(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    Query(Window(page)): Query<Window>,
) -> Result<Listed<ToolView>, Refusal> {
    Ok(shared.admin.registry.tools_of(&server, page).await?.into())
}

/// Ask a server for its tools again
///
/// A connected server is asked soon; the answer does not wait for it.
#[utoipa::path(
    post,
    path = "/aggregator/servers/{id}/tools/refresh",
    tag = "tools",
    params(ServerKey),
    responses(
        (status = 202, description = "It will be asked.", body = Connected),
        Anything, Named, Collides,
    )
)]
pub(crate) async fn refresh_server_tools(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    _: Query<Nothing>,
) -> Result<(StatusCode, Json<Connected>), Refusal> {
    Ok((StatusCode::ACCEPTED, Json(shared.admin.registry.refresh(&server).await?)))
}

/// Change a tool
///
/// What is absent stays.
#[utoipa::path(
    patch,
    path = "/aggregator/servers/{id}/tools/{name}",
    tag = "tools",
    params(ToolKey),
    responses(
        (status = 200, description = "The tool as it is now.", body = ToolView),
        Anything, Named, Takes, Writes,
    )
)]
pub(crate) async fn change_tool(
    State(shared): State<Arc<Shared>>,
    Path(ToolKey { server, tool }): Path<ToolKey>,
    _: Query<Nothing>,
    Json(patch): Json<ToolPatch>,
) -> Result<Json<ToolView>, Refusal> {
    Ok(Json(shared.admin.registry.change_tool(&server, &tool, patch).await?))
}

/// Change a tool that is called `refresh`
///
/// A tool may have the name of the operation beside it, and is changed at the same place as any other.
#[utoipa::path(
    patch,
    path = "/aggregator/servers/{id}/tools/refresh",
    tag = "tools",
    params(ServerKey),
    responses(
        (status = 200, description = "The tool as it is now.", body = ToolView),
        Anything, Named, Takes, Writes,
    )
)]
pub(crate) async fn change_tool_named_refresh(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    _: Query<Nothing>,
    Json(patch): Json<ToolPatch>,
) -> Result<Json<ToolView>, Refusal> {
    Ok(Json(shared.admin.registry.change_tool(&server, "refresh", patch).await?))
}
