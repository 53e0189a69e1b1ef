//! A very fast MCP server whose tools echo their arguments, so that what is measured is what stands before it.

pub mod answers;
pub mod http;
pub mod stdio;
pub mod tools;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Debug, Parser)]
#[command(name = "portolan-echo", about = "An MCP server for measurements: every tool echoes its arguments")]
pub struct Cli {
    #[command(subcommand)]
    transport: Transport,
}

#[derive(Debug, Subcommand)]
enum Transport {
    /// Serve standard input and output
    Stdio(Options),
    /// Serve Streamable HTTP, on any path
    Http {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        listener: Listener,
    },
}

#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Number of tools: `echo` and others of about 0.9 kB, all of which echo
    #[arg(long, default_value_t = 1)]
    pub tools: usize,
    /// Every call takes this long; calls run side by side
    #[arg(long, default_value_t = 0)]
    pub delay_ms: u64,
    /// Nothing is read or answered for this long after the start
    #[arg(long, default_value_t = 0)]
    pub start_delay_ms: u64,
    /// The name that the server gives itself
    #[arg(long, default_value = "echo")]
    pub name: String,
    /// Every answer to a call also says `from NAME`, so that a call to the wrong server is seen
    #[arg(long)]
    pub sign: bool,
    /// Speak only the revisions that open with a handshake
    #[arg(long)]
    pub handshake: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Listener {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Answer with event streams instead of JSON
    #[arg(long)]
    sse: bool,
    /// End when standard input does, so that nothing outlives whoever started this
    #[arg(long)]
    until_eof: bool,
}

pub fn run(cli: Cli) -> Result<()> {
    match cli.transport {
        Transport::Stdio(options) => {
            std::thread::sleep(Duration::from_millis(options.start_delay_ms));
            stdio::serve(&answers::Echo::new(&options))
        }
        Transport::Http { options, listener } => {
            std::thread::sleep(Duration::from_millis(options.start_delay_ms));
            http::run(&listener, answers::Echo::new(&options))
        }
    }
}
