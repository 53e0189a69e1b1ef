//! All agents: one a server, made with it and ended with it, and the way that queries take to them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use portolan_llm::{Budget, Limits as ModelLimits, Spent};
use portolan_model::{Moment, ServerId, ServerName};
use portolan_store::{AgentTallyRecord, Store, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, owner};
use crate::ask::{Ask, USUAL_TOOLS};
use crate::query::{Query, With};
use crate::report::{Failure, Report};
use crate::tally::{Tally, spent};
use crate::turnstile::{Turn, Turnstile, UnderWay};

/// Numbers that change together are written together.
const WRITE_PAUSE: Duration = Duration::from_secs(1);
/// How long a store that does not take them is left alone.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// What an agent goes by: its server, as it is known now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub id: ServerId,
    pub name: ServerName,
    /// People's own words.
    pub description: Option<String>,
    /// What the server tells models about itself.
    pub instructions: Option<String>,
    pub limits: Limits,
}

impl Card {
    /// A server that nobody has said anything about.
    pub fn new(id: ServerId, name: ServerName) -> Self {
        Self { id, name, description: None, instructions: None, limits: Limits::default() }
    }
}

/// What one agent may use. What is `None` has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub queries_per_minute: Option<u32>,
    /// Of the configured model; a client's own is the client's business.
    pub model: ModelLimits,
}

/// What holds for all agents together and each query by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Queries that run at once.
    pub at_once: usize,
    /// Queries that wait for their turn; more are refused.
    pub waiting: usize,
    /// What a query may take, its wait included. Calls end after four fifths of it, so that an answer is still given.
    pub query_time: Duration,
    pub call_time: Duration,
    /// Calls of one turn that run at once.
    pub side_by_side: usize,
    /// Calls that a query may make where nobody says how many.
    pub usual_tools: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            at_once: 32,
            waiting: 256,
            query_time: Duration::from_mins(2),
            call_time: Duration::from_mins(1),
            side_by_side: 4,
            usual_tools: USUAL_TOOLS,
        }
    }
}

/// An agent as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub card: Arc<Card>,
    /// When it was made in this run.
    pub since: Moment,
    pub tally: Tally,
    /// Of its budget.
    pub today: Spent,
}

pub struct Agents {
    options: Options,
    budget: Arc<Budget>,
    /// Nothing where nothing survives a restart.
    store: Option<Arc<dyn Store>>,
    turnstile: Turnstile,
    changed: Arc<Notify>,
    all: RwLock<All>,
}

#[derive(Default)]
struct All {
    agents: HashMap<ServerId, Arc<Agent>>,
    /// What earlier runs did, of servers that are not there yet.
    remembered: HashMap<ServerId, AgentTallyRecord>,
}

impl Agents {
    pub fn new(options: Options, budget: Arc<Budget>, store: Option<Arc<dyn Store>>) -> Self {
        let turnstile = Turnstile::new(options.at_once, options.waiting);
        Self { options, budget, store, turnstile, changed: Arc::default(), all: RwLock::default() }
    }

    /// Takes over the numbers of earlier runs. To be called once.
    pub async fn load(&self) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        for record in store.agent_tallies().await? {
            let mut all = self.write();
            match all.agents.get(&record.server) {
                Some(agent) => self.recall(agent, &record),
                None => drop(all.remembered.insert(record.server, record)),
            }
        }
        Ok(())
    }

    /// Makes the agent of a server, or tells it what has changed about the server.
    pub fn ensure(&self, card: Card) {
        let mut all = self.write();
        if let Some(agent) = all.agents.get(&card.id) {
            let former = agent.card();
            if former.name != card.name {
                // The account goes along.
                self.budget.restore(&owner(&card.name), self.budget.spent(&owner(&former.name)));
                self.budget.forget(&owner(&former.name));
            }
            if *former != card {
                agent.rewrite(card);
            }
            return;
        }
        let id = card.id;
        let agent = Arc::new(Agent::new(card, Tally::default(), Arc::clone(&self.changed)));
        if let Some(record) = all.remembered.remove(&id) {
            self.recall(&agent, &record);
        }
        all.agents.insert(id, agent);
    }

    /// Ends the agent of a server that is no longer registered, and every query that it has.
    pub fn remove(&self, server: ServerId) {
        let agent = self.write().agents.remove(&server);
        if let Some(agent) = agent {
            agent.gone.cancel();
            self.budget.forget(&owner(&agent.card().name));
        }
    }

    /// All of them, by name.
    pub fn list(&self) -> Vec<Standing> {
        let mut list: Vec<Standing> = self.read().agents.values().map(|agent| self.standing(agent)).collect();
        list.sort_by(|a, b| a.card.name.cmp(&b.card.name));
        list
    }

    /// By the server's id or its name.
    pub fn find(&self, connector: &str) -> Option<Standing> {
        self.agent(connector).map(|agent| self.standing(&agent))
    }

    pub fn usual_tools(&self) -> u32 {
        self.options.usual_tools
    }

    pub fn under_way(&self) -> UnderWay {
        self.turnstile.under_way()
    }

    /// Asks the agent of a connector. Whatever happens is in the report.
    pub async fn query(&self, ask: &Ask, with: With<'_>) -> Report {
        let began = Instant::now();
        let Some(agent) = self.agent(&ask.connector) else {
            let failure = Failure::NotFound { connector: ask.connector.clone() };
            return Report::refused(&ask.connector, "", failure);
        };
        let card = agent.card();
        let refused = |failure| Report::refused(&ask.connector, card.name.as_str(), failure);
        let _turn = match self.admit(&agent, &with, began).await {
            Ok(turn) => turn,
            Err(failure) => return refused(failure),
        };
        let query =
            Query { agent: &agent, card: &card, ask, options: self.options, budget: &self.budget, began };
        match agent.gone.run_until_cancelled(query.run(with)).await {
            Some(report) => report,
            None => refused(removed(&card)),
        }
    }

    /// Writes numbers down as they change, until it is over and the last are written. To run once.
    pub async fn keep(&self, until: CancellationToken) {
        loop {
            let is_over = until.run_until_cancelled(self.changed.notified()).await.is_none();
            if !is_over {
                until.run_until_cancelled(tokio::time::sleep(WRITE_PAUSE)).await;
            }
            let is_written = self.write_down().await;
            if is_over {
                return;
            }
            if !is_written {
                until.run_until_cancelled(tokio::time::sleep(RETRY_PAUSE)).await;
                self.changed.notify_one();
            }
        }
    }

    /// A turn, if there is one in time.
    async fn admit(&self, agent: &Agent, with: &With<'_>, began: Instant) -> Result<Turn<'_>, Failure> {
        if with.cancel.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        agent.admit()?;
        let limit = self.options.query_time;
        let entered = timeout_at(began + limit, self.turnstile.enter());
        let entered = agent.gone.run_until_cancelled(with.cancel.run_until_cancelled(entered)).await;
        match entered.ok_or_else(|| removed(&agent.card()))?.ok_or(Failure::Cancelled)? {
            Ok(Some(turn)) => Ok(turn),
            Ok(None) => {
                let Turnstile { at_once, waiting, .. } = self.turnstile;
                Err(Failure::Busy { at_once, waiting })
            }
            Err(_) => Err(Failure::TimedOut { limit }),
        }
    }

    /// Whether all could be written.
    async fn write_down(&self) -> bool {
        let Some(store) = &self.store else { return true };
        let agents: Vec<Arc<Agent>> = self.read().agents.values().cloned().collect();
        let mut is_written = true;
        for agent in agents.iter().filter(|agent| agent.take_unwritten()) {
            let card = agent.card();
            let record = agent.tally().record(card.id, self.budget.spent(&owner(&card.name)));
            match store.put_agent_tally(&record).await {
                // A server that is gone has nothing to keep.
                Ok(()) | Err(StoreError::NoSuchServer) => {}
                Err(error) => {
                    tracing::warn!(%error, connector = %card.name, "an agent's numbers could not be written");
                    agent.set_unwritten();
                    is_written = false;
                }
            }
        }
        is_written
    }

    fn recall(&self, agent: &Agent, record: &AgentTallyRecord) {
        agent.remember(&Tally::from(record));
        self.budget.restore(&owner(&agent.card().name), spent(record));
    }

    fn agent(&self, connector: &str) -> Option<Arc<Agent>> {
        let all = self.read();
        let by_id = connector.parse::<ServerId>().ok().and_then(|id| all.agents.get(&id));
        let by_name = || all.agents.values().find(|agent| agent.card().name.as_str() == connector);
        by_id.or_else(by_name).cloned()
    }

    fn standing(&self, agent: &Agent) -> Standing {
        let card = agent.card();
        let today = self.budget.spent(&owner(&card.name));
        Standing { card, since: agent.since, tally: agent.tally(), today }
    }

    fn read(&self) -> RwLockReadGuard<'_, All> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, All> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn removed(card: &Card) -> Failure {
    Failure::Removed { connector: card.name.to_string() }
}
