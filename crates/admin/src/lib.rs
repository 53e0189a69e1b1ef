//! The REST surface: where people manage servers, and where programs that speak no MCP call tools.
//!
//! What a route takes and gives is written in its function, and the description at `/openapi.json` comes from there.
//! Host and Origin have been checked before a request gets here.

mod ask;
mod body;
mod calls;
mod document;
mod events;
mod headers;
mod overview;
mod pages;
mod path;
mod probes;
mod problem;
mod query;
mod search;
mod secrets;
mod servers;
mod skills;
mod tools;

use axum::extract::FromRef;
use body::BodyLimit;
use bytes::Bytes;
use portolan_ask::Asker;
use portolan_finder::Finder;
use portolan_registry::Registry;
use portolan_router::Router;
use portolan_skills::Sorter;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What the surface works on.
pub struct Admin {
    pub registry: Arc<Registry>,
    pub router: Arc<Router>,
    pub finder: Arc<Finder>,
    pub sorter: Arc<Sorter>,
    pub asker: Arc<Asker>,
    pub options: Options,
}

#[derive(Debug, Clone)]
pub struct Options {
    /// The largest body that a request may have, in bytes.
    pub body_limit: usize,
    /// Fires when Portolan is to end: event streams end with it, and nobody is told any more that it is ready.
    pub stop: CancellationToken,
}

/// What every operation can reach.
struct Shared {
    admin: Admin,
    started: Instant,
    /// The description, rendered once.
    document: Bytes,
}

impl FromRef<Arc<Shared>> for BodyLimit {
    fn from_ref(shared: &Arc<Shared>) -> Self {
        Self(shared.admin.options.body_limit)
    }
}

/// Every route, with what holds for all of them. A path that is none of them is answered with 404 here as well.
pub fn service(admin: Admin) -> axum::Router {
    let (routes, openapi) = table().split_for_parts();
    let document = document::render(openapi);
    let shared = Arc::new(Shared { admin, started: Instant::now(), document });
    headers::guarded(routes).with_state(shared)
}

/// The description of the surface, as it is served at `/openapi.json`.
pub fn openapi() -> utoipa::openapi::OpenApi {
    document::refined(table().into_openapi())
}

/// The table of routes. A route that is not here does not exist, and one that is here is described.
fn table() -> OpenApiRouter<Arc<Shared>> {
    let api = OpenApiRouter::new()
        .routes(routes!(servers::list_servers, servers::register_server))
        .routes(routes!(servers::get_server, servers::change_server, servers::remove_server))
        .routes(routes!(servers::connect_server))
        .routes(routes!(servers::reconnect_server))
        .routes(routes!(servers::disconnect_server))
        .routes(routes!(servers::get_server_health))
        .routes(routes!(servers::get_server_history))
        .routes(routes!(tools::list_server_tools))
        .routes(routes!(tools::refresh_server_tools, tools::change_tool_named_refresh))
        .routes(routes!(tools::change_tool))
        .routes(routes!(tools::list_tools))
        .routes(routes!(overview::get_state))
        .routes(routes!(overview::get_health))
        .routes(routes!(events::follow_events))
        .routes(routes!(calls::call_tool))
        .routes(routes!(calls::execute_tool))
        .routes(routes!(search::search))
        .routes(routes!(search::search_bare))
        .routes(routes!(ask::query_servers))
        .routes(routes!(ask::agents::list_agents))
        .routes(routes!(ask::agents::get_agent))
        .routes(routes!(ask::agents::query_agent))
        .routes(routes!(skills::list_skills, skills::add_skill))
        .routes(routes!(skills::get_skill, skills::change_skill, skills::remove_skill))
        .routes(routes!(skills::list_tools_of_skill))
        .routes(routes!(skills::assignments::classify_tools))
        .routes(routes!(skills::assignments::assign_skills))
        .routes(routes!(skills::suggestions::list_suggestions))
        .routes(routes!(skills::suggestions::approve_suggestion))
        .routes(routes!(skills::suggestions::reject_suggestion))
        .routes(routes!(skills::suggestions::merge_suggestion))
        .routes(routes!(secrets::list_secrets))
        .routes(routes!(secrets::set_secret, secrets::remove_secret));
    OpenApiRouter::with_openapi(document::outline())
        .nest("/api/v1", api)
        .routes(routes!(probes::get_readiness))
        .routes(routes!(probes::get_metrics))
        .routes(routes!(pages::get_document))
        .routes(routes!(pages::get_start_page))
        .routes(routes!(pages::get_docs_page))
        .routes(routes!(pages::get_docs_script))
        .routes(routes!(pages::get_docs_style))
}
