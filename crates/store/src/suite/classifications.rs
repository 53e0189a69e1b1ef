//! Which tools have which skills, and which still wait for some.

use super::skills::id;
use super::{added, defined, draft, drafts};
use crate::{
    Assignment, AssignmentFinder, AssignmentRecord, ClassificationRecord, Overwrite, Page, Store, StoreError,
    ToolFinder, ToolSkills,
};
use portolan_model::{Classification, ServerId, SkillSource, Workspace, fingerprint};
use std::sync::Arc;

pub(super) fn assignment(skill: &str, confidence: f64, source: SkillSource) -> Assignment {
    Assignment { skill: id(skill), confidence, source, is_primary: false }
}

impl Assignment {
    pub(super) fn primary(self) -> Self {
        Self { is_primary: true, ..self }
    }
}

/// What a draft of this name is fingerprinted with.
pub(super) fn print(tool: &str) -> String {
    fingerprint([draft(tool).definition.as_bytes()])
}

fn of_tool(tool: &str, assignments: &[Assignment]) -> ToolSkills {
    ToolSkills { tool: tool.to_owned(), fingerprint: print(tool), assignments: assignments.to_vec() }
}

pub(super) fn unclassified(tool: &str, tries: u32) -> ClassificationRecord {
    ClassificationRecord {
        tool: tool.to_owned(),
        state: Classification::Unclassified,
        fingerprint: print(tool),
        tries,
        last_error: Some("the model is away".to_owned()),
    }
}

async fn all(store: &dyn Store, server: ServerId) -> Vec<AssignmentRecord> {
    let finder = AssignmentFinder { server: Some(server), ..AssignmentFinder::default() };
    store.assignments(&finder).await.unwrap()
}

pub(super) async fn assigned(store: &dyn Store, server: ServerId, tool: &str) -> Vec<Assignment> {
    let all = all(store, server).await;
    all.into_iter().filter(|record| record.tool == tool).map(|record| record.assignment).collect()
}

pub(super) async fn states(store: &dyn Store, server: ServerId) -> Vec<(String, Classification)> {
    let records = store.classifications(server, None).await.unwrap();
    records.into_iter().map(|record| (record.tool, record.state)).collect()
}

pub(super) async fn open(store: &dyn Store, limit: u32) -> Vec<(String, Classification, u32)> {
    let open = store.open_tools(&Workspace::default(), None, limit).await.unwrap();
    open.into_iter().map(|open| (open.tool, open.state, open.tries)).collect()
}

pub(crate) async fn br_004_the_skills_of_a_tool_come_primary_first(store: Arc<dyn Store>) {
    let (server, other) = (added(&*store, "github").await, added(&*store, "other").await);
    let from = SkillSource::Llm;
    let of_one =
        [assignment("c", 0.5, from).primary(), assignment("a", 0.9, from), assignment("b", 0.6, from)];
    let mixed = [of_one[2].clone(), of_one[0].clone(), of_one[1].clone()];
    let of_two = [assignment("a", 1.0, from).primary()];
    let tools = [of_tool("two", &of_two), of_tool("one", &mixed)];
    store.assign_skills(server.id, &tools, Overwrite::KeepPersons).await.unwrap();
    store.assign_skills(other.id, &[of_tool("two", &of_two)], Overwrite::KeepPersons).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, of_one);
    assert_eq!(all(&*store, server.id).await.len(), 4);
    let with_a = AssignmentFinder { skill: Some(id("a")), ..AssignmentFinder::default() };
    let with_a = store.assignments(&with_a).await.unwrap();
    let with_a: Vec<_> = with_a.iter().map(|record| (record.server, record.tool.as_str())).collect();
    assert_eq!(with_a, [(server.id, "one"), (server.id, "two"), (other.id, "two")]);
    let elsewhere = AssignmentFinder { workspace: "other".into(), ..AssignmentFinder::default() };
    assert_eq!(store.assignments(&elsewhere).await.unwrap(), []);
    // The next time they are others, and nothing is left of these.
    store.assign_skills(server.id, &[of_tool("one", &of_two)], Overwrite::KeepPersons).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, of_two);
}

pub(crate) async fn br_004_a_page_of_tools_comes_with_their_skills(store: Arc<dyn Store>) {
    let (server, other) = (added(&*store, "github").await, added(&*store, "other").await);
    store.put_tools(server.id, &drafts(&["one", "two", "three"])).await.unwrap();
    store.put_tools(other.id, &drafts(&["two"])).await.unwrap();
    let from = SkillSource::Llm;
    let of_two =
        [assignment("c", 0.5, from).primary(), assignment("a", 0.9, from), assignment("b", 0.6, from)];
    let of_three = [assignment("a", 1.0, SkillSource::Human).primary()];
    let tools = [of_tool("two", &of_two), of_tool("three", &of_three), of_tool("gone", &of_three)];
    store.assign_skills(server.id, &tools, Overwrite::KeepPersons).await.unwrap();
    let find = async |finder: ToolFinder, page: Page| {
        let found = store.tools(&finder, page).await.unwrap();
        let shown = found.items.into_iter().map(|tool| (tool.name, tool.skills));
        (shown.collect::<Vec<_>>(), found.total)
    };
    let (two, three) = (("two".to_owned(), of_two.to_vec()), ("three".to_owned(), of_three.to_vec()));
    let all = vec![("one".to_owned(), vec![]), two.clone(), three.clone(), ("two".to_owned(), vec![])];
    assert_eq!(find(ToolFinder::default(), Page::ALL).await, (all, 4));
    let middle = Page { limit: 1, offset: 1 };
    assert_eq!(find(ToolFinder::default(), middle).await, (vec![two.clone()], 4));
    let with = |skill: &str| ToolFinder { skill: Some(id(skill)), ..ToolFinder::default() };
    assert_eq!(find(with("a"), Page::ALL).await, (vec![two.clone(), three.clone()], 2));
    assert_eq!(find(with("a"), middle).await, (vec![three], 2));
    assert_eq!(find(with("b"), Page::ALL).await, (vec![two], 1));
    assert_eq!(find(with("none"), Page::ALL).await, (vec![], 0));
}

pub(crate) async fn ec_006_more_assignments_than_a_statement_takes_are_written_whole(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let skills = [assignment("a", 0.9, SkillSource::Llm).primary(), assignment("b", 0.6, SkillSource::Llm)];
    let tools: Vec<ToolSkills> = (0..250).map(|n| of_tool(&format!("tool {n:03}"), &skills)).collect();
    let waiting: Vec<_> = tools.iter().map(|tool| unclassified(&tool.tool, 1)).collect();
    store.put_classifications(server.id, &waiting).await.unwrap();
    let by_person = [assignment("c", 1.0, SkillSource::Human).primary()];
    let theirs = of_tool("tool 150", &by_person);
    store.assign_skills(server.id, &[theirs], Overwrite::Everything).await.unwrap();
    // A second time they are replaced, and a person's word stays among them.
    for _ in 0..2 {
        store.assign_skills(server.id, &tools, Overwrite::KeepPersons).await.unwrap();
    }
    for tool in &tools {
        let expected = if tool.tool == "tool 150" { &by_person[..] } else { &skills[..] };
        assert_eq!(assigned(&*store, server.id, &tool.tool).await, expected);
    }
    let expected: Vec<_> = tools.into_iter().map(|tool| (tool.tool, Classification::Classified)).collect();
    assert_eq!(states(&*store, server.id).await, expected);
}

pub(crate) async fn br_008_tools_are_counted_by_skill_as_long_as_they_are_there(store: Arc<dyn Store>) {
    let (server, other) = (added(&*store, "github").await, added(&*store, "other").await);
    let from = SkillSource::Embedding;
    let both = [assignment("a", 0.9, from).primary(), assignment("b", 0.6, from)];
    for server in [&server, &other] {
        store.put_tools(server.id, &drafts(&["one", "two", "bare"])).await.unwrap();
        let tools = [of_tool("one", &both), of_tool("two", &both[..1]), of_tool("bare", &[])];
        store.assign_skills(server.id, &tools, Overwrite::KeepPersons).await.unwrap();
    }
    let counted = async || {
        let mut counts = store.skill_counts(&Workspace::default()).await.unwrap();
        counts.sort();
        (counts, store.classified_tools(&Workspace::default()).await.unwrap())
    };
    assert_eq!(counted().await, (vec![(id("a"), 4), (id("b"), 2)], 4));
    store.put_tools(server.id, &drafts(&["two"])).await.unwrap();
    assert_eq!(counted().await, (vec![(id("a"), 3), (id("b"), 1)], 3));
    store.remove_server(other.id).await.unwrap();
    assert_eq!(counted().await, (vec![(id("a"), 1)], 1));
    assert_eq!(store.skill_counts(&"other".into()).await.unwrap(), []);
    assert_eq!(store.classified_tools(&"other".into()).await.unwrap(), 0);
}

pub(crate) async fn br_004_a_persons_assignment_is_overwritten_by_force_alone(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let persons = [assignment("a", 1.0, SkillSource::Human).primary()];
    store.assign_skills(server.id, &[of_tool("one", &persons)], Overwrite::Everything).await.unwrap();
    let machines = [assignment("b", 0.9, SkillSource::Embedding).primary()];
    let changed = ToolSkills { fingerprint: "new".to_owned(), ..of_tool("one", &machines) };
    store.assign_skills(server.id, std::slice::from_ref(&changed), Overwrite::KeepPersons).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, persons);
    // It counts as looked at all the same.
    assert_eq!(store.classifications(server.id, None).await.unwrap()[0].fingerprint, "new");
    store.assign_skills(server.id, &[changed], Overwrite::Everything).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, machines);
}

pub(crate) async fn a_persons_assignment_outlives_the_absence_of_its_tool(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["one", "two"])).await.unwrap();
    let persons = [assignment("a", 1.0, SkillSource::Human).primary()];
    store.assign_skills(server.id, &[of_tool("one", &persons)], Overwrite::Everything).await.unwrap();
    store.put_tools(server.id, &drafts(&["two"])).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, persons);
    store.put_tools(server.id, &drafts(&["one"])).await.unwrap();
    assert_eq!(assigned(&*store, server.id, "one").await, persons);
    assert_eq!(open(&*store, 9).await, []);
}

pub(crate) async fn br_008_a_server_takes_its_assignments_and_states_with_it(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let persons = [assignment("a", 1.0, SkillSource::Human).primary()];
    store.assign_skills(server.id, &[of_tool("one", &persons)], Overwrite::Everything).await.unwrap();
    store.remove_server(server.id).await.unwrap();
    let late = store.assign_skills(server.id, &[of_tool("one", &persons)], Overwrite::KeepPersons).await;
    assert!(matches!(late, Err(StoreError::NoSuchServer)), "{late:?}");
    let late = store.put_classifications(server.id, &[unclassified("one", 1)]).await;
    assert!(matches!(late, Err(StoreError::NoSuchServer)), "{late:?}");
    store.add_server(&server).await.unwrap();
    assert_eq!(all(&*store, server.id).await, []);
    assert_eq!(states(&*store, server.id).await, []);
}

pub(crate) async fn how_far_a_tool_is_reads_back_as_it_was_written(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let failed =
        [unclassified("one", 3), ClassificationRecord { last_error: None, ..unclassified("two", 0) }];
    store.put_classifications(server.id, &failed).await.unwrap();
    assert_eq!(store.classifications(server.id, None).await.unwrap(), failed);
    let classified = ClassificationRecord {
        tool: "one".to_owned(),
        state: Classification::Classified,
        fingerprint: print("one"),
        tries: 0,
        last_error: None,
    };
    store.assign_skills(server.id, &[of_tool("one", &[])], Overwrite::KeepPersons).await.unwrap();
    assert_eq!(store.classifications(server.id, None).await.unwrap(), [classified, failed[1].clone()]);
    let two = ["two".to_owned(), "three".to_owned()];
    assert_eq!(store.classifications(server.id, Some(&two)).await.unwrap(), failed[1..]);
    assert_eq!(store.classifications(server.id, Some(&[])).await.unwrap(), []);
}

pub(crate) async fn ec_009_what_is_not_classified_or_has_changed_is_open(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    let other = added(&*store, "other").await;
    store.put_tools(server.id, &drafts(&["new", "done", "failed", "halfway"])).await.unwrap();
    store.put_tools(other.id, &drafts(&["elsewhere"])).await.unwrap();
    let any = [assignment("a", 0.9, SkillSource::Llm).primary()];
    store.assign_skills(server.id, &[of_tool("done", &any)], Overwrite::KeepPersons).await.unwrap();
    let halfway = ClassificationRecord { state: Classification::Classifying, ..unclassified("halfway", 0) };
    store.put_classifications(server.id, &[unclassified("failed", 2), halfway]).await.unwrap();
    let new = |tool: &str| (tool.to_owned(), Classification::Discovered, 0);
    let halfway = ("halfway".to_owned(), Classification::Classifying, 0);
    let failed = ("failed".to_owned(), Classification::Unclassified, 2);
    assert_eq!(open(&*store, 9).await, [new("new"), halfway.clone(), new("elsewhere"), failed.clone()]);
    let of_other = store.open_tools(&Workspace::default(), Some(other.id), 9).await.unwrap();
    assert_eq!(of_other.len(), 1);

    let changed = ["done", "failed"].map(|tool| defined(tool, "{\"title\": \"Other\"}"));
    let list = [draft("new"), changed[0].clone(), changed[1].clone()];
    store.put_tools(server.id, &list).await.unwrap();
    assert_eq!(open(&*store, 9).await, [new("new"), new("done"), new("failed"), new("elsewhere")]);
}

pub(crate) async fn open_tools_come_fewest_failures_first_and_only_so_many(store: Arc<dyn Store>) {
    let server = added(&*store, "github").await;
    store.put_tools(server.id, &drafts(&["worst", "bad", "new"])).await.unwrap();
    let failed = [unclassified("worst", 2), unclassified("bad", 1)];
    store.put_classifications(server.id, &failed).await.unwrap();
    let names: Vec<String> = open(&*store, 2).await.into_iter().map(|(tool, _, _)| tool).collect();
    assert_eq!(names, ["new", "bad"]);
}
