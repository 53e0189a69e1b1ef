//! The numbers of an agent, as they are shown and as they are stored.

use std::time::Duration;

use portolan_llm::{Cost, Spent, Usage};
use portolan_model::{Moment, ServerId};
use portolan_store::{AgentDay, AgentTallyRecord};

use crate::trace::{Ending, millis};

/// What an agent has done since its server was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Queries that it took up.
    pub calls: u64,
    /// Those of them that failed; one that its caller called off has not.
    pub errors: u64,
    pub usage: Usage,
    pub cost: Cost,
    /// Of all queries together.
    pub latency_total: Duration,
    pub latency_max: Duration,
    pub last_used_at: Option<Moment>,
}

/// What one query has used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    pub(crate) latency: Duration,
}

impl Tally {
    pub fn latency_mean(&self) -> Option<Duration> {
        let calls = u32::try_from(self.calls).unwrap_or(u32::MAX);
        (calls > 0).then(|| self.latency_total / calls)
    }

    pub(crate) fn add(&mut self, used: &Used, at: Moment) {
        *self = self.plus(&Self {
            calls: 1,
            errors: u64::from(used.ending == Ending::Failed),
            usage: used.usage,
            cost: used.cost,
            latency_total: used.latency,
            latency_max: used.latency,
            last_used_at: Some(at),
        });
    }

    #[must_use]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            errors: self.errors.saturating_add(other.errors),
            usage: self.usage.plus(other.usage),
            cost: self.cost.plus(other.cost),
            latency_total: self.latency_total.saturating_add(other.latency_total),
            latency_max: self.latency_max.max(other.latency_max),
            last_used_at: self.last_used_at.max(other.last_used_at),
        }
    }

    pub(crate) fn record(&self, server: ServerId, today: Spent) -> AgentTallyRecord {
        AgentTallyRecord {
            server,
            calls: self.calls,
            errors: self.errors,
            tokens_in: self.usage.input,
            tokens_out: self.usage.output,
            cost: self.cost.as_nanos(),
            latency_total: millis(self.latency_total),
            latency_max: millis(self.latency_max),
            last_used_at: self.last_used_at,
            today: AgentDay {
                day: today.day,
                tokens_in: today.usage.input,
                tokens_out: today.usage.output,
                cost: today.cost.as_nanos(),
            },
        }
    }
}

impl From<&AgentTallyRecord> for Tally {
    fn from(record: &AgentTallyRecord) -> Self {
        Self {
            calls: record.calls,
            errors: record.errors,
            usage: Usage { input: record.tokens_in, output: record.tokens_out },
            cost: Cost::from_nanos(record.cost),
            latency_total: Duration::from_millis(record.latency_total),
            latency_max: Duration::from_millis(record.latency_max),
            last_used_at: record.last_used_at,
        }
    }
}

/// What had been spent of the day's budget when the record was written.
pub(crate) fn spent(record: &AgentTallyRecord) -> Spent {
    let AgentDay { day, tokens_in, tokens_out, cost } = record.today;
    Spent { day, usage: Usage { input: tokens_in, output: tokens_out }, cost: Cost::from_nanos(cost) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_adds_up_and_reads_back_what_is_stored() {
        let mut tally = Tally::default();
        assert_eq!(tally.latency_mean(), None);
        for (ending, millis) in [(Ending::Done, 10), (Ending::Failed, 30)] {
            let used = Used {
                ending,
                usage: Usage { input: 3, output: 1 },
                cost: Cost::from_nanos(5),
                latency: Duration::from_millis(millis),
            };
            tally.add(&used, Moment::from_millis(7));
        }
        assert_eq!((tally.calls, tally.errors, tally.usage.input, tally.cost.as_nanos()), (2, 1, 6, 10));
        assert_eq!(tally.latency_mean(), Some(Duration::from_millis(20)));
        assert_eq!(tally.latency_max, Duration::from_millis(30));
        let today = Spent { day: 9, usage: tally.usage, cost: tally.cost };
        let record = tally.record(ServerId::random(), today);
        assert_eq!((Tally::from(&record), spent(&record)), (tally, today));
    }
}
