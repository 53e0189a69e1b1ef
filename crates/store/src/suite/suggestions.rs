//! Skills that seem to be missing, and what people make of them.

use super::classifications::{assigned, assignment, open, states, unclassified};
use super::skills::{id, skill};
use super::{added, defined, drafts};
use crate::{
    Overwrite, Page, ServerRecord, Settled, SkillRecord, Store, SuggestionDraft, SuggestionRecord,
    ToolSkills, Verdict,
};
use portolan_model::{
    Classification, Moment, ServerId, SkillSource, SuggestionId, SuggestionState, Workspace,
};
use std::sync::Arc;

const AT: Moment = Moment::from_millis(77);

fn draft(name: &str, tools: &[(ServerId, &str)]) -> SuggestionDraft {
    SuggestionDraft {
        workspace: Workspace::default(),
        name: name.to_owned(),
        description: format!("about {name}"),
        tools: tools.iter().map(|(server, tool)| (*server, (*tool).to_owned())).collect(),
    }
}

async fn all(store: &dyn Store, state: Option<SuggestionState>) -> Vec<SuggestionRecord> {
    let found = store.suggestions(&Workspace::default(), state, Page::ALL).await.unwrap();
    assert_eq!(found.total, found.items.len() as u64);
    found.items
}

/// A server with the tools `one` and `two`, which nothing fitted, and the suggestion that waits for them.
async fn waiting(store: &dyn Store) -> (ServerRecord, SuggestionId) {
    let server = added(store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
    let nothing_fitted = [unclassified("one", 1), unclassified("two", 1)];
    store.put_classifications(server.id, &nothing_fitted).await.unwrap();
    store.suggest(&draft("Gardening", &[(server.id, "one"), (server.id, "two")])).await.unwrap();
    let id = all(store, None).await[0].id;
    (server, id)
}

#[track_caller]
fn check_given(assigned: &[crate::Assignment], skill: &str) {
    assert_eq!(assigned, [assignment(skill, 1.0, SkillSource::Human).primary()]);
}

pub(crate) async fn tools_that_nothing_fits_join_the_suggestion_that_waits(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.suggest(&draft("Gardening", &[(server.id, "two")])).await.unwrap();
    store.suggest(&draft("Cooking", &[(server.id, "one")])).await.unwrap();
    store.suggest(&draft("Gardening", &[(server.id, "two"), (server.id, "one")])).await.unwrap();
    store.suggest(&draft("Gardening", &[(ServerId::random(), "gone")])).await.unwrap();
    let found = all(&*store, Some(SuggestionState::Pending)).await;
    let names: Vec<&str> = found.iter().map(|suggestion| suggestion.name.as_str()).collect();
    assert_eq!(names, ["Cooking", "Gardening"]);
    assert_eq!(found[1].tools, [(server.id, "one".to_owned()), (server.id, "two".to_owned())]);
    assert_eq!((found[1].skill.clone(), found[1].settled_at), (None, None));
    let page = store.suggestions(&Workspace::default(), None, Page { limit: 1, offset: 1 }).await.unwrap();
    assert_eq!((page.items, page.total), (vec![found[1].clone()], 2));
    assert_eq!(store.suggestions(&"other".into(), None, Page::ALL).await.unwrap().total, 0);
}

pub(crate) async fn an_approved_suggestion_is_a_skill_that_its_tools_have(store: Arc<dyn Store>) {
    let (server, suggestion) = waiting(&*store).await;
    let verdict = Verdict::Approve(Box::new(skill("gardening")));
    let Settled::Done(settled) = store.settle_suggestion(suggestion, &verdict, AT).await.unwrap() else {
        panic!("not settled");
    };
    assert_eq!((settled.state, &settled.skill), (SuggestionState::Approved, &Some(id("gardening"))));
    assert_eq!(store.suggestion(suggestion).await.unwrap().as_ref(), Some(&settled));
    assert_eq!(all(&*store, None).await, [settled]);
    assert_eq!(store.skills(&Workspace::default()).await.unwrap(), [skill("gardening")]);
    for tool in ["one", "two"] {
        check_given(&assigned(&*store, server.id, tool).await, "gardening");
    }
    assert!(states(&*store, server.id).await.iter().all(|(_, state)| *state == Classification::Classified));
}

pub(crate) async fn a_merged_suggestion_gives_its_tools_a_skill_that_is_there(store: Arc<dyn Store>) {
    let (server, suggestion) = waiting(&*store).await;
    let verdict = Verdict::Merge(id("plants"));
    let settled = store.settle_suggestion(suggestion, &verdict, AT).await.unwrap();
    assert_eq!(settled, Settled::NoSuchSkill);
    store.add_skill(&skill("plants")).await.unwrap();
    let settled = store.settle_suggestion(suggestion, &verdict, AT).await.unwrap();
    let Settled::Done(settled) = settled else { panic!("{settled:?}") };
    assert_eq!((settled.state, settled.settled_at), (SuggestionState::Merged, Some(AT)));
    check_given(&assigned(&*store, server.id, "one").await, "plants");
}

pub(crate) async fn a_rejected_suggestion_is_not_made_again(store: Arc<dyn Store>) {
    let (server, suggestion) = waiting(&*store).await;
    store.settle_suggestion(suggestion, &Verdict::Reject, AT).await.unwrap();
    store.suggest(&draft("Gardening", &[(server.id, "three")])).await.unwrap();
    let found = all(&*store, None).await;
    assert_eq!((found.len(), found[0].state, found[0].tools.len()), (1, SuggestionState::Rejected, 3));
    assert_eq!(assigned(&*store, server.id, "one").await, []);
    assert_eq!(open(&*store, 9).await, []);
}

pub(crate) async fn a_suggestion_is_settled_once(store: Arc<dyn Store>) {
    let (server, suggestion) = waiting(&*store).await;
    let settle = |verdict: Verdict| {
        let store = Arc::clone(&store);
        async move { store.settle_suggestion(suggestion, &verdict, AT).await.unwrap() }
    };
    store.add_skill(&SkillRecord { name: "Mine".to_owned(), ..skill("gardening") }).await.unwrap();
    // What cannot be done leaves it waiting.
    assert_eq!(settle(Verdict::Approve(Box::new(skill("gardening")))).await, Settled::SkillTaken);
    assert!(matches!(settle(Verdict::Merge(id("gardening"))).await, Settled::Done(_)));
    assert_eq!(settle(Verdict::Reject).await, Settled::Already(SuggestionState::Merged));
    check_given(&assigned(&*store, server.id, "one").await, "gardening");
    let nobodys = store.settle_suggestion(SuggestionId(0), &Verdict::Reject, AT).await.unwrap();
    assert_eq!(nobodys, Settled::NoSuchSuggestion);
    assert_eq!(store.suggestion(SuggestionId(0)).await.unwrap(), None);
}

pub(crate) async fn a_tool_that_waits_for_its_suggestion_is_not_open_until_it_changes(store: Arc<dyn Store>) {
    let (server, _) = waiting(&*store).await;
    assert_eq!(open(&*store, 9).await, []);
    let list = [defined("one", "{\"title\": \"Other\"}"), super::draft("two")];
    store.put_tools(server.id, &list).await.unwrap();
    assert_eq!(open(&*store, 9).await, [("one".to_owned(), Classification::Discovered, 0)]);
}

pub(crate) async fn a_tool_that_has_skills_waits_for_no_suggestion(store: Arc<dyn Store>) {
    let (server, suggestion) = waiting(&*store).await;
    let with = |tool: &str, assignments| ToolSkills {
        tool: tool.to_owned(),
        fingerprint: "f".to_owned(),
        assignments,
    };
    let found = vec![assignment("plants", 0.8, SkillSource::Llm).primary()];
    let tools = [with("one", found.clone()), with("two", Vec::new())];
    store.assign_skills(server.id, &tools, Overwrite::KeepPersons).await.unwrap();
    assert_eq!(all(&*store, None).await[0].tools, [(server.id, "two".to_owned())]);
    let verdict = Verdict::Approve(Box::new(skill("gardening")));
    store.settle_suggestion(suggestion, &verdict, AT).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, found);
    check_given(&assigned(&*store, server.id, "two").await, "gardening");
}
