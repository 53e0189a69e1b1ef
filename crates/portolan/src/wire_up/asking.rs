//! Questions put together: the fan-out query and the agents, with what they may spend and how long they may take.

use super::llm::{cost, prices};
use portolan_agent::{Agents, Card, Limits, Options};
use portolan_ask::{Asker, Cards, Configured, Parts};
use portolan_catalog::Catalog;
use portolan_config::{AgentsSettings, QuerySettings, Settings};
use portolan_finder::Finder;
use portolan_llm::{Budget, ChatModel, Limits as ModelLimits};
use portolan_model::{Moment, ServerId, ServerName};
use portolan_query::{Limits as QueryLimits, Route, Rules};
use portolan_registry::Registry;
use portolan_router::Router;
use portolan_store::Store;
use portolan_upstream::Fleet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What agents remember by, and think with.
pub(crate) struct Minds {
    pub(crate) model: Option<Arc<dyn ChatModel>>,
    pub(crate) store: Option<Arc<dyn Store>>,
    /// Who knows the servers' ids; without it they last as long as the process.
    pub(crate) registry: Option<Arc<Registry>>,
}

pub(super) fn asker(
    settings: &Settings,
    router: &Arc<Router>,
    finder: &Arc<Finder>,
    minds: Minds,
) -> Arc<Asker> {
    let Minds { model, store, registry } = minds;
    let budget = Arc::new(Budget::new(prices(&settings.llm), Arc::new(Moment::now)));
    let agents = Arc::new(Agents::new(options(&settings.agents), budget, store));
    let limits = limits(&settings.agents);
    let catalog = router.catalog.clone();
    let cards = match registry {
        Some(registry) => of_registry(registry, catalog, limits),
        None => of_fleet(router.fleet.clone(), catalog, limits),
    };
    let max_tokens = settings.llm.max_tokens;
    Asker::new(Parts {
        router: router.clone(),
        finder: finder.clone(),
        agents,
        cards,
        model: model.map(|model| Configured { model, max_tokens }),
        rules: rules(&settings.query),
        limits: QueryLimits {
            per_server: settings.query.server_timeout,
            in_all: settings.query.timeout,
            ..QueryLimits::default()
        },
    })
}

fn of_registry(registry: Arc<Registry>, catalog: Arc<Catalog>, limits: Limits) -> Cards {
    Box::new(move || {
        let card =
            |(id, name, description)| card(&catalog, Card { description, limits, ..Card::new(id, name) });
        registry.roster().into_iter().map(card).collect()
    })
}

fn of_fleet(fleet: Arc<Fleet>, catalog: Arc<Catalog>, limits: Limits) -> Cards {
    let ids: Mutex<HashMap<ServerName, ServerId>> = Mutex::default();
    Box::new(move || {
        let mut ids = ids.lock().unwrap_or_else(PoisonError::into_inner);
        let mut of_member = |name: &ServerName, description: Option<String>| {
            let id = *ids.entry(name.clone()).or_insert_with(ServerId::random);
            card(&catalog, Card { description, limits, ..Card::new(id, name.clone()) })
        };
        let members = fleet.members();
        members.iter().map(|member| of_member(&member.spec.name, member.spec.description.clone())).collect()
    })
}

/// The card with what the server itself says to models.
fn card(catalog: &Catalog, card: Card) -> Card {
    let snapshot = catalog.snapshot();
    let offer = snapshot.servers().get(&card.name).and_then(|entry| entry.offer());
    let instructions = offer.and_then(|offer| offer.manner.instructions.as_deref().map(str::to_owned));
    Card { instructions, ..card }
}

fn options(agents: &AgentsSettings) -> Options {
    Options {
        at_once: agents.at_once,
        query_time: agents.timeout,
        usual_tools: agents.max_tools,
        ..Options::default()
    }
}

fn limits(agents: &AgentsSettings) -> Limits {
    Limits {
        queries_per_minute: agents.queries_per_minute,
        model: ModelLimits {
            requests_per_minute: None,
            tokens_per_day: agents.tokens_per_day,
            cost_per_day: agents.budget.map(cost),
        },
    }
}

fn rules(query: &QuerySettings) -> Rules {
    let route = |route: &portolan_config::QueryRoute| Route {
        pattern: route.pattern.clone(),
        servers: route.servers.clone(),
    };
    Rules { weights: query.weights.to_map(), routes: query.routes.iter().map(route).collect() }
}
