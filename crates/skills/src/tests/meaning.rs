//! Classification by embedding.

use super::kit::{ThreeWords, classifier, id, server, skill, skills, tool};
use crate::{Found, Suggested, Trouble};
use portolan_model::SkillSource;
use portolan_store::SkillRecord;
use std::sync::Arc;
use std::sync::atomic::Ordering;

async fn found(about: Option<&str>, description: &str) -> Found {
    let vectors = Arc::<ThreeWords>::default();
    let (server, tool) = (server(about), tool("do_it", description));
    classifier(&vectors, None).classify(&skills(), &server, &[&tool]).await.unwrap().remove(0)
}

#[track_caller]
fn check(found: Found, expected: &[&str]) {
    let Found::Skills(assignments) = found else { panic!("{found:?}") };
    let ids: Vec<&str> = assignments.iter().map(|assignment| assignment.skill.as_str()).collect();
    assert_eq!(ids, expected);
    for (rank, assignment) in assignments.iter().enumerate() {
        assert_eq!(assignment.is_primary, rank == 0);
        assert!((0.5..=1.0).contains(&assignment.confidence), "{assignment:?}");
        assert_eq!(assignment.source, SkillSource::Embedding);
    }
}

#[tokio::test]
async fn br_004_a_tool_has_the_skills_that_are_near_the_best_first() {
    check(found(None, "the weather of today").await, &["weather"]);
    check(found(None, "mail me the weather").await, &["mail", "weather"]);
    check(found(None, "a shop that mails the weather").await, &["mail", "shop", "weather"]);
}

#[tokio::test]
async fn batches_that_begin_together_have_the_skills_embedded_once() {
    let alone = Arc::<ThreeWords>::default();
    let (server, tool) = (server(None), tool("do_it", "the weather"));
    let (skills, tools) = (skills(), [&tool]);
    classifier(&alone, None).classify(&skills, &server, &tools).await.unwrap();
    let together = Arc::<ThreeWords>::default();
    let classifier = classifier(&together, None);
    let batch = || classifier.classify(&skills, &server, &tools);
    let (one, two, three) = tokio::join!(batch(), batch(), batch());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    // Only the two further tools are asked for beyond what one batch asks.
    assert_eq!(together.asked.load(Ordering::Relaxed), alone.asked.load(Ordering::Relaxed) + 2);
}

#[tokio::test]
async fn what_the_server_is_about_decides_where_a_tool_says_little() {
    check(found(Some("An online shop"), "Get an item").await, &["shop"]);
    check(found(Some("An online shop"), "Get the weather").await, &["shop", "weather"]);
}

#[tokio::test]
async fn a_tool_that_nothing_fits_gets_a_suggestion_named_after_its_server() {
    let Found::Nothing(Suggested { name, description }) = found(None, "Plant a tree").await else {
        panic!("something fits");
    };
    assert_eq!(name, "Garden hub");
    assert_eq!(description, "No skill fits tools of the server garden-hub, such as do_it: Plant a tree");
}

#[tokio::test]
async fn no_more_than_three_skills_are_given() {
    let vectors = Arc::<ThreeWords>::default();
    let tool = tool("do_it", "the weather of today");
    let same = ["d", "c", "b", "a"].map(|text| SkillRecord { id: id(text), ..skill("weather") });
    let found = classifier(&vectors, None).classify(&same, &server(None), &[&tool]).await.unwrap();
    // All are equally near: the order of their ids decides, each time alike.
    check(found[0].clone(), &["a", "b", "c"]);
}

#[tokio::test]
async fn f61_an_embedding_model_that_is_away_is_told() {
    let vectors = Arc::<ThreeWords>::default();
    vectors.is_away.store(true, Ordering::Relaxed);
    let tool = tool("do_it", "weather");
    let trouble = classifier(&vectors, None).classify(&skills(), &server(None), &[&tool]).await.unwrap_err();
    assert!(matches!(trouble, Trouble::Away(_)), "{trouble:?}");
}

#[tokio::test]
async fn anchors_are_made_once_until_a_skill_or_the_model_is_another() {
    let vectors = Arc::<ThreeWords>::default();
    let classifier = classifier(&vectors, None);
    let (server, tool, mut skills) = (server(None), tool("do_it", "weather"), skills());
    let mut asked = Vec::new();
    for round in 0..4 {
        match round {
            2 => skills[0].examples.push("Forecast.".to_owned()),
            3 => "other".clone_into(&mut vectors.name.lock().unwrap()),
            _ => {}
        }
        vectors.asked.store(0, Ordering::Relaxed);
        classifier.classify(&skills, &server, &[&tool]).await.unwrap();
        asked.push(vectors.asked.load(Ordering::Relaxed));
    }
    // Three texts a skill, two of the background, and the tool; its server says nothing of itself.
    assert_eq!(asked, [12, 1, 13, 13]);
}
