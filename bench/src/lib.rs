//! Portolan's own benchmark: an echo server, a forwarding hop, a load generator and the harness around them.
//!
//! Nothing here is part of the gateway, and nothing of the gateway is used here: the harness meets the
//! `portolan` binary only through its command line, its configuration file and MCP.

#![allow(
    clippy::disallowed_methods,
    reason = "a measuring program starts processes, spawns workers and reads the clock itself; those rules guard the gateway"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the report goes to stdout, what is going on to stderr"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts, bytes and nanoseconds of one run stay far below 2^52"
)]

pub mod awake;
pub mod cli;
pub mod echo;
pub mod hop;
pub mod http_client;
pub mod lab;
pub mod load;
pub mod machine;
pub mod pipe_client;
pub mod processors;
pub mod procs;
pub mod report;
pub mod rpc;
pub mod running;
pub mod sections;
pub mod stats;
