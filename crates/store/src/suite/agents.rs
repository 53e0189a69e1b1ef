//! What connector agents have done.

use super::added;
use crate::{AgentDay, AgentTallyRecord, Store, StoreError};
use portolan_model::{Moment, ServerId};
use std::sync::Arc;

fn tally(server: ServerId, calls: u64) -> AgentTallyRecord {
    AgentTallyRecord {
        server,
        calls,
        errors: 2,
        tokens_in: 3,
        tokens_out: 4,
        cost: 5,
        latency_total: 6,
        latency_max: i64::MAX.cast_unsigned(),
        last_used_at: Some(Moment::from_millis(8)),
        today: AgentDay { day: 9, tokens_in: 10, tokens_out: 11, cost: 12 },
    }
}

pub(crate) async fn the_tally_of_an_agent_is_what_was_put_last(store: Arc<dyn Store>) {
    assert_eq!(store.agent_tallies().await.unwrap(), []);
    let (one, other) = (added(&*store, "one").await.id, added(&*store, "other").await.id);
    let unused = AgentTallyRecord { last_used_at: None, today: AgentDay::default(), ..tally(other, 0) };
    for record in [tally(one, 1), unused, tally(one, 7)] {
        store.put_agent_tally(&record).await.unwrap();
    }
    let mut expected = [tally(one, 7), unused];
    expected.sort_by_key(|record| record.server.to_string());
    assert_eq!(store.agent_tallies().await.unwrap(), expected);
}

pub(crate) async fn a_number_beyond_the_table_stays_at_its_end(store: Arc<dyn Store>) {
    let one = added(&*store, "one").await.id;
    store.put_agent_tally(&tally(one, u64::MAX)).await.unwrap();
    assert_eq!(store.agent_tallies().await.unwrap(), [tally(one, i64::MAX.cast_unsigned())]);
}

pub(crate) async fn br_008_a_server_takes_the_tally_of_its_agent_with_it(store: Arc<dyn Store>) {
    let one = added(&*store, "one").await.id;
    store.put_agent_tally(&tally(one, 1)).await.unwrap();
    store.remove_server(one).await.unwrap();
    assert_eq!(store.agent_tallies().await.unwrap(), []);
    let late = store.put_agent_tally(&tally(one, 2)).await;
    assert!(matches!(late, Err(StoreError::NoSuchServer)), "{late:?}");
}
