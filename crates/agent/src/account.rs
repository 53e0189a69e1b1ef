//! What one query has used, booked on its agent however the query ends: answered, failed, or dropped by its caller.

use std::sync::Arc;

use portolan_llm::{Budget, Cost, Usage};
use tokio::time::Instant;

use crate::agent::Agent;
use crate::tally::Used;
use crate::trace::Ending;

/// Whose model it is that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payer {
    /// One of the settings.
    We,
    /// The client's own; it costs us nothing.
    Client,
}

pub(crate) struct Account {
    agent: Arc<Agent>,
    budget: Arc<Budget>,
    payer: Payer,
    began: Instant,
    usage: Usage,
    cost: Option<Cost>,
    /// A query that its caller drops is nobody's error.
    ending: Ending,
}

impl Account {
    pub(crate) fn open(agent: Arc<Agent>, budget: Arc<Budget>, payer: Payer, began: Instant) -> Self {
        Self { agent, budget, payer, began, usage: Usage::default(), cost: None, ending: Ending::Done }
    }

    /// Books one turn of a model.
    pub(crate) fn add(&mut self, model: &str, usage: Usage) {
        self.usage = self.usage.plus(usage);
        let cost = match self.payer {
            Payer::We => self.budget.cost(model, usage),
            Payer::Client => None,
        };
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
    }

    pub(crate) fn end(&mut self, ending: Ending) {
        self.ending = ending;
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn cost(&self) -> Option<Cost> {
        self.cost
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.agent.book(&Used {
            ending: self.ending,
            usage: self.usage,
            cost: self.cost.unwrap_or_default(),
            latency: self.began.elapsed(),
        });
    }
}
