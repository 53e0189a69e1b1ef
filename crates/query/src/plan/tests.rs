//! Plans, step by step.

use super::*;
use crate::forms::Manner;
use serde_json::json;

/// Feeds a plan with texts; nothing stands for a call that failed.
fn feed(plan: &mut Plan, texts: &[Option<&str>]) {
    let reply = |text: &str| Reply { structured: None, blocks: vec![json!({"type": "text", "text": text})] };
    let replies: Vec<Option<Reply>> = texts.iter().map(|text| text.map(reply)).collect();
    plan.feed(&replies.iter().map(Option::as_ref).collect::<Vec<_>>());
}

fn slot(argument: &str) -> Slot {
    Slot { argument: argument.to_owned(), is_list: false, most_characters: None }
}

fn ask(question: &Question, manner: Option<Manner>, given: Given) -> Ask {
    let texts = manner.map(|manner| Texts {
        slot: slot("text"),
        forms: question.forms(manner),
        whole_first: manner == Manner::Asked,
    });
    Ask { tool: "ask".to_owned(), fixed: Map::new(), text: texts, given }
}

fn plan(query: &str, manner: Option<Manner>, given: Given) -> Plan {
    let question = Arc::new(Question::read(query));
    let ask = ask(&question, manner, given);
    Plan::new(question, ask, "list of things")
}

fn arguments(calls: &[Call]) -> Vec<Value> {
    calls.iter().map(|call| Value::Object(call.arguments.clone())).collect()
}

fn kept(plan: Plan) -> Vec<String> {
    plan.finish().items.into_iter().map(|item| item.text).collect()
}

#[test]
fn words_are_asked_only_when_the_whole_finds_nothing_and_answers_are_united() {
    let mut plan = plan("What does Ada like to drink?", Some(Manner::Asked), Given::Nothing);
    assert_eq!(arguments(&plan.calls()), [json!({"text": "What does Ada like to drink?"})]);
    feed(&mut plan, &[Some("No results found")]);
    assert_eq!(arguments(&plan.calls()), [json!({"text": "Ada"}), json!({"text": "drink"})]);
    feed(&mut plan, &[Some("[\"Ada likes tea\", \"both\"]"), Some("[\"both\", \"a drink\"]")]);
    assert!(plan.calls().is_empty());
    assert_eq!(kept(plan), ["Ada likes tea", "both", "a drink"]);
}

#[test]
fn what_the_whole_finds_is_enough() {
    let mut plan = plan("What does Ada like to drink?", Some(Manner::Asked), Given::Nothing);
    plan.calls();
    feed(&mut plan, &[Some("[\"something\"]")]);
    assert!(plan.calls().is_empty());
    assert_eq!(kept(plan), ["something"]);
}

#[test]
fn files_are_searched_where_they_may_be_and_read_by_what_their_names_share() {
    let mut plan = plan("the travel budget", Some(Manner::Glob), Given::Places(slot("path")))
        .learning("roots".to_owned(), Map::new())
        .reading("read".to_owned(), Map::new(), slot("file"));
    assert_eq!(plan.tools(), ["roots", "ask", "read"]);
    assert_eq!(plan.calls()[0].tool, "roots");
    feed(&mut plan, &[Some("Allowed directories:\n/srv/docs")]);
    assert_eq!(
        arguments(&plan.calls()),
        [
            json!({"text": "**/*[tT]ravel*", "path": "/srv/docs"}),
            json!({"text": "**/*[bB]udget*", "path": "/srv/docs"})
        ]
    );
    feed(
        &mut plan,
        &[
            Some("/srv/docs/travel.png\n/srv/docs/x/travel-budget.md"),
            Some("/srv/docs/budget.md\n/srv/docs/x/travel-budget.md"),
        ],
    );
    assert_eq!(
        arguments(&plan.calls()),
        [json!({"file": "/srv/docs/x/travel-budget.md"}), json!({"file": "/srv/docs/budget.md"})]
    );
    feed(&mut plan, &[Some("# Budget\nTravel costs 4000."), None]);
    assert!(plan.calls().is_empty());
    let haul = plan.finish();
    assert_eq!(haul.items[0].title.as_deref(), Some("travel-budget.md: Budget"));
    assert_eq!(haul.items[0].url.as_deref(), Some("file:///srv/docs/x/travel-budget.md"));
    assert_eq!(haul.items.len(), 1);
}

#[test]
fn listings_of_folders_lead_to_files_in_them() {
    let read = |listing: &str| {
        let mut plan = plan("tea", None, Given::Places(slot("path")))
            .knowing(vec!["/srv/".to_owned()])
            .reading("read".to_owned(), Map::new(), slot("file"));
        plan.calls();
        feed(&mut plan, &[Some(listing)]);
        arguments(&plan.calls())
    };
    assert_eq!(
        read("[FILE] a.md\n[DIR] tea.d\n[FILE] tea.txt"),
        [json!({"file": "/srv/tea.txt"}), json!({"file": "/srv/a.md"})]
    );
    let tree = json!([
        {"name": "x", "type": "directory", "children": [{"name": "tea.md", "type": "file"}]},
        {"name": "b.pdf", "type": "file"}
    ]);
    assert_eq!(read(&tree.to_string()), [json!({"file": "/srv/x/tea.md"})]);
}

#[test]
fn tables_are_read_by_name_and_a_name_stays_one() {
    let calls = |query: &str, tables: &str| {
        let mut plan =
            plan(query, None, Given::Tables(slot("sql"))).learning("tables".to_owned(), Map::new());
        plan.calls();
        feed(&mut plan, &[Some(tables)]);
        arguments(&plan.calls())
    };
    let many = r#"["orders", "public.customers", "a", "b", "c"]"#;
    assert_eq!(
        calls("customers in Berlin", many),
        [json!({"sql": "SELECT * FROM \"public\".\"customers\" LIMIT 200"})]
    );
    assert_eq!(calls("what is new", many), [] as [Value; 0], "nobody named one of many");
    assert_eq!(calls("what is new", "[\"only\"]"), [json!({"sql": "SELECT * FROM \"only\" LIMIT 200"})]);
    let hostile = r#"["x\"; DROP TABLE tea; --"]"#;
    assert_eq!(
        calls("tea", hostile),
        [json!({"sql": "SELECT * FROM \"x\"\"; DROP TABLE tea; --\" LIMIT 200"})]
    );
    assert_eq!(calls("tea", "[\"tea\\u0000\"]"), [] as [Value; 0]);
    assert_eq!(calls("tea", "No tables found"), [] as [Value; 0]);
}

#[test]
fn a_list_is_held_against_the_query() {
    let of = |query: &str, list: &Value| {
        let mut plan = plan(query, None, Given::Nothing);
        plan.calls();
        feed(&mut plan, &[Some(&list.to_string())]);
        kept(plan)
    };
    let list = json!(["green tea", "coffee", "a thing"]);
    assert_eq!(of("Is there any tea?", &list), ["green tea"]);
    assert_eq!(of("weather tomorrow", &list), [] as [&str; 0]);
    let rows = json!([{"day": "1", "what": "green tea"}, {"day": "2", "what": "milk"}]);
    assert_eq!(
        of("On which days was there tea?", &rows),
        ["day: 1\nwhat: green tea"],
        "columns are in all rows"
    );
    assert_eq!(of("Which things are there?", &list).len(), 3, "the list itself is about things");
}

#[test]
fn f05_a_plan_without_answers_ends() {
    let mut plan =
        plan("tea", Some(Manner::Glob), Given::Places(slot("path"))).learning("roots".to_owned(), Map::new());
    plan.calls();
    feed(&mut plan, &[None]);
    assert!(plan.calls().is_empty());
    feed(&mut plan, &[None]);
    assert_eq!(kept(plan), [] as [&str; 0]);
}

#[test]
fn no_step_has_more_than_three_calls_beside_reading() {
    let mut plan = plan("alpha beta gamma delta", Some(Manner::Substring), Given::Places(slot("path")))
        .knowing((0..9).map(|n| format!("/srv/{n}")).collect())
        .reading("read".to_owned(), Map::new(), slot("file"));
    assert_eq!(plan.calls().len(), 3);
    let many: Vec<String> = (0..1000).map(|n| format!("/srv/{n}.md")).collect();
    feed(&mut plan, &[Some(&many.join("\n"))]);
    assert_eq!(plan.calls().len(), MOST_READ);
}
