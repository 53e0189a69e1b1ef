//! Real scripted MCP servers and recording clients, for black-box tests of the gateway binary.
//!
//! Nothing here uses the gateway's own protocol code: a test of ourselves against ourselves proves nothing.
//! So messages are plain `serde_json` values, and the transports are written a second time, small.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::struct_excessive_bools,
    clippy::needless_pass_by_value,
    clippy::result_large_err,
    clippy::wildcard_enum_match_arm,
    clippy::zombie_processes,
    reason = "test code"
)]

mod binaries;
pub mod client;
pub mod fixture;
mod gateway;
mod journal;
pub mod model_server;
pub mod processes;
mod record;
mod rest;
mod running;

use std::time::Duration;

pub use self::binaries::bin;
pub use self::client::{
    Client, Exchange, HttpClient, Modern, ModernClient, ModernStdio, Profile, SseClient, StdioClient,
};
pub use self::gateway::{Gateway, GatewayBuilder};
pub use self::journal::Journal;
pub use self::model_server::ModelServer;
pub use self::record::{DEADLINE, Record};
pub use self::rest::{Answer, Rest};
pub use self::running::Fixture;
pub use http::Method;
pub use rustix::process::Signal;

/// How often something outside our process is looked at again.
const POLL: Duration = Duration::from_millis(20);
