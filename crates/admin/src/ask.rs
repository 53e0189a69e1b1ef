//! Questions: one to many servers, and one to the agent of a server.

pub(crate) mod agents;
mod described;

use crate::Shared;
use crate::body::Json;
use crate::document::{Anything, Asks, Takes};
use crate::problem::{FieldError, Refusal};
use crate::query::{Nothing, Query};
use axum::extract::State;
use described::{QueryAnswer, QueryBody};
use portolan_ask::Who;
use portolan_catalog::View;
use portolan_query::{QueryError, QueryInput, QueryOutput};
use portolan_registry::Registry;
use portolan_router::Caller;
use serde_json::{Value, json};
use std::sync::Arc;

/// What a query may say.
const OF_A_QUERY: [&str; 3] = ["query", "maxResults", "servers"];

/// Ask many servers one question
///
/// Each server is asked in the best way that changes nothing, side by side and for a few seconds. What they say is cut
/// into pieces, folded where it is the same, and ranked.
#[utoipa::path(
    post,
    path = "/aggregator/query",
    tag = "questions",
    request_body = QueryBody,
    responses((status = 200, description = "What was found, the best first.", body = QueryAnswer), Anything, Takes, Asks)
)]
pub(crate) async fn query_servers(
    State(shared): State<Arc<Shared>>,
    _: Query<Nothing>,
    Json(body): Json<Value>,
) -> Result<Json<QueryOutput>, Refusal> {
    if let Some((field, reason)) = unknown(&body, &OF_A_QUERY) {
        let errors = vec![FieldError::new(&["body", &field], &*reason)];
        let data = json!({"field": field, "reason": reason});
        return Err(Refusal::invalid(errors).said_as(-32602, "Invalid query parameters", data));
    }
    let mut input = QueryInput::read(&body)?;
    by_name(&mut input, &shared.admin.registry);
    let who = Who { view: &View::All, caller: &Caller::plain(), aside: None };
    Ok(Json(shared.admin.asker.query(&input, who).await?))
}

/// Servers go by their names or by their ids here; whoever is neither is for the query to refuse.
fn by_name(input: &mut QueryInput, registry: &Registry) {
    for server in input.servers.iter_mut().flatten() {
        if let Ok(known) = registry.server(server) {
            *server = known.name;
        }
    }
}

/// The first member of a body that nobody would read, and what to say of it: a typo never passes.
fn unknown(body: &Value, known: &[&str]) -> Option<(String, String)> {
    let members = body.as_object()?;
    let field = members.keys().find(|key| !known.contains(&key.as_str()))?;
    Some((field.clone(), format!("there is no such field; known are {}", known.join(", "))))
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        let (code, message, data) = (error.code(), error.to_string(), error.data());
        let refusal = match error {
            QueryError::Invalid { field, reason } => Self::invalid(vec![at(field, reason)]),
            QueryError::AllFailed { failures } => {
                let errors = failures
                    .iter()
                    .map(|(server, reason)| FieldError::new(&["servers", server.as_str()], reason.as_str()));
                let errors = errors.collect();
                Self::unanswered(&message, failures.into_iter().map(|(server, _)| server).collect(), errors)
            }
        };
        refusal.said_as(code, message, data)
    }
}

/// What is wrong with a field, or with the whole body.
fn at(field: &str, reason: String) -> FieldError {
    match field {
        "arguments" => FieldError::new(&["body"], reason),
        field => FieldError::new(&["body", field], reason),
    }
}

#[cfg(test)]
mod tests;
