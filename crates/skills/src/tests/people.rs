//! What people say, and what comes of it.

use super::kit::{World, draft, id, pair, skill};
use crate::{SkillDraft, SkillError, SkillPatch};
use portolan_model::Classification::{Classified, Unclassified};
use portolan_model::SuggestionState;
use portolan_store::{Overwrite, Page, SkillRecord};

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, SkillError>, expected: &str) {
    assert_eq!(outcome.unwrap_err().to_string(), expected);
}

fn keys(skills: &[&str]) -> Vec<String> {
    skills.iter().map(|skill| (*skill).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_assigns_skills_and_can_leave_it_to_the_models_again() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Classified).await;
    let rain = world.tool("rain").await;
    world.sorter.assign(&rain, &keys(&["shop", "mail"])).await.unwrap();
    assert_eq!(world.assigned().await, [pair("rain", "shop"), pair("rain", "mail")]);
    world.sorter.assign(&rain, &[]).await.unwrap();
    let expected = [pair("rain", "weather")];
    world.eventually("the machine's word", async || world.assigned().await == expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assignment_that_cannot_be_is_refused_and_changes_nothing() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Classified).await;
    let rain = world.tool("rain").await;
    for (tool, skills, expected) in [
        (rain.as_str(), &["weather", "mail", "shop", "more"][..], "a tool has at most 3 skills"),
        (&rain, &["mail", "mail"], "mail is named twice"),
        (&rain, &["more"], "Skill not found: more"),
        (&rain, &["Not an id"], "Skill not found: Not an id"),
        ("0", &["mail"], "Tool not found: 0"),
        (&format!("+{rain}"), &["mail"], &format!("Tool not found: +{rain}")),
        ("rain", &[], "Tool not found: rain"),
    ] {
        refused(world.sorter.assign(tool, &keys(skills)).await, expected);
    }
    assert_eq!(world.assigned().await, [pair("rain", "weather")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tools_of_a_removed_skill_are_classified_anew() {
    let world = World::new(None).await;
    world.list(&[("both", "mail the weather"), ("rain", "the weather")]).await;
    world.until(2, Classified).await;
    world.sorter.remove_skill("weather").await.unwrap();
    refused(world.sorter.remove_skill("weather").await, "Skill not found: weather");
    world.until(1, Unclassified).await;
    assert_eq!(world.assigned().await, [pair("both", "mail")]);
    // A person names what was missing, and the tool has it.
    let found = world.sorter.suggestions(None, Page::ALL).await.unwrap();
    let settled = world.sorter.approve(&found.items[0].id.to_string(), draft("climate")).await.unwrap();
    assert_eq!((settled.state, settled.skill), (SuggestionState::Approved, Some(id("climate"))));
    assert_eq!(world.assigned().await, [pair("both", "mail"), pair("rain", "climate")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_is_added_changed_in_part_and_counted() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather"), ("snow", "the weather")]).await;
    world.until(2, Classified).await;
    let mut changes = world.sorter.changes();
    changes.mark_unchanged();
    let added = world.sorter.add_skill(draft("climate")).await.unwrap();
    assert!(changes.has_changed().unwrap());
    let same = SkillRecord { created_at: added.created_at, updated_at: added.updated_at, ..skill("climate") };
    assert_eq!(added, same);
    let other = SkillDraft { name: "Other".to_owned(), ..draft("climate") };
    refused(world.sorter.add_skill(other).await, "Skill already exists: climate");
    assert_eq!(world.sorter.skill("climate").await.unwrap(), added);
    let patch =
        SkillPatch { keywords: Some(Vec::new()), domain: Some("World".to_owned()), ..SkillPatch::default() };
    let changed = world.sorter.change_skill("climate", patch.clone()).await.unwrap();
    let expected = SkillRecord {
        keywords: Vec::new(),
        domain: "World".to_owned(),
        updated_at: changed.updated_at,
        ..added
    };
    assert_eq!(changed, expected);
    assert_eq!(world.sorter.skill("climate").await.unwrap(), changed);
    refused(world.sorter.change_skill("more", patch).await, "Skill not found: more");
    let ids: Vec<_> = world.sorter.skills().await.unwrap().into_iter().map(|skill| skill.id).collect();
    assert_eq!(ids, ["climate", "mail", "shop", "weather"].map(id));
    let counts = world.sorter.counts().await.unwrap();
    assert_eq!((counts.len(), counts.get(&id("weather"))), (1, Some(&2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suggestion_is_settled_once() {
    let world = World::new(None).await;
    world.list(&[("plant", "a tree")]).await;
    world.until(1, Unclassified).await;
    let waiting = async || world.sorter.suggestions(Some(SuggestionState::Pending), Page::ALL).await.unwrap();
    let found = waiting().await.items.remove(0);
    let key = found.id.to_string();
    assert_eq!(world.sorter.suggestion(&key).await.unwrap(), found);
    refused(world.sorter.merge(&key, "more").await, "Skill not found: more");
    refused(world.sorter.approve(&key, draft("shop")).await, "Skill already exists: shop");
    let merged = world.sorter.merge(&key, "shop").await.unwrap();
    assert_eq!((merged.state, merged.skill), (SuggestionState::Merged, Some(id("shop"))));
    assert_eq!(world.assigned().await, [pair("plant", "shop")]);
    refused(world.sorter.reject(&key).await, &format!("Suggestion already settled: {key} is MERGED"));
    for nobodys in ["0", "x", "-0", ""] {
        refused(world.sorter.reject(nobodys).await, &format!("Suggestion not found: {nobodys}"));
    }
    assert_eq!(waiting().await.total, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_can_be_classified_anew_however_much_it_is() {
    let world = World::new(None).await;
    let names: Vec<String> = (0..1300).map(|n| format!("tool_{n}")).collect();
    let weather: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "the weather")).collect();
    world.list(&weather).await;
    world.until(1300, Classified).await;
    let text = || Some("shop".to_owned());
    let patch = SkillPatch {
        name: text(),
        description: text(),
        keywords: Some(Vec::new()),
        examples: Some(Vec::new()),
        domain: None,
    };
    world.sorter.change_skill("weather", patch).await.unwrap();
    assert_eq!(world.sorter.classify(world.server, names, Overwrite::KeepPersons), 1300);
    world.until(1300, Unclassified).await;
}
