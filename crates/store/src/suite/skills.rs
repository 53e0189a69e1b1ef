//! Skills, and what becomes of tools when one goes.

use super::classifications::{assigned, assignment, states};
use super::{added, drafts};
use crate::{Overwrite, SkillRecord, Store, ToolSkills};
use portolan_model::{Classification, Moment, SkillId, SkillSource, Workspace};
use std::sync::Arc;

pub(super) fn id(text: &str) -> SkillId {
    SkillId::parse(text).unwrap()
}

/// A skill with something in every field.
pub(super) fn skill(text: &str) -> SkillRecord {
    SkillRecord {
        workspace: Workspace::default(),
        id: id(text),
        name: format!("The skill {text}"),
        description: format!("what {text} is"),
        keywords: vec!["one".to_owned(), "two, \"quoted\"\n".to_owned()],
        examples: vec![format!("Do {text}.")],
        domain: "Data".to_owned(),
        is_built_in: false,
        created_at: Moment::from_millis(5),
        updated_at: Moment::from_millis(6),
    }
}

async fn all(store: &dyn Store) -> Vec<SkillRecord> {
    store.skills(&Workspace::default()).await.unwrap()
}

pub(crate) async fn a_skill_reads_back_as_it_was_written(store: Arc<dyn Store>) {
    let (b, a) = (skill("b"), SkillRecord { keywords: Vec::new(), is_built_in: true, ..skill("a") });
    for one in [&b, &a] {
        assert!(store.add_skill(one).await.unwrap());
    }
    assert_eq!(all(&*store).await, [a, b]);
}

pub(crate) async fn an_id_of_a_skill_is_taken_once_in_a_workspace(store: Arc<dyn Store>) {
    store.add_skill(&skill("a")).await.unwrap();
    let second = SkillRecord { name: "Other".to_owned(), ..skill("a") };
    assert!(!store.add_skill(&second).await.unwrap());
    assert_eq!(all(&*store).await, [skill("a")]);
    let elsewhere = SkillRecord { workspace: "other".into(), ..second };
    assert!(store.add_skill(&elsewhere).await.unwrap());
    assert_eq!(store.skills(&"other".into()).await.unwrap(), [elsewhere]);
    assert_eq!(all(&*store).await, [skill("a")]);
}

pub(crate) async fn a_change_of_a_skill_leaves_what_it_is(store: Arc<dyn Store>) {
    let before = SkillRecord { is_built_in: true, ..skill("a") };
    store.add_skill(&before).await.unwrap();
    let change = SkillRecord {
        name: "New".to_owned(),
        examples: Vec::new(),
        domain: "Other".to_owned(),
        is_built_in: false,
        created_at: Moment::from_millis(99),
        updated_at: Moment::from_millis(7),
        ..before.clone()
    };
    assert!(store.change_skill(&change).await.unwrap());
    let after = SkillRecord { is_built_in: true, created_at: before.created_at, ..change.clone() };
    assert_eq!(all(&*store).await, [after]);
    assert!(!store.change_skill(&SkillRecord { id: id("b"), ..change }).await.unwrap());
}

pub(crate) async fn built_in_skills_are_added_once_and_what_people_did_to_them_stays(store: Arc<dyn Store>) {
    let built_in = |text: &str| SkillRecord { is_built_in: true, ..skill(text) };
    assert_eq!(store.add_missing_skills(&[built_in("a"), built_in("b")]).await.unwrap(), 2);
    let changed = SkillRecord { name: "Mine".to_owned(), ..built_in("a") };
    store.change_skill(&changed).await.unwrap();
    assert!(store.remove_skill(&Workspace::default(), &id("b")).await.unwrap());
    let next = [built_in("a"), built_in("b"), built_in("c")];
    assert_eq!(store.add_missing_skills(&next).await.unwrap(), 1);
    assert_eq!(all(&*store).await, [changed.clone(), built_in("c")]);
    // Only a person brings it back, with what they say of it.
    let again = SkillRecord { name: "Again".to_owned(), ..built_in("b") };
    assert!(store.add_skill(&again).await.unwrap());
    assert_eq!(all(&*store).await, [changed, again, built_in("c")]);
}

pub(crate) async fn a_removed_skill_leaves_its_tools_the_next_best_or_discovered(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["both", "one"])).await.unwrap();
    for text in ["a", "b", "c"] {
        store.add_skill(&skill(text)).await.unwrap();
    }
    let from = SkillSource::Embedding;
    let tools = [
        ToolSkills {
            tool: "both".to_owned(),
            fingerprint: "f".to_owned(),
            assignments: vec![
                assignment("a", 0.9, from).primary(),
                assignment("b", 0.6, from),
                assignment("c", 0.7, from),
            ],
        },
        ToolSkills {
            tool: "one".to_owned(),
            fingerprint: "f".to_owned(),
            assignments: vec![assignment("a", 0.8, from).primary()],
        },
    ];
    store.assign_skills(server.id, &tools, Overwrite::KeepPersons).await.unwrap();
    assert!(store.remove_skill(&Workspace::default(), &id("a")).await.unwrap());
    assert!(!store.remove_skill(&Workspace::default(), &id("a")).await.unwrap());
    let left = [assignment("c", 0.7, from).primary(), assignment("b", 0.6, from)];
    assert_eq!(assigned(&*store, server.id, "both").await, left);
    assert_eq!(assigned(&*store, server.id, "one").await, []);
    assert_eq!(
        states(&*store, server.id).await,
        [("both".to_owned(), Classification::Classified), ("one".to_owned(), Classification::Discovered)]
    );
}
