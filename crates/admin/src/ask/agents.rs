//! Agents: one a server, what each has done, and questions to it.

use super::described::{AgentAnswer, AgentQueryBody};
use super::{at, unknown};
use crate::Shared;
use crate::body::{Json, Listed};
use crate::document::{Anything, Limited, Named, Takes};
use crate::path::{ConnectorKey, Path};
use crate::problem::{Code, FieldError, Refusal};
use crate::query::{Nothing, Query, Window};
use axum::extract;
use portolan_agent::{Ask, BadAsk, Failure, Report, Standing};
use portolan_ask::Who;
use portolan_catalog::View;
use portolan_model::{Moment, State};
use portolan_registry::ServerView;
use portolan_router::Caller;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// What a question may say; its path says to whom it goes.
const OF_A_QUESTION: [&str; 4] = ["query", "context", "maxTools", "allowDestructive"];

/// The agent of a server, with its numbers since the server was registered.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentView {
    /// The server's.
    #[schema(format = "uuid")]
    id: String,
    name: String,
    description: Option<String>,
    tool_count: u64,
    /// The state of its server.
    status: &'static str,
    /// Questions that it took up.
    calls: u64,
    /// Those of them that it could not answer.
    errors: u64,
    /// What its models have read and written.
    tokens_in: u64,
    tokens_out: u64,
    /// As text, since the smallest costs have more decimals than a number keeps.
    cost: String,
    /// How long questions took; nothing before the first.
    latency_mean_ms: Option<u64>,
    latency_max_ms: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Moment>,
    /// Since when it has been there in this run.
    #[schema(value_type = String, format = DateTime)]
    since: Moment,
    spent_today: SpentView,
}

/// What has been spent of a day's budget.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentSpent)]
pub(crate) struct SpentView {
    tokens_in: u64,
    tokens_out: u64,
    cost: String,
}

impl AgentView {
    fn of(standing: &Standing, server: ServerView) -> Self {
        let Standing { tally, today, since, .. } = standing;
        let was_asked = tally.calls > 0;
        Self {
            id: server.id,
            name: server.name,
            description: server.description,
            tool_count: server.tool_count,
            status: server.status,
            calls: tally.calls,
            errors: tally.errors,
            tokens_in: tally.usage.input,
            tokens_out: tally.usage.output,
            cost: tally.cost.to_string(),
            latency_mean_ms: tally.latency_mean().map(millis),
            latency_max_ms: was_asked.then(|| millis(tally.latency_max)),
            last_used_at: tally.last_used_at,
            since: *since,
            spent_today: SpentView {
                tokens_in: today.usage.input,
                tokens_out: today.usage.output,
                cost: today.cost.to_string(),
            },
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// List agents
///
/// One for each server, by name.
#[utoipa::path(
    get,
    path = "/agents",
    tag = "questions",
    params(Window),
    responses(
        (status = 200, description = "The agents.", body = [AgentView],
            headers(("X-Total-Count" = u64, description = "How many there are in all."))),
        Anything,
    )
)]
pub(crate) async fn list_agents(
    extract::State(shared): extract::State<Arc<Shared>>,
    Query(Window(page)): Query<Window>,
) -> Listed<AgentView> {
    let all = shared.admin.asker.agents(&View::All);
    let total = all.len() as u64;
    let part = all.iter().skip(page.offset as usize).take(page.limit as usize);
    // One whose server has gone this very moment has gone with it.
    let shown = part.filter_map(|standing| {
        let server = shared.admin.registry.server(&standing.card.id.to_string()).ok()?;
        Some(AgentView::of(standing, server))
    });
    Listed { items: shown.collect(), total }
}

/// Show an agent
#[utoipa::path(
    get,
    path = "/agents/{connector}",
    tag = "questions",
    params(ConnectorKey),
    responses((status = 200, description = "The agent.", body = AgentView), Anything, Named)
)]
pub(crate) async fn get_agent(
    extract::State(shared): extract::State<Arc<Shared>>,
    Path(ConnectorKey(connector)): Path<ConnectorKey>,
    _: Query<Nothing>,
) -> Result<Json<AgentView>, Refusal> {
    let server = shared.admin.registry.server(&connector)?;
    let standing = shared.admin.asker.agent(&server.id, &View::All).ok_or_else(|| gone(&connector))?;
    Ok(Json(AgentView::of(&standing, server)))
}

/// Ask the agent of a server
///
/// It chooses among its server's tools, calls them and puts an answer together. That it found none is an answer too, with
/// the status `error`.
#[utoipa::path(
    post,
    path = "/agents/{connector}/query",
    tag = "questions",
    params(ConnectorKey),
    request_body = AgentQueryBody,
    responses((status = 200, description = "The answer.", body = AgentAnswer), Anything, Named, Takes, Limited)
)]
pub(crate) async fn query_agent(
    extract::State(shared): extract::State<Arc<Shared>>,
    Path(ConnectorKey(connector)): Path<ConnectorKey>,
    _: Query<Nothing>,
    Json(body): Json<Value>,
) -> Result<Json<Report>, Refusal> {
    let server = shared.admin.registry.server(&connector)?;
    if let Some((field, reason)) = unknown(&body, &OF_A_QUESTION) {
        return Err(Refusal::invalid(vec![FieldError::new(&["body", &field], reason)]));
    }
    let ask = Ask::read_for(&connector, &body)?;
    let caller = Caller::plain();
    let report = shared.admin.asker.ask(&ask, Who { view: &View::All, caller: &caller, aside: None }).await;
    if let Some(Failure::NoTools { .. }) = report.failure {
        present(&shared.admin.registry.server(&server.id)?)?;
    }
    match report.failure.as_ref().and_then(refusal) {
        Some(refusal) => Err(refusal.of_server(&server.name)),
        None => Ok(Json(report)),
    }
}

/// A server that is away has no tools either, and that it is away is what has to be said.
fn present(server: &ServerView) -> Result<(), Refusal> {
    if [State::Connected, State::Degraded].iter().any(|state| state.as_str() == server.status) {
        return Ok(());
    }
    let reason = server.error_message.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let detail = format!("server {} is {}{reason}", server.name, server.status);
    let refusal = Refusal::new(Code::ServerUnavailable, detail).of_server(&server.name);
    Err(refusal.in_state(server.status, server.error_message.clone()))
}

fn gone(connector: &str) -> Refusal {
    Refusal::new(Code::ServerNotFound, format!("Server not found: {connector}"))
}

/// What is no answer to the question: it was never taken up, or nobody is left to answer it.
fn refusal(failure: &Failure) -> Option<Refusal> {
    match failure {
        Failure::NotFound { connector } | Failure::Removed { connector } => Some(gone(connector)),
        Failure::Busy { .. } => Some(Refusal::new(Code::AgentBusy, failure.to_string()).later()),
        Failure::TooOften { retry_after, .. } => {
            Some(Refusal::new(Code::TooManyQueries, failure.to_string()).after(*retry_after))
        }
        Failure::NoTools { .. }
        | Failure::Model(_)
        | Failure::Unanswered { .. }
        | Failure::TimedOut { .. }
        | Failure::Cancelled => None,
    }
}

impl From<BadAsk> for Refusal {
    fn from(BadAsk { field, reason }: BadAsk) -> Self {
        Self::invalid(vec![at(field, reason)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use http::header::RETRY_AFTER;

    #[track_caller]
    fn check(failure: &Failure, expected: Option<(Code, Option<&str>)>) {
        let refusal = refusal(failure);
        let code = refusal.as_ref().map(Refusal::code);
        let response = refusal.map(axum::response::IntoResponse::into_response);
        let wait = response.as_ref().and_then(|response| response.headers().get(RETRY_AFTER));
        let wait = wait.map(|value| value.to_str().unwrap());
        assert_eq!(code.map(|code| (code, wait)), expected, "{failure}");
    }

    #[test]
    fn what_was_never_taken_up_is_a_problem_and_what_was_is_an_answer() {
        let connector = || "git".to_owned();
        check(&Failure::NotFound { connector: connector() }, Some((Code::ServerNotFound, None)));
        check(&Failure::Removed { connector: connector() }, Some((Code::ServerNotFound, None)));
        check(&Failure::Busy { at_once: 1, waiting: 1 }, Some((Code::AgentBusy, Some("1"))));
        for (millis, seconds) in [(0, "1"), (1000, "1"), (1001, "2"), (59_500, "60")] {
            let retry_after = Duration::from_millis(millis);
            let often = Failure::TooOften { connector: connector(), limit: 3, retry_after };
            check(&often, Some((Code::TooManyQueries, Some(seconds))));
        }
        check(&Failure::NoTools { connector: connector() }, None);
        check(&Failure::TimedOut { limit: Duration::from_secs(1) }, None);
    }

    #[test]
    fn a_question_that_cannot_be_taken_is_422_with_its_field() {
        let refusal = Refusal::from(Ask::read_for("git", &serde_json::json!({"query": " "})).unwrap_err());
        assert_eq!(refusal.code(), Code::ValidationError);
        assert_eq!(refusal.into_response().status(), 422);
    }
}
