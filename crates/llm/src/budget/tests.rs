//! Limits against a clock that the test sets.

use super::*;
use crate::price::Price;
use std::sync::atomic::{AtomicI64, Ordering};

const MODEL: &str = "m";

/// A budget, and the clock that it goes by.
struct Bench {
    budget: Budget,
    now: Arc<AtomicI64>,
    owner: Owner,
}

impl Bench {
    /// At noon of some day. A million tokens cost 2 in and 8 out.
    fn new() -> Self {
        let now = Arc::new(AtomicI64::new(20_000 * DAY + DAY / 2));
        let clock = Arc::clone(&now);
        let price = Price { input: "2".parse().unwrap(), output: "8".parse().unwrap() };
        let prices = [(MODEL.to_owned(), price)].into_iter().collect();
        let clock: Clock = Arc::new(move || Moment::from_millis(clock.load(Ordering::Relaxed)));
        Self { budget: Budget::new(prices, clock), now, owner: Owner::from("github") }
    }

    fn pass(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::Relaxed);
    }

    fn admit(&self, limits: Limits, tokens: u64) -> Result<Permit<'_>, Refusal> {
        let at_most = Usage { input: tokens, output: 0 };
        self.budget.admit(Admission { owner: &self.owner, limits, model: MODEL, at_most })
    }

    fn spend(&self, limits: Limits, tokens: u64) -> Result<Cost, Refusal> {
        self.admit(limits, tokens).map(|permit| permit.settle(Usage { input: tokens, output: 0 }))
    }
}

fn tokens(limit: u64) -> Limits {
    Limits { tokens_per_day: Some(limit), ..Limits::default() }
}

fn money(limit: &str) -> Limits {
    Limits { cost_per_day: Some(limit.parse().unwrap()), ..Limits::default() }
}

fn requests(limit: u32) -> Limits {
    Limits { requests_per_minute: Some(limit), ..Limits::default() }
}

#[test]
fn without_limits_everything_is_let_through_and_counted() {
    let bench = Bench::new();
    assert_eq!(bench.spend(Limits::default(), 1_000_000).unwrap().to_string(), "2");
    assert_eq!(bench.spend(Limits::default(), 500_000).unwrap().to_string(), "1");
    let spent = bench.budget.spent(&bench.owner);
    assert_eq!((spent.usage.input, spent.cost.to_string().as_str()), (1_500_000, "3"));
    assert_eq!(bench.budget.spent(&Owner::from("other")).usage, Usage::default());
}

#[test]
fn a_day_s_tokens_end_and_begin_anew_at_midnight() {
    let bench = Bench::new();
    bench.spend(tokens(100), 60).unwrap();
    let refused = bench.admit(tokens(100), 50).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "github may use 100 tokens a day; 60 are taken and this request may need 50: wait until \
         2024-10-05T00:00:00.000Z, or raise the limit"
    );
    assert!(!refused.is_passing());
    bench.spend(tokens(100), 40).unwrap();
    bench.pass(DAY / 2);
    bench.spend(tokens(100), 100).unwrap();
}

#[test]
fn a_day_s_money_ends_too() {
    let bench = Bench::new();
    bench.spend(money("0.5"), 200_000).unwrap();
    assert_eq!(
        bench.admit(money("0.5"), 100_000).err().unwrap().to_string(),
        "github may spend 0.5 a day; 0.4 are spent and this request may cost 0.2: wait until \
         2024-10-05T00:00:00.000Z, or raise the limit"
    );
    bench.spend(money("0.5"), 50_000).unwrap();
}

#[test]
fn a_limit_on_money_needs_a_price() {
    let bench = Bench::new();
    let ask = |limits| {
        let at_most = Usage { input: 1, output: 1 };
        bench.budget.admit(Admission { owner: &bench.owner, limits, model: "llama", at_most }).map(drop)
    };
    assert_eq!(
        ask(money("5")).unwrap_err().to_string(),
        "github has a limit on what it may spend, but llama has no price: add one to the price table"
    );
    assert_eq!(ask(tokens(5)), Ok(()));
}

#[test]
fn requests_at_once_cannot_pass_a_limit_together() {
    let bench = Bench::new();
    let first = bench.admit(tokens(100), 60).unwrap();
    assert!(bench.admit(tokens(100), 60).is_err());
    first.settle(Usage { input: 10, output: 5 });
    let second = bench.admit(tokens(100), 60).unwrap();
    assert!(bench.admit(tokens(100), 60).is_err());
    drop(second);
    assert_eq!(bench.budget.spent(&bench.owner).usage, Usage { input: 10, output: 5 });
    bench.spend(tokens(100), 85).unwrap();
}

#[test]
fn a_minute_has_its_requests_wherever_it_begins() {
    let bench = Bench::new();
    bench.spend(requests(2), 1).unwrap();
    bench.pass(20_000);
    bench.spend(requests(2), 1).unwrap();
    bench.pass(30_500);
    let refused = bench.admit(requests(2), 1).err().unwrap();
    assert_eq!(refused.to_string(), "github may ask the model 2 times a minute: try again in 10 s");
    assert!(refused.is_passing());
    bench.pass(9_500);
    bench.spend(requests(2), 1).unwrap();
    assert!(bench.admit(requests(2), 1).is_err());
    assert!(bench.admit(requests(0), 1).is_err());
}

#[test]
fn f64_a_clock_that_is_set_back_gives_nothing_again_and_bars_nobody() {
    let bench = Bench::new();
    bench.pass(DAY / 2);
    bench.spend(tokens(100), 100).unwrap();
    bench.spend(requests(1), 0).unwrap();
    bench.pass(-60 * MINUTE);
    assert!(bench.admit(tokens(100), 1).is_err());
    bench.spend(requests(1), 0).unwrap();
}

#[test]
fn owners_do_not_share_and_one_that_is_gone_leaves_nothing() {
    let bench = Bench::new();
    bench.spend(tokens(100), 100).unwrap();
    let other = Owner::from("other");
    let at_most = Usage { input: 100, output: 0 };
    let admission = Admission { owner: &other, limits: tokens(100), model: MODEL, at_most };
    bench.budget.admit(admission).unwrap().settle(at_most);
    let late = bench.admit(Limits::default(), 5).unwrap();
    bench.budget.forget(&bench.owner);
    late.settle(Usage { input: 5, output: 0 });
    assert_eq!(bench.budget.spent(&bench.owner).usage, Usage::default());
    assert_eq!(bench.budget.spent(&other).usage, at_most);
}

#[test]
fn what_was_spent_before_a_restart_still_counts_today_and_no_longer_tomorrow() {
    let before = Bench::new();
    before.spend(tokens(100), 90).unwrap();
    let spent = before.budget.spent(&before.owner);
    let after = Bench::new();
    after.budget.restore(&after.owner, spent);
    assert!(after.admit(tokens(100), 20).is_err());
    let next_day = Bench::new();
    next_day.pass(DAY);
    next_day.budget.restore(&next_day.owner, spent);
    next_day.spend(tokens(100), 20).unwrap();
}
