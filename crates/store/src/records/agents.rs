//! What a connector agent has done, as a row.

use portolan_model::{Moment, ServerId};

/// The numbers of one server's agent since it was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTallyRecord {
    pub server: ServerId,
    pub calls: u64,
    pub errors: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// In billionths of the price table's currency.
    pub cost: u64,
    /// In milliseconds, of all calls together and of the longest.
    pub latency_total: u64,
    pub latency_max: u64,
    pub last_used_at: Option<Moment>,
    pub today: AgentDay,
}

/// What it has used of its budget on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentDay {
    /// Days since 1970.
    pub day: i64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub cost: u64,
}
