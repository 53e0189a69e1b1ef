//! Black-box tests of the real binary: scripted servers behind it, recording clients in front, nothing of its own
//! code in between. One module for each family of rules; a test's name begins with the number of its fault.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "test code"
)]

mod ask;
mod ask_rest;
mod bridge;
mod bridge_profiles;
mod bridge_tasks;
mod catalog;
mod cli;
mod client;
mod endurance;
mod fds;
mod find;
mod framing;
mod front_http;
mod front_sse;
mod health;
mod http_upstream;
mod kit;
mod limits;
mod loops;
mod names;
mod process;
mod reload;
mod rest;
mod shutdown;
mod skills;
mod sorting;
mod sse_upstream;
mod startup;
mod terminal;
