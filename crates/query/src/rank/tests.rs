//! Rankings, and what does not change them.

use super::*;
use proptest::prelude::*;

const NOW: Moment = Moment::from_millis(1_800_000_000_000);

fn answer(server: &str, texts: &[&str]) -> Answer {
    let items = texts.iter().map(|text| Item { text: (*text).to_owned(), ..Item::default() }).collect();
    Answer { server: server.to_owned(), items, fit: 0.0, weight: 1.0, at: NOW }
}

fn shown(ranked: &Ranked<'_>) -> Vec<String> {
    let one = |one: &RankedItem<'_>| format!("{} {} {:?}", one.server, one.item.text, one.also_from);
    ranked.results.iter().map(one).collect()
}

#[test]
fn the_best_comes_first_and_ties_go_by_name_and_position() {
    let answers = [answer("b", &["tea", "milk", "green tea"]), answer("a", &["milk one", "milk two"])];
    let ranked = rank("green tea", &answers, NOW, None);
    let order: Vec<&str> = ranked.results.iter().map(|one| one.item.text.as_str()).collect();
    assert_eq!(order, ["green tea", "tea", "milk one", "milk two", "milk"]);
    let same = [answer("b", &["tea"]), answer("a", &["teas"])];
    assert_eq!(rank("tea", &same, NOW, None).results[0].server, "a");
}

#[test]
fn what_several_servers_say_is_told_once_and_names_them() {
    let answers = [
        answer("c", &["Green tea"]),
        answer("b", &["x", "green tea!"]),
        answer("a", &["y", "z", "green  tea"]),
    ];
    let ranked = rank("green tea", &answers, NOW, None);
    assert_eq!((ranked.raw, ranked.results.len()), (6, 4));
    assert_eq!(shown(&ranked)[0], "c Green tea [\"a\", \"b\"]");
    let own = [answer("a", &["tea", "tea"])];
    assert_eq!(shown(&rank("tea", &own, NOW, None)), ["a tea []"], "a server is not named beside itself");
}

#[test]
fn the_same_answers_rank_the_same_a_hundred_times_in_whatever_order_they_come() {
    let answers: Vec<Answer> = (0..20)
        .map(|server| {
            let texts: Vec<String> = (0..15)
                .map(|n| format!("tea {} from server {} batch {}", n % 4, server % 7, n * server))
                .collect();
            answer(&format!("s{server:02}"), &texts.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect();
    let first = shown(&rank("tea from batch 4", &answers, NOW, None));
    for turn in 0..100 {
        let mut turned = answers.clone();
        turned.rotate_left(turn % 20);
        if turn % 2 == 1 {
            turned.reverse();
        }
        assert_eq!(shown(&rank("tea from batch 4", &turned, NOW, None)), first, "{turn}");
    }
}

#[test]
fn a_flood_leaves_half_of_the_places_to_the_others() {
    let flood: Vec<String> =
        (0..100).map(|n| format!("green tea green tea number {n} of {}", n * n)).collect();
    let flood = answer("flood", &flood.iter().map(String::as_str).collect::<Vec<_>>());
    let quiet: Vec<String> = (0..20).map(|n| format!("some tea {n} {}", n * 7)).collect();
    let quiet = answer("quiet", &quiet.iter().map(String::as_str).collect::<Vec<_>>());
    let both = [flood.clone(), quiet.clone()];
    let ranked = rank("green tea", &both, NOW, None);
    let best = ranked.best(30);
    assert_eq!(best.iter().filter(|one| one.server == "quiet").count(), 15);
    assert!(best.is_sorted_by(|one, next| one.score >= next.score));
    assert_eq!(rank("green tea", &[flood], NOW, None).best(30).len(), 30, "alone it has all places");
    let alone = [quiet];
    let alone = rank("green tea", &alone, NOW, None);
    let order = |results: &[RankedItem<'_>]| {
        let quiet = results.iter().filter(|one| one.server == "quiet");
        quiet.map(|one| one.item.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(order(&alone.results), order(&ranked.results), "and it does not reorder them");
}

#[test]
fn meaning_lifts_what_shares_no_words_and_weights_lift_servers() {
    let answers = [answer("a", &["car repair", "automobile mending"])];
    let by_words = rank("car mechanic", &answers, NOW, None);
    assert_eq!(by_words.results[0].item.text, "car repair");
    let vectors = Vectors::of(&[1.0, 0.0], &by_words, &[vec![0.0, 1.0], vec![1.0, 0.0]]);
    let by_both = rank("car mechanic", &answers, NOW, Some(&vectors));
    assert_eq!(by_both.results[0].item.text, "automobile mending");
    let mut weighed = [answer("a", &["tea x"]), answer("b", &["tea y"])];
    weighed[1].weight = 2.0;
    assert_eq!(rank("tea", &weighed, NOW, None).results[0].server, "b");
}

proptest! {
    #[test]
    fn any_answers_are_ranked_within_bounds(
        query in "\\PC{1,30}",
        texts in prop::collection::vec(prop::collection::vec("[a-d ]{0,24}", 0..12), 0..5),
        most in 1_usize..40,
    ) {
        let answers: Vec<Answer> = texts
            .iter()
            .enumerate()
            .map(|(at, texts)| answer(&at.to_string(), &texts.iter().map(String::as_str).collect::<Vec<_>>()))
            .collect();
        let ranked = rank(&query, &answers, NOW, None);
        prop_assert_eq!(ranked.raw, texts.iter().map(Vec::len).sum::<usize>());
        prop_assert!(ranked.results.iter().all(|one| (0.0..=1.0).contains(&one.score)));
        prop_assert!(ranked.results.is_sorted_by(|one, next| one.score >= next.score));
        prop_assert_eq!(ranked.best(most).len(), most.min(ranked.results.len()));
    }
}
