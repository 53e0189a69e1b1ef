//! What the sorter does while models are away or talk nonsense, and when they are back.

use super::kit::{World, client, client_of, pair};
use portolan_model::Classification::{Classified, Unclassified};
use portolan_model::Workspace;
use portolan_store::{Overwrite, Store as _};
use portolan_testkit::ModelServer;
use portolan_testkit::model_server::{Asked, Nobody, Reply};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// A model that finds every tool to be about mail.
fn all_mail(asked: &Asked) -> Reply {
    let question: Value = serde_json::from_str(&asked.last_words()).unwrap();
    let count = question["tools"].as_array().unwrap().len();
    let tools: Vec<Value> = (1..=count)
        .map(|number| {
            json!({
                "number": number,
                "skills": [{ "id": "mail", "confidence": 0.9 }],
                "missing_skill_name": null,
                "missing_skill_description": null,
            })
        })
        .collect();
    Reply::text(json!({ "tools": tools }).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ec_009_tools_stay_unclassified_while_the_model_is_down_and_recover_by_themselves() {
    let world = World::new(None).await;
    world.vectors.is_away.store(true, Ordering::Relaxed);
    world.list(&[("rain", "the weather"), ("send", "a mail")]).await;
    world.until(2, Unclassified).await;
    let record = world.records().await.remove(0);
    assert_eq!(record.last_error.as_deref(), Some("the embedding model does not answer"));
    assert_eq!(record.tries, 0);
    world.eventually("word of the outage", async || world.away().is_some()).await;
    world.vectors.is_away.store(false, Ordering::Relaxed);
    world.until(2, Classified).await;
    assert_eq!(world.assigned().await, [pair("rain", "weather"), pair("send", "mail")]);
    world.eventually("word of the end of it", async || world.away().is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ec_009_whoever_wants_tools_classified_now_does_not_wait_for_the_end_of_a_pause() {
    let nobody = Nobody::bind();
    let world = World::new(Some(client(nobody.url()))).await;
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Unclassified).await;
    let model = nobody.start();
    let answer = json!({ "tools": [{
        "number": 1,
        "skills": [{ "id": "mail", "confidence": 0.9 }],
        "missing_skill_name": null,
        "missing_skill_description": null,
    }] });
    model.then(Reply::text(answer.to_string()));
    world.sorter.classify(world.server, ["rain".to_owned()], Overwrite::KeepPersons);
    world.until(1, Classified).await;
    assert_eq!(world.assigned().await, [pair("rain", "mail")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f60_nonsense_is_asked_for_only_so_often_and_leaves_the_tool_alone() {
    let model = ModelServer::answering(|_| Reply::text("no")).await;
    let world = World::new(Some(client_of(&model))).await;
    let given_up = async |tool: &str| {
        let records = world.records().await;
        records.iter().any(|record| record.tool == tool && record.state == Unclassified && record.tries == 3)
    };
    world.list(&[("rain", "the weather")]).await;
    world.eventually("the end of its tries", async || given_up("rain").await).await;
    // Three tries with one complaint each; and its server telling of it again changes nothing.
    assert_eq!(model.asked().len(), 6);
    world.list(&[("rain", "the weather"), ("snow", "white")]).await;
    world.eventually("the end of the other's", async || given_up("snow").await).await;
    let asked = model.asked().all();
    assert_eq!(asked.len(), 12);
    assert!(asked[6..].iter().all(|asked| !asked.body.to_string().contains("rain")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ec_009_what_is_not_classified_is_queued_again_at_the_next_start() {
    let mut world = World::new(None).await;
    world.vectors.is_away.store(true, Ordering::Relaxed);
    world.list(&[("rain", "the weather"), ("send", "a letter")]).await;
    world.until(2, Unclassified).await;
    let model = ModelServer::answering(all_mail).await;
    world.restart(Some(client_of(&model)));
    world.until(2, Classified).await;
    assert_eq!(world.assigned().await, [pair("rain", "mail"), pair("send", "mail")]);
    assert_eq!(world.store.open_tools(&Workspace::default(), None, 9).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_goes_away_in_between_is_nobodys_trouble() {
    let world = World::new(None).await;
    world.vectors.is_away.store(true, Ordering::Relaxed);
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Unclassified).await;
    world.store.remove_server(world.server).await.unwrap();
    world.eventually("word of the outage", async || world.away().is_some()).await;
    world.sorter.classify(world.server, ["rain".to_owned()], Overwrite::KeepPersons);
    world.eventually("peace", async || world.away().is_none()).await;
    assert_eq!(world.sorter.standing().borrow().waiting, 0);
}
