//! What each owner may spend: requests a minute, tokens and money a day.
//!
//! A request is admitted with the most that it may take, which is set aside until it is settled with what it took. So
//! many requests at once cannot pass a limit together that each of them alone would keep.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_model::Moment;

use crate::chat::Usage;
use crate::price::{Cost, PriceTable};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Tells the time; tests have their own.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// On whose account a request goes: a connector, for instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<str>);

impl From<&str> for Owner {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is `None` has no limit. Days are those of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub requests_per_minute: Option<u32>,
    pub tokens_per_day: Option<u64>,
    pub cost_per_day: Option<Cost>,
}

/// A request that wants to be let through.
#[derive(Debug, Clone, Copy)]
pub struct Admission<'a> {
    pub owner: &'a Owner,
    pub limits: Limits,
    pub model: &'a str,
    pub at_most: Usage,
}

/// Why a request is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{owner} may ask the model {limit} times a minute: try again in {} s", retry_after.as_secs_f64().ceil())]
    Requests { owner: Owner, limit: u32, retry_after: Duration },
    #[error(
        "{owner} may use {limit} tokens a day; {taken} are taken and this request may need {needed}: wait \
         until {anew}, or raise the limit"
    )]
    Tokens { owner: Owner, limit: u64, taken: u64, needed: u64, anew: Moment },
    #[error(
        "{owner} may spend {limit} a day; {taken} are spent and this request may cost {needed}: wait \
         until {anew}, or raise the limit"
    )]
    Money { owner: Owner, limit: Cost, taken: Cost, needed: Cost, anew: Moment },
    #[error("{owner} has a limit on what it may spend, but {model} has no price: add one to the price table")]
    NoPrice { owner: Owner, model: String },
}

impl Refusal {
    /// Whether waiting a minute helps.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Requests { .. } => true,
            Self::Tokens { .. } | Self::Money { .. } | Self::NoPrice { .. } => false,
        }
    }
}

/// What an owner has used on one day: what is kept over a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Days since 1970.
    pub day: i64,
    pub usage: Usage,
    pub cost: Cost,
}

pub struct Budget {
    prices: PriceTable,
    clock: Clock,
    ledgers: Mutex<HashMap<Owner, Ledger>>,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: Spent,
    /// For requests on their way.
    reserved: Reserved,
    /// When those of the last minute were admitted; never more than the limit.
    recent: VecDeque<Moment>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Reserved {
    tokens: u64,
    cost: Cost,
}

impl Budget {
    pub fn new(prices: PriceTable, clock: Clock) -> Self {
        Self { prices, clock, ledgers: Mutex::default() }
    }

    /// What this costs, if the model has a price.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<Cost> {
        self.prices.find(model).map(|price| price.of(usage))
    }

    /// Lets a request through, or says why not. A refused one counts for nothing.
    pub fn admit(&self, admission: Admission<'_>) -> Result<Permit<'_>, Refusal> {
        let Admission { owner, limits, model, at_most } = admission;
        let cost = self.cost(model, at_most);
        if limits.cost_per_day.is_some() && cost.is_none() {
            return Err(Refusal::NoPrice { owner: owner.clone(), model: model.to_owned() });
        }
        let needed = Reserved { tokens: at_most.total(), cost: cost.unwrap_or_default() };
        let now = (self.clock)();
        let mut ledgers = self.ledgers();
        let ledger = ledgers.entry(owner.clone()).or_default();
        ledger.advance(now);
        ledger.check_day(owner, limits, needed)?;
        ledger.check_minute(owner, limits, now)?;
        ledger.reserved = ledger.reserved.plus(needed);
        Ok(Permit { budget: self, owner: owner.clone(), model: model.to_owned(), reserved: needed })
    }

    /// Today's, requests under way apart.
    pub fn spent(&self, owner: &Owner) -> Spent {
        let now = (self.clock)();
        let mut ledgers = self.ledgers();
        match ledgers.get_mut(owner) {
            Some(ledger) => {
                ledger.advance(now);
                ledger.spent
            }
            None => Spent { day: day_of(now), ..Spent::default() },
        }
    }

    /// Goes on with what an earlier run had used. Of another day nothing is taken over.
    pub fn restore(&self, owner: &Owner, spent: Spent) {
        let now = (self.clock)();
        let mut ledgers = self.ledgers();
        let ledger = ledgers.entry(owner.clone()).or_default();
        ledger.advance(now);
        if spent.day == ledger.spent.day {
            ledger.spent.usage = ledger.spent.usage.plus(spent.usage);
            ledger.spent.cost = ledger.spent.cost.plus(spent.cost);
        }
    }

    /// The owner is gone for good.
    pub fn forget(&self, owner: &Owner) {
        self.ledgers().remove(owner);
    }

    fn ledgers(&self) -> MutexGuard<'_, HashMap<Owner, Ledger>> {
        self.ledgers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// A new day begins with nothing spent. A clock that was set back does not give yesterday's limit again.
    fn advance(&mut self, now: Moment) {
        let today = day_of(now);
        if today > self.spent.day {
            self.spent = Spent { day: today, ..Spent::default() };
        }
    }

    fn check_day(&self, owner: &Owner, limits: Limits, needed: Reserved) -> Result<(), Refusal> {
        let anew = Moment::from_millis((self.spent.day + 1) * DAY);
        let taken = self.spent.usage.total().saturating_add(self.reserved.tokens);
        if let Some(limit) =
            limits.tokens_per_day.filter(|&limit| taken.saturating_add(needed.tokens) > limit)
        {
            return Err(Refusal::Tokens { owner: owner.clone(), limit, taken, needed: needed.tokens, anew });
        }
        let taken = self.spent.cost.plus(self.reserved.cost);
        if let Some(limit) = limits.cost_per_day.filter(|&limit| taken.plus(needed.cost) > limit) {
            return Err(Refusal::Money { owner: owner.clone(), limit, taken, needed: needed.cost, anew });
        }
        Ok(())
    }

    /// Counts the request if it is within the limit.
    fn check_minute(&mut self, owner: &Owner, limits: Limits, now: Moment) -> Result<(), Refusal> {
        let Some(limit) = limits.requests_per_minute else { return Ok(()) };
        // Moments to come are those from before the clock was set back: they would bar the owner for as long.
        let is_recent = |at: &Moment| (0..MINUTE).contains(&(now.as_millis() - at.as_millis()));
        self.recent.retain(is_recent);
        if self.recent.len() >= limit as usize {
            let oldest = self.recent.front().map_or(now, |oldest| *oldest);
            let wait = oldest.as_millis() + MINUTE - now.as_millis();
            let retry_after = Duration::from_millis(u64::try_from(wait).unwrap_or_default());
            return Err(Refusal::Requests { owner: owner.clone(), limit, retry_after });
        }
        self.recent.push_back(now);
        Ok(())
    }
}

impl Reserved {
    fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_add(other.tokens), cost: self.cost.plus(other.cost) }
    }

    fn minus(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_sub(other.tokens), cost: self.cost.minus(other.cost) }
    }
}

/// A request that was let through. Dropped unsettled, it used nothing.
#[must_use = "a request is settled with what it took"]
pub struct Permit<'a> {
    budget: &'a Budget,
    owner: Owner,
    model: String,
    reserved: Reserved,
}

impl Permit<'_> {
    /// Books what the request took and says what it cost.
    pub fn settle(self, usage: Usage) -> Cost {
        let cost = self.budget.cost(&self.model, usage).unwrap_or_default();
        let now = (self.budget.clock)();
        let mut ledgers = self.budget.ledgers();
        // An owner that was forgotten meanwhile has nothing left to book on.
        if let Some(ledger) = ledgers.get_mut(&self.owner) {
            ledger.advance(now);
            ledger.spent.usage = ledger.spent.usage.plus(usage);
            ledger.spent.cost = ledger.spent.cost.plus(cost);
        }
        cost
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(ledger) = self.budget.ledgers().get_mut(&self.owner) {
            ledger.reserved = ledger.reserved.minus(self.reserved);
        }
    }
}

fn day_of(moment: Moment) -> i64 {
    moment.as_millis().div_euclid(DAY)
}
