//! Search: the tools that fit what is to be done.

use crate::Shared;
use crate::body::Json;
use crate::document::{Anything, Named, Reads, Takes};
use crate::problem::{FieldError, Refusal};
use crate::query::{Nothing, Query};
use axum::extract::State;
use portolan_catalog::View;
use portolan_finder::{Found, MatchedSkill, Strategy, Wish};
use portolan_model::{ServerName, SkillId, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

const FEW: usize = 10;
const MOST: usize = 100;
const LONGEST: usize = 4096;

/// What is looked for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchBody {
    /// What is to be done, in plain words.
    #[schema(
        example = "open an issue and tell the team",
        min_length = 1,
        max_length = 4096,
        pattern = "\\S"
    )]
    query: String,
    /// How many tools are wanted.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 100, default = 10)]
    limit: Option<f64>,
    /// Only tools of these servers, by UUID or name.
    server_filter: Option<Vec<String>>,
    /// Only tools that have one of these skills.
    skill_filter: Option<Vec<String>>,
    /// `hybrid`: all tools, by words and by meaning. `direct`: the same, and no look at skills. `hierarchical`: the skills
    /// that fit first, then the tools within them; where none fits, as `hybrid`.
    #[schema(value_type = Option<String>, pattern = "^(?i:hybrid|direct|hierarchical)$", default = "hybrid")]
    strategy: Option<String>,
    /// Whether the tools' input schemas are wanted too.
    #[serde(default)]
    include_schemas: bool,
}

/// What was found, the best first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchResult {
    query: String,
    tools: Vec<SearchHit>,
    /// The skills that the query is about, the best first; none are looked for with `direct`.
    matched_skills: Vec<SearchSkill>,
    metadata: SearchMetadata,
}

/// A skill that fits.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchSkill {
    id: String,
    name: String,
    #[schema(minimum = 0, maximum = 1)]
    score: f32,
}

/// A tool that was found.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchHit {
    id: String,
    /// `server.tool`.
    name: String,
    original_name: String,
    description: Option<String>,
    /// From 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    score: f32,
    source_server: SourceServer,
    skill_ids: Vec<String>,
    primary_skill_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    input_schema: Option<Value>,
}

/// The server that has a tool.
#[derive(Serialize, ToSchema)]
pub(crate) struct SourceServer {
    #[schema(format = "uuid")]
    id: String,
    name: String,
    status: String,
}

/// How it was found.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchMetadata {
    /// The way that was taken: not the one that was asked for where no skill fits.
    strategy: &'static str,
    /// `hybrid`, or `lexical` where words alone have decided.
    mode: &'static str,
    /// Why words alone have decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Among how many tools.
    searched_tools: usize,
    /// How long it took to understand the query.
    #[schema(minimum = 0)]
    embedding_time_ms: f64,
    /// How long it took to find the tools.
    #[schema(minimum = 0)]
    search_time_ms: f64,
}

/// Search for tools
///
/// By words and by meaning, among the tools that can be called right now.
#[utoipa::path(
    post,
    path = "/search",
    tag = "search",
    responses((status = 200, description = "What was found.", body = SearchResult), Anything, Named, Takes, Reads)
)]
pub(crate) async fn search(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(body): Json<SearchBody>,
) -> Result<Json<SearchResult>, Refusal> {
    let query = body.query.clone();
    let (found, tools) = run(&shared, body).await?;
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let metadata = SearchMetadata {
        strategy: found.strategy.as_str(),
        mode: if found.words_only.is_none() { "hybrid" } else { "lexical" },
        reason: found.words_only,
        searched_tools: found.searched,
        embedding_time_ms: millis(found.embedding),
        search_time_ms: millis(found.searching),
    };
    let skill =
        |skill: MatchedSkill| SearchSkill { id: skill.id.to_string(), name: skill.name, score: skill.score };
    let matched_skills = found.skills.into_iter().map(skill).collect();
    Ok(Json(SearchResult { query, tools, matched_skills, metadata }))
}

/// Search for tools, and get them alone
///
/// The tools of `/search`.
#[utoipa::path(
    post,
    path = "/aggregator/search",
    tag = "search",
    responses((status = 200, description = "What was found.", body = [SearchHit]), Anything, Named, Takes, Reads)
)]
pub(crate) async fn search_bare(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(body): Json<SearchBody>,
) -> Result<Json<Vec<SearchHit>>, Refusal> {
    Ok(Json(run(&shared, body).await?.1))
}

async fn run(shared: &Shared, body: SearchBody) -> Result<(Found, Vec<SearchHit>), Refusal> {
    let wrong =
        |field: &str, text: &str| Refusal::invalid(vec![FieldError::new(&["body", field], text.to_owned())]);
    if body.query.trim().is_empty() {
        return Err(wrong("query", "say what is looked for"));
    }
    if body.query.chars().count() > LONGEST {
        return Err(wrong("query", "has at most 4096 characters"));
    }
    // To JSON, 10 and 10.0 are the same number.
    let limit = body.limit.map_or(Ok(FEW), |limit| limit.to_string().parse());
    let Some(limit) = limit.ok().filter(|limit| (1..=MOST).contains(limit)) else {
        return Err(wrong("limit", "must be a whole number from 1 to 100"));
    };
    let registry = &shared.admin.registry;
    let mut servers: Vec<ServerName> = Vec::new();
    for key in body.server_filter.iter().flatten() {
        let server = registry.server(key)?;
        servers.extend(ServerName::parse(&server.name));
    }
    let strategy = body.strategy.as_deref().map_or(Some(Strategy::Hybrid), strategy);
    let Some(strategy) = strategy else {
        return Err(wrong("strategy", "must be hybrid, direct or hierarchical"));
    };
    let skills = skills(shared, body.skill_filter.as_deref().unwrap_or_default()).await?;
    let view = View::All;
    let wish = Wish { query: &body.query, limit, view: &view, servers: &servers, skills: &skills, strategy };
    let found = shared.admin.finder.find(&wish).await;
    let names: Vec<ToolName> = found.tools.iter().map(|hit| hit.name.clone()).collect();
    let mut views = registry.tools_named(&names).await?;
    let mut tools = Vec::with_capacity(found.tools.len());
    for hit in &found.tools {
        // One that has gone this very moment was not found.
        let Ok(server) = registry.server(hit.name.server.as_str()) else { continue };
        let Some(tool) = views.remove(&hit.name) else { continue };
        tools.push(SearchHit {
            id: tool.id,
            name: tool.name,
            original_name: tool.original_name,
            description: tool.description,
            score: hit.score,
            source_server: SourceServer {
                id: server.id,
                name: server.name,
                status: server.status.to_string(),
            },
            skill_ids: tool.skill_ids,
            primary_skill_id: tool.primary_skill_id,
            input_schema: body.include_schemas.then_some(tool.input_schema),
        });
    }
    Ok((found, tools))
}

fn strategy(text: &str) -> Option<Strategy> {
    Strategy::ALL.into_iter().find(|strategy| strategy.as_str().eq_ignore_ascii_case(text))
}

/// The skills that a filter names; one that is not there is no filter that anybody meant.
async fn skills(shared: &Shared, keys: &[String]) -> Result<Vec<SkillId>, Refusal> {
    let mut skills = Vec::with_capacity(keys.len());
    for key in keys {
        skills.push(shared.admin.sorter.skill(key).await?.id);
    }
    Ok(skills)
}
