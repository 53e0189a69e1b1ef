//! One MCP server program whose every behaviour, good or bad, is chosen by flag or by tool.
//!
//! `legacy` holds the handshake era (2024-11-05 to 2025-11-25), `modern` the one after it (2026-07-28). Tools, prompts
//! and resources know nothing of eras: they work on a [`Call`](call::Call), and ask the client through it.

mod call;
mod capabilities;
mod changes;
mod extras;
mod feed;
mod http;
mod journal;
mod legacy;
mod listing;
mod modern;
mod options;
mod prompts;
mod question;
mod resources;
mod server;
mod sse;
mod startup;
mod stdio;
mod tasks;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;

pub use self::options::{Era, Options, Part, Probe, Transport};
use self::server::Server;

/// Runs the fixture until its client is gone.
pub fn run(options: Options) -> ExitCode {
    if options.only_sleep {
        loop {
            std::thread::park();
        }
    }
    if options.transport == Transport::Sse && options.era != Era::Legacy {
        eprintln!("--transport sse has the handshake era only: leave --era out");
        return ExitCode::from(2);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let code = runtime.block_on(serve(options));
    // Not dropped: a reader blocked on stdin would keep the runtime from ending.
    std::process::exit(code);
}

async fn serve(options: Options) -> i32 {
    let server = Arc::new(Server::new(options));
    startup::behave(&server).await;
    match server.options.transport {
        Transport::Stdio => stdio::serve(server).await,
        Transport::Http | Transport::Sse => http::serve(server).await,
    }
    0
}
