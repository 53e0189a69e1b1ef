//! How long the ranking of 100 results takes: `cargo run --release -p portolan-query --example rank`.

use portolan_model::Moment;
use portolan_query::{Answer, Item, rank};
use tokio::time::Instant;

const QUERY: &str = "How do I implement React hooks for state management in a form with validation?";
const SAID: [&str; 8] = ["react", "hooks", "state", "form", "the", "of", "and", "validation"];
const SYLLABLES: [&str; 16] =
    ["ka", "to", "ri", "men", "sol", "ver", "ti", "lan", "do", "per", "mi", "gra", "ne", "bu", "sta", "fo"];
const TURNS: usize = 200;

/// A text of the length of a passage: one word of four is one of a few, the others of some four thousand.
fn text(seed: usize) -> String {
    let mut state = seed * 7919 + 17;
    let mut draw = |below: usize| {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        (state >> 8) % below
    };
    let mut word = || match draw(4) {
        0 => SAID[draw(SAID.len())].to_owned(),
        _ => (0..3).map(|_| SYLLABLES[draw(SYLLABLES.len())]).collect(),
    };
    (0..90).map(|_| word()).collect::<Vec<_>>().join(" ")
}

#[expect(clippy::print_stdout, reason = "printing the measure is what it is for")]
fn main() {
    let answers: Vec<Answer> = (0..10)
        .map(|server| Answer {
            server: format!("server{server}"),
            items: (0..10).map(|n| Item { text: text(server * 10 + n), ..Item::default() }).collect(),
            fit: 0.0,
            weight: 1.0,
            at: Moment::now(),
        })
        .collect();
    let mut times: Vec<_> = (0..TURNS)
        .map(|_| {
            let started = Instant::now();
            let ranked = rank(QUERY, &answers, Moment::now(), None);
            assert_eq!(ranked.raw, 100);
            started.elapsed()
        })
        .collect();
    times.sort();
    println!("100 results of 600 characters: median {:?}, slowest {:?}", times[TURNS / 2], times[TURNS - 1]);
}
