//! Where questions meet servers: the fan-out query and the connector agents, over the router that every call takes.
//!
//! `query` and `agent` know no session and no client; what they need of the world is made here, within what whoever asks
//! may see.

mod calls;
mod hands;
mod ports;
mod sampler;
mod targets;
mod unaided;

use crate::calls::Calls;
use crate::hands::ServerHands;
use crate::ports::Seaports;
use crate::sampler::ClientSampler;
use crate::unaided::ByWays;
use bytes::Bytes;
use portolan_agent::{Agents, Ask, Card, Failure, Mind, Report, Sampling, Standing, Traced, With};
use portolan_catalog::View;
use portolan_finder::Finder;
use portolan_llm::ChatModel;
use portolan_model::{ServerId, ServerName};
use portolan_query::{Limits, QueryError, QueryInput, QueryOutput, Rules, fan_out};
use portolan_router::{Aside, Caller, Note, Router};
use portolan_store::StoreError;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Every server that is meant to have an agent.
pub type Cards = Box<dyn Fn() -> Vec<Card> + Send + Sync>;

/// What questions stand on.
pub struct Parts {
    pub router: Arc<Router>,
    pub finder: Arc<Finder>,
    pub agents: Arc<Agents>,
    pub cards: Cards,
    /// What agents think with, where the settings name a model.
    pub model: Option<Configured>,
    pub rules: Rules,
    pub limits: Limits,
}

/// A model of the settings.
#[derive(Clone)]
pub struct Configured {
    pub model: Arc<dyn ChatModel>,
    /// What one answer of it may have.
    pub max_tokens: u32,
}

pub struct Asker {
    pub(crate) parts: Parts,
    /// Calls outlive whoever made them for as long as it takes to call them off.
    tasks: TaskTracker,
}

/// Who asks.
#[derive(Clone, Copy)]
pub struct Who<'w> {
    pub view: &'w View,
    pub caller: &'w Caller,
    /// Where the client of a call hears of progress and takes questions; a program that speaks no MCP has none.
    pub aside: Option<&'w Arc<Aside>>,
}

impl Asker {
    pub fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self { parts, tasks: TaskTracker::new() })
    }

    /// One question to many servers. Dropping the future calls off whatever is under way.
    pub async fn query(&self, input: &QueryInput, who: Who<'_>) -> Result<QueryOutput, QueryError> {
        let targets = self.targets(input, who.view);
        // A fan-out asks nobody back: whatever a server wants to know first, it is asked another time.
        let calls = self.calls(Who { aside: None, ..who });
        let ports = Seaports { calls, finder: &self.parts.finder, view: who.view };
        fan_out(input, &targets, &ports, &self.parts.rules, &self.parts.limits).await
    }

    /// One question to one server's agent. Whatever happens is in the report.
    pub async fn ask(&self, ask: &Ask, who: Who<'_>) -> Report {
        let Some(server) = self.connector(&ask.connector, who.view) else {
            let failure = Failure::NotFound { connector: ask.connector.clone() };
            return Report::refused(&ask.connector, "", failure);
        };
        let hands = ServerHands { calls: self.calls(who), server: &server, who };
        let cancel = CancellationToken::new();
        let steps = AtomicU64::new(0);
        let watch = |traced: &Traced| {
            if let Some(aside) = who.aside {
                let progress = steps.fetch_add(1, Ordering::Relaxed) + 1;
                let message = traced.step.to_string();
                let params = json!({"progressToken": 0, "progress": progress, "message": message});
                // A client that is too slow to hear of every step hears of the next.
                aside.add(Note::Progress(Bytes::from(params.to_string())));
            }
        };
        let mind = self.mind(&server, who);
        let with = With { hands: &hands, mind, cancel: &cancel, watch: &watch };
        let mut asking = std::pin::pin!(self.parts.agents.query(ask, with));
        let called_off = async {
            match who.aside {
                Some(aside) => aside.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            report = &mut asking => report,
            () = called_off => {
                cancel.cancel();
                asking.await
            }
        }
    }

    /// Calls that a query to an agent may make where nobody says how many.
    pub fn usual_tools(&self) -> u32 {
        self.parts.agents.usual_tools()
    }

    /// The agents of the servers that one may see, by name.
    pub fn agents(&self, view: &View) -> Vec<Standing> {
        self.keep_up();
        let all = self.parts.agents.list().into_iter();
        all.filter(|standing| view.has_server(&standing.card.name)).collect()
    }

    /// One of them, by its server's id or name.
    pub fn agent(&self, connector: &str, view: &View) -> Option<Standing> {
        self.keep_up();
        self.parts.agents.find(connector).filter(|standing| view.has_server(&standing.card.name))
    }

    /// Takes over what agents did in earlier runs. To be called once.
    pub async fn recall(&self) -> Result<(), StoreError> {
        self.parts.agents.load().await
    }

    /// Writes down what agents do, until it is over and the last is written. To run once.
    pub async fn keep(self: Arc<Self>, until: CancellationToken) {
        self.parts.agents.keep(until).await;
    }

    /// Makes and ends agents with their servers for as long as it is polled.
    pub async fn follow(self: Arc<Self>) {
        let mut generations = self.parts.router.catalog.generations();
        loop {
            generations.mark_unchanged();
            self.keep_up();
            if generations.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until no call is under way any more.
    pub async fn end(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn keep_up(&self) {
        let cards = (self.parts.cards)();
        let there: HashSet<ServerId> = cards.iter().map(|card| card.id).collect();
        for gone in self.parts.agents.list().iter().filter(|standing| !there.contains(&standing.card.id)) {
            self.parts.agents.remove(gone.card.id);
        }
        for card in cards {
            self.parts.agents.ensure(card);
        }
    }

    fn connector(&self, key: &str, view: &View) -> Option<ServerName> {
        self.agent(key, view).map(|standing| standing.card.name.clone())
    }

    fn mind(&self, server: &ServerName, who: Who<'_>) -> Mind {
        if let Some(Configured { model, max_tokens }) = &self.parts.model {
            return Mind::Configured { model: model.clone(), max_tokens: *max_tokens };
        }
        match ClientSampler::of(server, who) {
            Some(sampler) => Mind::Client(Arc::new(Sampling::new(Arc::new(sampler)))),
            None => {
                let target = self.target(server, who.view);
                Mind::Nothing(Arc::new(ByWays::new(target, who.view, &self.parts.finder)))
            }
        }
    }

    fn calls(&self, who: Who<'_>) -> Calls {
        Calls {
            router: self.parts.router.clone(),
            tasks: self.tasks.clone(),
            caller: who.caller.clone(),
            aside: who.aside.cloned(),
        }
    }
}
