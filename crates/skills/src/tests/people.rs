//! What people say, and what comes of it.

use super::kit::{World, id, pair, skill};
use crate::Assigned;
use portolan_model::Classification::{Classified, Unclassified};
use portolan_model::Workspace;
use portolan_store::{Page, Settled, Store as _, Verdict};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_assigns_skills_and_can_leave_it_to_the_models_again() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Classified).await;
    let given = world.sorter.assign(world.server, "rain", &[id("shop"), id("mail")]).await.unwrap();
    assert_eq!(given, Assigned::Done);
    assert_eq!(world.assigned().await, [pair("rain", "shop"), pair("rain", "mail")]);
    assert_eq!(world.sorter.assign(world.server, "rain", &[]).await.unwrap(), Assigned::Done);
    let expected = [pair("rain", "weather")];
    world.eventually("the machine's word", async || world.assigned().await == expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assignment_that_cannot_be_is_refused_and_changes_nothing() {
    let world = World::new(None).await;
    world.list(&[("rain", "the weather")]).await;
    world.until(1, Classified).await;
    let four = ["weather", "mail", "shop", "more"].map(id);
    for (tool, skills, expected) in [
        ("rain", &four[..], Assigned::TooMany),
        ("rain", &[id("mail"), id("mail")], Assigned::Twice(id("mail"))),
        ("rain", &[id("more")], Assigned::NoSuchSkill(id("more"))),
        ("snow", &[id("mail")], Assigned::NoSuchTool),
    ] {
        assert_eq!(world.sorter.assign(world.server, tool, skills).await.unwrap(), expected);
    }
    assert_eq!(world.assigned().await, [pair("rain", "weather")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tools_of_a_removed_skill_are_classified_anew() {
    let world = World::new(None).await;
    world.list(&[("both", "mail the weather"), ("rain", "the weather")]).await;
    world.until(2, Classified).await;
    assert!(world.sorter.remove_skill(&id("weather")).await.unwrap());
    world.until(1, Unclassified).await;
    assert_eq!(world.assigned().await, [pair("both", "mail")]);
    // A person names what was missing, and the tool has it.
    let found = world.store.suggestions(&Workspace::default(), None, Page::ALL).await.unwrap();
    let verdict = Verdict::Approve(Box::new(skill("climate")));
    let settled = world.sorter.settle_suggestion(found.items[0].id, &verdict).await.unwrap();
    assert!(matches!(settled, Settled::Done(_)), "{settled:?}");
    assert_eq!(world.assigned().await, [pair("both", "mail"), pair("rain", "climate")]);
}
