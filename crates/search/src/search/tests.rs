//! What a query finds, in which order, and how an index follows its servers.

use super::*;
use crate::clauses;
use crate::doc::Doc;
use crate::shard::{Shard, Vectors};
use proptest::prelude::*;

fn doc(key: u64, name: &str, description: &str) -> Doc {
    let (name, description) = (name.to_owned(), description.to_owned());
    Doc { key: DocKey(key), name, title: None, description, arguments: Vec::new() }
}

fn shard(server: &str, tools: &[(u64, &str, &str)]) -> Shard {
    let docs: Vec<Doc> = tools.iter().map(|(key, name, description)| doc(*key, name, description)).collect();
    Shard::new(server.into(), "", &docs)
}

fn catalog() -> Vec<Shard> {
    vec![
        shard(
            "github",
            &[
                (1, "create_issue", "Opens an issue in a repository"),
                (2, "search_repositories", "Finds repositories by words"),
                (3, "merge_pull_request", "Merges a pull request"),
            ],
        ),
        shard(
            "slack",
            &[(11, "post_message", "Sends a message to a channel"), (12, "list_channels", "Lists channels")],
        ),
        shard(
            "calendar",
            &[(21, "add_event", "Puts an event into the calendar"), (22, "list_events", "Events of a day")],
        ),
    ]
}

fn keys(index: &Index, text: &str, limit: usize) -> Vec<u64> {
    let clauses = clauses(text);
    let query = Query { text, clauses: &clauses, vectors: None, limit, only: None };
    index.search(&query).iter().map(|hit| hit.key.0).collect()
}

#[track_caller]
fn check_first(text: &str, expected: u64) {
    let found = keys(&Index::build(catalog()), text, 3);
    assert_eq!(found.first(), Some(&expected), "{text}: {found:?}");
}

#[test]
fn words_find_in_every_form_and_with_slips() {
    check_first("open issues", 1);
    check_first("merging pull requests", 3);
    check_first("send messages to the channel", 11);
    check_first("list calender evnets", 22);
    check_first("serach repostories", 2);
    check_first("mesage", 11);
}

#[test]
fn a_query_that_is_a_name_finds_that_tool_first() {
    check_first("list_events", 22);
    check_first("listEvents", 22);
    check_first("slack.list_channels", 12);
    check_first("github__merge_pull_request", 3);
}

#[test]
fn what_matches_nothing_finds_nothing_without_vectors() {
    let index = Index::build(catalog());
    assert_eq!(keys(&index, "xylophone", 5), Vec::<u64>::new());
    assert_eq!(keys(&index, "", 5), Vec::<u64>::new());
    assert_eq!(keys(&index, "issue", 0), Vec::<u64>::new());
    assert_eq!(keys(&Index::default(), "issue", 5), Vec::<u64>::new());
}

#[test]
fn each_step_of_a_query_keeps_a_place() {
    let mut shards = catalog();
    let crowd: Vec<(u64, String)> = (100..120).map(|n| (n, format!("issue_report_{n}"))).collect();
    let crowd: Vec<(u64, &str, &str)> =
        crowd.iter().map(|(n, name)| (*n, name.as_str(), "Reports on issues of a repository")).collect();
    shards.push(shard("reports", &crowd));
    let text =
        "Report the open issues of the repository, then post a message and add an event to my calendar";
    let found = keys(&Index::build(shards), text, 6);
    assert!(found.contains(&11) && found.contains(&21), "{found:?}");
    assert_eq!(found.len(), 6);
}

/// Six tools that all have this word in their names.
fn six(server: &str, first: u64, word: &str) -> Shard {
    let tools: Vec<(u64, String)> = (first..first + 6).map(|key| (key, format!("{word} {key}"))).collect();
    let tools: Vec<(u64, &str, &str)> = tools.iter().map(|(key, name)| (*key, name.as_str(), "")).collect();
    shard(server, &tools)
}

#[test]
fn a_word_that_enough_tools_have_leaves_places_for_the_others() {
    let words = [("a", 1, "camera"), ("b", 11, "camera"), ("c", 21, "lens"), ("d", 31, "shutter")];
    let index = Index::build(words.map(|(server, first, word)| six(server, first, word)));
    let found = keys(&index, "camera lens shutter", 10);
    for first in [1..20, 21..30, 31..40] {
        let of_word = found.iter().filter(|key| first.contains(*key)).count();
        assert!((2..=4).contains(&of_word), "{found:?}");
    }
    assert_eq!(
        keys(&index, "camera", 12),
        (1..7).chain(11..17).collect::<Vec<_>>(),
        "of one word all are told"
    );
}

#[test]
fn a_servers_name_counts_for_each_of_its_tools() {
    let index = Index::build([six("camera", 1, "do"), six("shop", 11, "lens")]);
    assert_eq!(keys(&index, "camera lens", 6), [1, 2, 3, 4, 5, 6]);
    let index = Index::build([six("one", 1, "camera"), six("other", 11, "lens")]);
    assert!(keys(&index, "camera lens", 6).iter().any(|key| *key > 10), "but a tool's own name is told");
}

#[test]
fn places_beyond_those_filled_one_by_one_are_in_order_too() {
    let servers: Vec<String> = (0..12_u64).map(|n| format!("s{n}")).collect();
    let shards = (0..12_u64)
        .zip(&servers)
        .map(|(n, server)| six(server, 10 * n, if n % 3 == 0 { "lens" } else { "camera" }));
    let index = Index::build(shards);
    let hits =
        index.search(&Query { text: "camera lens", clauses: &[], vectors: None, limit: 60, only: None });
    assert_eq!(hits.len(), 60);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    let different: std::collections::BTreeSet<u64> = hits.iter().map(|hit| hit.key.0).collect();
    assert_eq!(different.len(), 60);
}

#[test]
fn only_what_may_be_found_is_found() {
    let index = Index::build(catalog());
    let slack = |key: DocKey| (10..20).contains(&key.0);
    let query = Query { text: "list events", clauses: &[], vectors: None, limit: 5, only: Some(&slack) };
    assert_eq!(index.search(&query).iter().map(|hit| hit.key.0).collect::<Vec<_>>(), [12]);
}

#[test]
fn equally_good_ones_stand_by_server_and_name() {
    let (one, other) = (shard("b", &[(1, "x", "twin"), (2, "w", "twin")]), shard("a", &[(3, "y", "twin")]));
    let found = keys(&Index::build([one, other]), "twin", 5);
    assert_eq!(found, [3, 2, 1]);
}

/// `mail` and `post` mean the same here, and nothing else does.
fn vector(x: f32) -> Vec<f32> {
    vec![x, (1.0 - x * x).sqrt(), 0.0]
}

fn mailing() -> Index {
    let tools =
        [(1, "send_mail", "Sends mail"), (2, "deliver", "Brings letters"), (3, "bake", "Makes bread")];
    Index::build([shard("office", &tools)])
}

fn search(index: &Index, text: &str, whole: &[f32]) -> Vec<Hit> {
    let vectors = Some(QueryVectors { whole, clauses: &[] });
    index.search(&Query { text, clauses: &[], vectors, limit: 5, only: None })
}

#[test]
fn meaning_finds_what_words_do_not() {
    let (mail, letters, bread) = (vector(0.9), vector(0.95), vector(0.0));
    let vectors = Vectors { tools: vec![Some(&mail), Some(&letters), Some(&bread)], server: None };
    let index = mailing().with_vectors("office", &vectors);
    let hits = search(&index, "post", &vector(1.0));
    assert_eq!(hits.iter().map(|hit| hit.key.0).collect::<Vec<_>>(), [2, 1, 3]);
    let meaning = hits[0].meaning.unwrap();
    assert!((meaning - 0.95).abs() < 0.01 && hits[0].lexical <= 0.0);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn tools_without_a_vector_are_found_by_words_among_those_that_have_one() {
    let (letters, bread) = (vector(0.6), vector(0.2));
    let vectors = Vectors { tools: vec![None, Some(&letters), Some(&bread)], server: None };
    let index = mailing().with_vectors("office", &vectors);
    let hits = search(&index, "send mail", &vector(1.0));
    let own = hits.iter().find(|hit| hit.key.0 == 1).unwrap();
    assert!(own.meaning.is_none() && own.lexical > 0.0);
    let hits = search(&index, "bread", &vector(1.0));
    assert!(hits.iter().all(|hit| hit.key.0 != 1), "what has neither words nor a vector is not found");
}

#[test]
fn a_query_of_another_length_is_answered_by_words() {
    let mail = vector(0.9);
    let vectors = Vectors { tools: vec![Some(&mail); 3], server: Some(&mail) };
    let index = mailing().with_vectors("office", &vectors);
    let hits = search(&index, "bread", &[1.0, 0.0]);
    assert_eq!(hits.iter().map(|hit| (hit.key.0, hit.meaning)).collect::<Vec<_>>(), [(3, None)]);
}

#[test]
fn a_server_that_is_about_the_right_thing_lifts_its_tools() {
    let tool = vector(0.5);
    let (near, far) = (vector(0.9), vector(0.1));
    let with = |name: &str, key: u64, server: &[f32]| {
        let vectors = Vectors { tools: vec![Some(&tool)], server: Some(server) };
        shard(name, &[(key, "run", "Runs it")]).with_vectors(&vectors)
    };
    let index = Index::build([with("a", 1, &far), with("b", 2, &near)]);
    assert_eq!(search(&index, "post", &vector(1.0))[0].key.0, 2);
}

#[test]
fn a_name_that_says_nothing_is_not_held_against_the_tools_of_a_server_without_a_description() {
    let (tool, other, near, none) = (vector(0.55), vector(0.5), vector(0.3), vector(0.0));
    let with = |about: &str, key: u64, tool: &[f32], server: &[f32]| {
        let vectors = Vectors { tools: vec![Some(tool)], server: Some(server) };
        let name = format!("server{key}");
        Shard::new(name.as_str().into(), about, &[doc(key, "run", "Runs it")]).with_vectors(&vectors)
    };
    let first = |about: &str| {
        let index = Index::build([with("Posts letters", 1, &other, &near), with(about, 2, &tool, &none)]);
        search(&index, "mail", &vector(1.0))[0].key.0
    };
    assert_eq!(first(""), 2);
    assert_eq!(first("Bakes bread"), 1, "what a server says of itself is");
}

#[test]
fn a_server_that_left_is_no_longer_found_and_one_that_changed_is_found_anew() {
    let index = Index::build(catalog());
    let without = index.clone().without_server("slack");
    assert_eq!((index.len(), without.len()), (7, 5));
    assert_eq!(keys(&without, "message", 5), Vec::<u64>::new());
    assert_eq!(keys(&index, "message", 5), [11], "the index before it is as it was");
    let changed = without.clone().with_server(shard("github", &[(9, "tell", "Sends a message")]));
    assert_eq!(keys(&changed, "message", 5), [9]);
    assert_eq!(keys(&changed, "issue", 5), Vec::<u64>::new());
    assert_eq!(keys(&without.clone().without_server("nobody"), "event", 5), keys(&without, "event", 5));
}

proptest! {
    #[test]
    fn the_way_to_a_catalog_does_not_matter(
        order in Just(catalog()).prop_shuffle(),
        leave in 0_usize..3,
        text in "(issue|event|message|channel|list|repositry|calendar|and|then|\\.| ){1,8}",
    ) {
        let built = Index::build(catalog());
        let mut walked = Index::build(order.clone());
        walked = walked.with_server(shard("guest", &[(77, "list_issue_events", "Lists all events")]));
        walked = walked.without_server(order[leave].server());
        walked = walked.with_server(order[leave].clone()).without_server("guest");
        let clauses = clauses(&text);
        let query = Query { text: &text, clauses: &clauses, vectors: None, limit: 4, only: None };
        prop_assert_eq!(built.search(&query), walked.search(&query));
    }

    #[test]
    fn hits_are_in_order_within_bounds_and_no_more_than_asked_for(
        text in "\\PC{0,40}", limit in 0_usize..9, x in -1.0_f32..1.0,
    ) {
        let some = vector(0.3);
        let vectors = Vectors { tools: vec![Some(&some)], server: Some(&some) };
        let index = Index::build(catalog()).with_vectors("slack", &vectors);
        let clauses = clauses(&text);
        let of_clauses = vec![vector(0.1); clauses.len()];
        let whole = vector(x);
        let vectors = Some(QueryVectors { whole: &whole, clauses: &of_clauses });
        let hits = index.search(&Query { text: &text, clauses: &clauses, vectors, limit, only: None });
        prop_assert!(hits.len() <= limit);
        prop_assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for hit in hits {
            prop_assert!((0.0..=1.0).contains(&hit.score) && (0.0..=1.0).contains(&hit.lexical));
        }
    }
}
