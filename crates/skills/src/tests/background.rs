//! What the sorter does when all goes well.

use super::kit::{World, id, pair};
use portolan_model::Classification::{Classified, Unclassified};
use portolan_model::{SkillSource, SuggestionState, Workspace};
use portolan_store::{Assignment, Overwrite, Page, Store as _, ToolSkills};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn br_004_tools_are_classified_after_they_were_discovered() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather"), ("send", "a mail")]).await;
    world.until(2, Classified).await;
    assert_eq!(world.assigned().await, [pair("rain", "weather"), pair("send", "mail")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_changes_is_classified_anew_and_the_others_are_not() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather"), ("send", "a mail")]).await;
    world.until(2, Classified).await;
    world.list(&[("rain", "a shop"), ("send", "a mail"), ("buy", "at a shop")]).await;
    let expected = [pair("buy", "shop"), pair("rain", "shop"), pair("send", "mail")];
    world.eventually("the new skills", async || world.assigned().await == expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ec_006_five_hundred_tools_and_more_than_the_queue_holds_are_all_classified() {
    let world = World::new(None).await;
    let names: Vec<String> = (0..1300).map(|n| format!("tool_{n}")).collect();
    let tools: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "the weather")).collect();
    world.list(&tools).await;
    world.until(1300, Classified).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nothing_fits_waits_for_a_suggestion() {
    let world = World::new(None).await;
    world.list(&[("plant", "a tree"), ("rain", "the weather"), ("water", "the beds")]).await;
    world.until(2, Unclassified).await;
    let workspace = Workspace::default();
    let found = world.store.suggestions(&workspace, Some(SuggestionState::Pending), Page::ALL).await.unwrap();
    assert_eq!(found.total, 1);
    let tools: Vec<&str> = found.items[0].tools.iter().map(|(_, tool)| tool.as_str()).collect();
    assert_eq!((found.items[0].name.as_str(), tools), ("Garden hub", vec!["plant", "water"]));
    assert_eq!(world.store.open_tools(&workspace, None, 9).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_loses_its_meaning_loses_its_skills() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Classified).await;
    world.list(&[("rain", "a tree")]).await;
    world.until(1, Unclassified).await;
    assert_eq!(world.assigned().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn br_004_a_persons_word_holds_until_somebody_forces_it() {
    let world = World::new(None).await;
    let persons =
        Assignment { skill: id("shop"), confidence: 1.0, source: SkillSource::Human, is_primary: true };
    let theirs =
        ToolSkills { tool: "rain".to_owned(), fingerprint: String::new(), assignments: vec![persons] };
    world.store.assign_skills(world.server, &[theirs], Overwrite::Everything).await.unwrap();
    world.list(&[("rain", "the weather"), ("snow", "the weather")]).await;
    world.until(2, Classified).await;
    assert_eq!(world.assigned().await, [pair("rain", "shop"), pair("snow", "weather")]);
    assert_eq!(world.sorter.classify(world.server, ["rain".to_owned()], Overwrite::Everything), 1);
    let expected = [pair("rain", "weather"), pair("snow", "weather")];
    world.eventually("the machine's word", async || world.assigned().await == expected).await;
}
