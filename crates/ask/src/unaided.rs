//! What an agent does without a model: the ways that a query would take, and the tools that search finds beside them.

use crate::ports::ranking;
use async_trait::async_trait;
use portolan_agent::{Answered, PlannedCall, Unaided, Way};
use portolan_catalog::View;
use portolan_finder::Finder;
use portolan_model::ServerName;
use portolan_query::{Call, Plan, Reply, Target, Way as QueryWay, ways};
use serde_json::Value;
use serde_json::value::to_raw_value;
use std::sync::{Arc, Mutex, PoisonError};

/// Tools that are named though they cannot be called unasked.
const NAMED: usize = 3;
/// What is read of one answer to go on with.
const MOST_BYTES: usize = 1 << 20;

pub(crate) struct ByWays {
    target: Target,
    view: View,
    finder: Arc<Finder>,
    plans: Mutex<Vec<Plan>>,
}

impl ByWays {
    pub(crate) fn new(target: Target, view: &View, finder: &Arc<Finder>) -> Self {
        Self { target, view: view.clone(), finder: finder.clone(), plans: Mutex::default() }
    }

    /// The calls of the first plan that has some; plans without are done.
    fn next(&self) -> Vec<PlannedCall> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(plan) = plans.first_mut() {
            let calls: Vec<PlannedCall> = plan.calls().iter().filter_map(planned).collect();
            if !calls.is_empty() {
                return calls;
            }
            plans.remove(0);
        }
        Vec::new()
    }
}

#[async_trait]
impl Unaided for ByWays {
    async fn plan(&self, query: &str) -> Vec<PlannedCall> {
        let servers: Vec<ServerName> = ServerName::parse(&self.target.name).into_iter().collect();
        let ranking = ranking(&self.finder, query, &self.view, &servers).await;
        let found = ways(&self.target, query, &ranking).unwrap_or_default();
        let plans = found.into_iter().filter_map(|way| match way {
            QueryWay::Tool { plan, .. } => Some(*plan),
            QueryWay::Resources => None,
        });
        *self.plans.lock().unwrap_or_else(PoisonError::into_inner) = plans.take(1).collect();
        let mut planned = self.next();
        let mut best: Vec<(&String, &f32)> = ranking.0.values().flatten().collect();
        best.sort_by(|a, b| b.1.total_cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let others = best.into_iter().filter(|(tool, _)| planned.iter().all(|call| call.tool != **tool));
        let others: Vec<PlannedCall> = others.take(NAMED).map(|(tool, _)| left(tool)).collect();
        planned.extend(others);
        planned
    }

    async fn go_on(&self, answers: &[Answered<'_>]) -> Vec<PlannedCall> {
        let replies: Vec<Option<Reply>> = answers
            .iter()
            .map(|answer| answer.result.and_then(|result| Reply::read(result.get(), MOST_BYTES).ok()))
            .collect();
        let replies: Vec<Option<&Reply>> = replies.iter().map(Option::as_ref).collect();
        if let Some(plan) = self.plans.lock().unwrap_or_else(PoisonError::into_inner).first_mut() {
            plan.feed(&replies);
        }
        self.next()
    }
}

fn planned(call: &Call) -> Option<PlannedCall> {
    let arguments = to_raw_value(&Value::Object(call.arguments.clone())).ok()?;
    Some(PlannedCall { tool: call.tool.clone(), way: Way::Call(arguments) })
}

fn left(tool: &str) -> PlannedCall {
    let why =
        "it may change something, or wants to be told more than the query says, or another tool was nearer"
            .to_owned();
    PlannedCall { tool: tool.to_owned(), way: Way::NotByItself(why) }
}
