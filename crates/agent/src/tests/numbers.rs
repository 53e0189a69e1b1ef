//! The numbers of agents, and what of them outlives a restart.

use std::sync::Arc;
use std::time::Duration;

use portolan_llm::{Budget, Cost, Price, PriceTable, Usage};
use portolan_model::{Moment, Origin, ServerName, Workspace};
use portolan_store::{ServerRecord, SqliteStore, Store};
use portolan_testkit::ModelServer;
use portolan_testkit::model_server::Reply;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::kit::{DIALECTS, FakeHands, OPTIONS, SHORT, ask, asked_of, card, configured, github};
use crate::{Agents, Card};

/// Three in, one out: 3 × 1 + 1 × 2 millionths.
fn priced() -> Arc<Budget> {
    let price = Price { input: "1".parse().unwrap(), output: "2".parse().unwrap() };
    let prices: PriceTable = [("scripted".to_owned(), price)].into_iter().collect();
    Arc::new(Budget::new(prices, Arc::new(|| Moment::from_millis(1_736_330_400_005))))
}

async fn registered(store: &SqliteStore, card: &Card) {
    let server = ServerRecord {
        id: card.id,
        workspace: Workspace::default(),
        name: card.name.clone(),
        origin: Origin::Registered,
        description: None,
        sealed_spec: None,
        is_wanted: true,
        registered_at: Moment::from_millis(1),
        updated_at: Moment::from_millis(1),
    };
    store.add_server(&server).await.unwrap();
}

#[tokio::test]
async fn what_an_agent_has_done_outlives_a_restart_and_so_does_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
    let (github, unused) = (card("github"), card("unused"));
    registered(&store, &github).await;
    let server = ModelServer::start().await;
    server.then(Reply::text("Hi").using(Some((3, 1)))).then(Reply::refusal(400, "no"));
    let hands = FakeHands::saying("find", "x");

    let agents = Agents::new(OPTIONS, priced(), Some(Arc::clone(&store) as Arc<dyn Store>));
    agents.load().await.unwrap();
    agents.ensure(github.clone());
    // One that the store does not know does not keep the others from being written.
    agents.ensure(unused);
    for _ in 0..2 {
        asked_of(&agents, &hands, configured(&server, DIALECTS[0]), &ask("hi")).await;
    }
    let before = agents.find("github").unwrap();
    assert_eq!((before.tally.calls, before.tally.errors), (2, 1));
    assert_eq!(before.tally.usage, Usage { input: 3, output: 1 });
    assert_eq!(before.tally.cost, "0.000005".parse::<Cost>().unwrap());
    assert_eq!(before.today.usage, before.tally.usage);
    assert!(before.tally.last_used_at.is_some());
    let over = CancellationToken::new();
    over.cancel();
    agents.keep(over).await;

    let again = Agents::new(OPTIONS, priced(), Some(store as Arc<dyn Store>));
    again.load().await.unwrap();
    again.ensure(github);
    let after = again.find("github").unwrap();
    let whole_millis = |time: Duration| Duration::from_millis(u64::try_from(time.as_millis()).unwrap());
    let stored = crate::Tally {
        latency_total: whole_millis(before.tally.latency_total),
        latency_max: whole_millis(before.tally.latency_max),
        ..before.tally
    };
    assert_eq!((after.tally, after.today), (stored, before.today));
}

#[tokio::test]
async fn numbers_are_written_while_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
    let github = card("github");
    registered(&store, &github).await;
    let server = ModelServer::answering(|_| Reply::text("Hi")).await;
    let agents = Agents::new(OPTIONS, priced(), Some(Arc::clone(&store) as Arc<dyn Store>));
    agents.ensure(github);
    let over = CancellationToken::new();
    let work = async {
        asked_of(&agents, &FakeHands::saying("find", "x"), configured(&server, DIALECTS[0]), &ask("hi"))
            .await;
        while store.agent_tallies().await.unwrap().is_empty() {
            // The database is looked at from outside, as a restart would.
            tokio::time::sleep(SHORT).await;
        }
        over.cancel();
    };
    tokio::join!(agents.keep(over.clone()), work);
    assert_eq!(store.agent_tallies().await.unwrap()[0].calls, 1);
}

#[tokio::test]
async fn ec_008_a_renamed_server_keeps_its_agent_s_numbers_and_account() {
    let server = ModelServer::answering(|_| Reply::text("Hi")).await;
    let agents = github(OPTIONS);
    asked_of(&agents, &FakeHands::saying("find", "x"), configured(&server, DIALECTS[0]), &ask("hi")).await;
    let before = agents.find("github").unwrap();
    agents.ensure(Card { name: ServerName::parse("hub").unwrap(), ..(*before.card).clone() });
    assert_eq!(agents.find("github"), None);
    let after = agents.find(&before.card.id.to_string()).unwrap();
    assert_eq!((after.tally, after.today), (before.tally, before.today));
    assert_eq!(after.card.name.as_str(), "hub");
    assert_eq!(after.today.usage.total(), 15);
}

#[tokio::test]
async fn a_connector_that_is_not_there_is_an_error_of_its_own() {
    let server = ModelServer::start().await;
    let missing = crate::Ask { connector: "linear".to_owned(), ..ask("hi") };
    let report =
        asked_of(&github(OPTIONS), &FakeHands::saying("a", "b"), configured(&server, DIALECTS[0]), &missing)
            .await;
    let expected = json!({
        "code": "CONNECTOR_NOT_FOUND",
        "message": "MCP connector linear not found or not active",
        "details": { "connectorId": "linear" },
    });
    assert_eq!(json!(report)["error"], expected);
}
