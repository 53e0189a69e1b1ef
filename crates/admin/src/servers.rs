//! Servers: registered, shown, changed, connected, removed.

use crate::Shared;
use crate::body::{Json, Listed};
use crate::document::{Anything, Collides, Named, Reads, Spawns, Takes, Writes};
use crate::path::{Path, ServerKey};
use crate::problem::Refusal;
use crate::query::{Force, Nothing, Query, ServerList, Wait, Window, WithTools};
use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::LOCATION;
use portolan_registry::{
    Connected, Disconnected, Draft, HealthView, HistoryView, Page, Parting, Patch, ServerView, ToolView,
};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// List servers
///
/// All servers by name, those of the configuration file included.
#[utoipa::path(
    get,
    path = "/aggregator/servers",
    tag = "servers",
    params(ServerList),
    responses(
        (status = 200, description = "The servers.", body = [ServerView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Reads,
    )
)]
pub(crate) async fn list_servers(
    State(shared): State<Arc<Shared>>,
    Query(list): Query<ServerList>,
) -> Result<Listed<ServerView>, Refusal> {
    let registry = &shared.admin.registry;
    let wanted = |server: &ServerView| list.status.is_none_or(|status| server.status == status.as_str());
    let mut all: Vec<ServerView> = registry.servers().into_iter().filter(wanted).collect();
    let total = all.len() as u64;
    let mut items: Vec<ServerView> =
        all.drain(..).skip(list.page.offset as usize).take(list.page.limit as usize).collect();
    match list.tools {
        WithTools::No => {}
        WithTools::Yes => add_tools(&mut items, registry.tools(Page::ALL).await?.items),
    }
    Ok(Listed { items, total })
}

fn add_tools(servers: &mut [ServerView], tools: Vec<ToolView>) {
    let mut by_server: HashMap<String, Vec<ToolView>> = HashMap::new();
    for tool in tools {
        by_server.entry(tool.server_id.clone()).or_default().push(tool);
    }
    for server in servers {
        server.tools = Some(by_server.remove(&server.id).unwrap_or_default());
    }
}

/// Register a server
///
/// It is kept across restarts, and connected at once unless `auto_connect` is false.
#[utoipa::path(
    post,
    path = "/aggregator/servers",
    tag = "servers",
    responses(
        (status = 201, description = "The server as it is registered.", body = ServerView,
            headers(("Location" = String, description = "Where the server is found from now on."))),
        Anything, Takes, Spawns, Collides, Writes,
    )
)]
pub(crate) async fn register_server(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(draft): Json<Draft>,
) -> Result<impl IntoResponse, Refusal> {
    let server = shared.admin.registry.register(draft).await?;
    let location = format!("/api/v1/aggregator/servers/{}", server.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(server)))
}

/// Show a server
#[utoipa::path(
    get,
    path = "/aggregator/servers/{id}",
    tag = "servers",
    params(ServerKey),
    responses((status = 200, description = "The server.", body = ServerView), Anything, Named)
)]
pub(crate) async fn get_server(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    _: Query<Nothing>,
) -> Result<Json<ServerView>, Refusal> {
    Ok(Json(shared.admin.registry.server(&server)?))
}

/// Change a server
///
/// What is absent stays. A server whose connection changes is connected anew; a new name changes the names of its tools
/// with it.
#[utoipa::path(
    patch,
    path = "/aggregator/servers/{id}",
    tag = "servers",
    params(ServerKey),
    responses(
        (status = 200, description = "The server as it is now.", body = ServerView),
        Anything, Named, Takes, Spawns, Collides, Writes,
    )
)]
pub(crate) async fn change_server(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    _: Query<Nothing>,
    Json(patch): Json<Patch>,
) -> Result<Json<ServerView>, Refusal> {
    Ok(Json(shared.admin.registry.change(&server, patch).await?))
}

/// Remove a server
///
/// It is disconnected, and then it goes with its tools and its history.
#[utoipa::path(
    delete,
    path = "/aggregator/servers/{id}",
    tag = "servers",
    params(ServerKey, Force),
    responses((status = 204, description = "It is gone."), Anything, Named, Collides, Writes)
)]
pub(crate) async fn remove_server(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    Query(Force(parting)): Query<Force>,
) -> Result<StatusCode, Refusal> {
    shared.admin.registry.remove(&server, parting).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Connect a server
///
/// Connecting one that is connected changes nothing.
#[utoipa::path(
    post,
    path = "/aggregator/servers/{id}/connect",
    tag = "servers",
    params(ServerKey, Wait),
    responses(
        (status = 200, description = "What state it is in now.", body = Connected),
        Anything, Named, Writes,
    )
)]
pub(crate) async fn connect_server(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    Query(Wait(patience)): Query<Wait>,
) -> Result<Json<Connected>, Refusal> {
    Ok(Json(shared.admin.registry.connect(&server, patience).await?))
}

/// Connect a server anew
///
/// The session it has, if it has one, ends first.
#[utoipa::path(
    post,
    path = "/aggregator/servers/{id}/reconnect",
    tag = "servers",
    params(ServerKey, Wait),
    responses(
        (status = 200, description = "What state it is in now.", body = Connected),
        Anything, Named, Writes,
    )
)]
pub(crate) async fn reconnect_server(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    Query(Wait(patience)): Query<Wait>,
) -> Result<Json<Connected>, Refusal> {
    Ok(Json(shared.admin.registry.reconnect(&server, patience).await?))
}

/// How to part with a server.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disconnect {
    /// Cancel calls that are under way instead of letting them end.
    #[serde(default)]
    #[schema(default = false)]
    force: bool,
}

/// Disconnect a server
///
/// Calls that are under way may end, for as long as the limit for that allows. Its tools stay known and are not offered.
#[utoipa::path(
    post,
    path = "/aggregator/servers/{id}/disconnect",
    tag = "servers",
    params(ServerKey),
    request_body(content = Disconnect, description = "May be left out."),
    responses(
        (status = 200, description = "What state it is in now.", body = Disconnected),
        Anything, Named, Takes, Writes,
    )
)]
pub(crate) async fn disconnect_server(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    _: Query<Nothing>,
    wish: Option<Json<Disconnect>>,
) -> Result<Json<Disconnected>, Refusal> {
    let Disconnect { force } = wish.map(|Json(wish)| wish).unwrap_or_default();
    let parting = if force { Parting::Forced } else { Parting::Drained };
    Ok(Json(shared.admin.registry.disconnect(&server, parting).await?))
}

/// Show a server's health
#[utoipa::path(
    get,
    path = "/aggregator/servers/{id}/health",
    tag = "servers",
    params(ServerKey),
    responses((status = 200, description = "How it is.", body = HealthView), Anything, Named)
)]
pub(crate) async fn get_server_health(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    _: Query<Nothing>,
) -> Result<Json<HealthView>, Refusal> {
    Ok(Json(shared.admin.registry.health_of(&server)?))
}

/// List the turns in a server's life
///
/// The latest first.
#[utoipa::path(
    get,
    path = "/aggregator/servers/{id}/history",
    tag = "servers",
    params(ServerKey, Window),
    responses(
        (status = 200, description = "The turns.", body = [HistoryView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything, Named, Reads,
    )
)]
pub(crate) async fn get_server_history(
    State(shared): State<Arc<Shared>>,
    Path(ServerKey(server)): Path<ServerKey>,
    Query(Window(page)): Query<Window>,
) -> Result<Listed<HistoryView>, Refusal> {
    Ok(shared.admin.registry.history(&server, page).await?.into())
}
