//! Logs for people and counters for machines; every name stands here once.

pub mod counters;
pub mod logs;
