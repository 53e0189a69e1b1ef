//! Answers of every shape, cut.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const BOUNDS: Bounds = Bounds { items: 100, item_bytes: 4096, bytes: 1 << 20 };

fn texts(haul: &Haul) -> Vec<&str> {
    haul.items.iter().map(|item| item.text.as_str()).collect()
}

fn of_result(result: &Value) -> Haul {
    cut(&Reply::read(&result.to_string(), 4 << 20).unwrap(), BOUNDS)
}

fn said(text: &str) -> Haul {
    of_result(&json!({"content": [{"type": "text", "text": text}]}))
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(texts(&said(text)), expected, "{text}");
}

#[test]
fn lists_in_json_are_cut_into_their_elements_wherever_they_are() {
    check("[1, \"two\", null, [3, 4]]", &["1", "two", "3; 4"]);
    check(r#"{"results": [{"title": "a"}, {"title": "b"}], "total": 2}"#, &["a", "b"]);
    check(r#"{"data": {"items": [{"name": "a"}]}}"#, &["a"]);
    check(r#"{"found": [{"x": 1}], "took": 3}"#, &["x: 1"]);
    check(r#"{"entities": [], "relations": []}"#, &[]);
    check("[{'name': 'users'}, {'name': 'orders'}]", &["users", "orders"]);
    check(r#"{"title": "a", "tags": ["x", "y"]}"#, &["a\ntags: x; y"]);
}

#[test]
fn structured_content_goes_before_text_where_it_holds_the_list() {
    let text = json!([{"type": "text", "text": "as text"}]);
    let list = of_result(&json!({"content": text, "structuredContent": {"results": ["a", "b"]}}));
    assert_eq!(texts(&list), ["a", "b"]);
    let count = of_result(&json!({"content": text, "structuredContent": {"count": 2}}));
    assert_eq!(texts(&count), ["as text"]);
    let alone = of_result(&json!({"content": [], "structuredContent": {"count": 2}}));
    assert_eq!(texts(&alone), ["count: 2"]);
    let wrapped =
        of_result(&json!({"content": text, "structuredContent": {"content": "/srv/a.md\n/srv/b.md"}}));
    assert_eq!(texts(&wrapped), ["/srv/a.md", "/srv/b.md"]);
}

#[test]
fn an_object_has_its_title_address_and_date_and_loses_nothing() {
    let haul = said(
        r#"[{"htmlUrl": "https://x.example/1", "name": "One", "body": "Some text.",
             "updated_at": "2026-01-02T03:04:05Z", "stars": 3}]"#,
    );
    let [item] = haul.items.as_slice() else { panic!("{haul:?}") };
    assert_eq!(item.title.as_deref(), Some("One"));
    assert_eq!(item.url.as_deref(), Some("https://x.example/1"));
    assert_eq!(item.date.map(|date| date.to_string()).as_deref(), Some("2026-01-02T03:04:05.000Z"));
    let lines = "One\nSome text.\nhtmlUrl: https://x.example/1\nstars: 3\nupdated_at: 2026-01-02T03:04:05Z";
    assert_eq!(item.text, lines);
    assert!(item.raw.as_deref().is_some_and(|raw| raw.contains("\"stars\":3")));
}

#[test]
fn entries_of_lists_are_items_and_go_on_until_the_next() {
    check("Found 2:\n\n1. First\n   more\n2. Second", &["First\n   more", "Second"]);
    check("- a\n  - inner\n- b", &["a\n  - inner", "b"]);
    let haul = said("- **Name:** see https://x.example/a (2026)\n- other");
    assert_eq!(haul.items[0].title.as_deref(), Some("Name"));
    assert_eq!(haul.items[0].url.as_deref(), Some("https://x.example/a"));
}

#[test]
fn records_begin_where_their_first_line_comes_again() {
    let log = "Commit history:\nCommit: a1\nDate: 2026-11-16 10:09:02+00:00\nMessage: Mend it\n\nAt length.\n\n\
               Commit: b2\nMessage: Break it\n";
    let haul = said(log);
    assert_eq!(haul.items.len(), 2);
    assert_eq!(haul.items[0].title.as_deref(), Some("Mend it"));
    assert!(haul.items[0].text.ends_with("At length.") && haul.items[0].date.is_some());
    let web = said("Title: A\nURL: https://a.example\n\nTitle: B\nURL: https://b.example");
    assert_eq!(web.items[1].url.as_deref(), Some("https://b.example"));
}

#[test]
fn markdown_is_cut_at_its_headings_and_not_inside_of_code() {
    let haul = said("Before.\n\n# One\ntext\n```\n# no heading\n```\n\n## Two\nmore");
    assert_eq!(texts(&haul), ["Before.", "One\ntext\n```\n# no heading\n```", "Two\nmore"]);
    assert_eq!(haul.items[2].title.as_deref(), Some("Two"));
}

#[test]
fn names_and_paths_are_one_item_a_line() {
    check("[FILE] a.txt\n[DIR] notes", &["[FILE] a.txt", "[DIR] notes"]);
    check("Allowed directories:\n/srv/docs", &["/srv/docs"]);
    check("It is a text.\nOf two lines.", &["It is a text.\nOf two lines."]);
}

#[test]
fn prose_is_cut_at_the_ends_of_sentences() {
    let sentence = "This is a sentence of some length that says something about nothing at all. ";
    let haul = said(&sentence.repeat(30));
    assert!(haul.items.len() >= 4, "{}", haul.items.len());
    for item in &haul.items {
        assert!(item.text.ends_with("at all.") && item.text.len() <= 600, "{}", item.text);
    }
    let endless = said(&"word ".repeat(1000));
    assert!(endless.items.iter().all(|item| item.text.len() <= 900 && item.text.ends_with("word")));
}

#[test]
fn a_word_that_there_is_nothing_is_no_item() {
    for text in [
        "No matches found",
        "0 results",
        "No results found for 'x'.",
        "  ",
        "Nothing found",
        "Staged changes:",
        "[]",
        "{}",
    ] {
        check(text, &[]);
    }
    check("No smoking in this building", &["No smoking in this building"]);
}

#[test]
fn what_is_no_text_is_counted_and_resources_have_their_address() {
    let haul = of_result(&json!({"content": [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x:a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "x:b", "blob": "AAAA"}},
        {"type": "resource_link", "uri": "x:c", "name": "linked", "description": "far away"},
        7
    ]}));
    assert_eq!(haul.over.untold, 3);
    assert_eq!(texts(&haul), ["inside", "linked\nfar away\nuri: x:c"]);
    assert_eq!(haul.items[0].url.as_deref(), Some("x:a"));
}

#[test]
fn a_flood_is_cut_off_and_counted() {
    let flood: Vec<u32> = (0..100_000).collect();
    let haul = said(&json!(flood).to_string());
    assert_eq!(haul.items.len(), BOUNDS.items);
    assert_eq!(haul.items.len() + haul.over.items, flood.len());
    for text in ["x", "word ", "# a\nb\n", "- entry\n", "Key: value\n", "name\n"] {
        let text = text.repeat(900_000 / text.len());
        let long = said(&text);
        let kept: usize = long.items.iter().map(|item| item.text.len()).sum();
        assert!(kept <= BOUNDS.bytes && long.over.items > 0, "{kept}");
        assert!((kept + long.over.bytes) * 2 >= text.len(), "what is not kept is counted: {:?}", long.over);
    }
}

/// JSON of any shape, not too large.
fn any_json() -> impl Strategy<Value = Value> {
    let key = "(title|name|url|date|results|text|items|[a-z]{1,3})";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect()))
        ]
    })
}

fn holds(haul: &Haul, bounds: Bounds) -> bool {
    haul.items.len() <= bounds.items
        && haul.items.iter().map(Item::bytes).sum::<usize>() <= bounds.bytes
        && haul.items.iter().all(|item| !item.text.is_empty() && item.text.len() <= bounds.item_bytes.max(3))
}

proptest! {
    #[test]
    fn any_text_is_cut_the_same_twice_and_within_bounds(
        text in "([-*#0-9]{0,2}[ .)]?[A-Za-zé漢: /.]{0,12}\n?){0,40}|\\PC{0,400}",
        items in 0_usize..8, item_bytes in 0_usize..64, bytes in 0_usize..256,
    ) {
        let reply = Reply { structured: None, blocks: vec![json!({"type": "text", "text": text})] };
        let bounds = Bounds { items, item_bytes, bytes };
        let haul = cut(&reply, bounds);
        prop_assert!(holds(&haul, bounds), "{haul:?}");
        prop_assert_eq!(cut(&reply, bounds), haul);
    }

    #[test]
    fn any_json_is_cut_the_same_twice_and_within_bounds(structured in any_json(), block in any_json()) {
        let text = json!({"type": "text", "text": block.to_string()});
        let reply = Reply { structured: Some(structured), blocks: vec![block, text] };
        let bounds = Bounds { items: 10, item_bytes: 100, bytes: 500 };
        let haul = cut(&reply, bounds);
        prop_assert!(holds(&haul, bounds), "{haul:?}");
        prop_assert_eq!(cut(&reply, bounds), haul);
    }
}
