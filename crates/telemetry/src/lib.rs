//! Logs and counters, every name in one place.
