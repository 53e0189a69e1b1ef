//! What is measured: one file a subject, each a story from starting programs to a table.

mod cold;
mod correctness;
mod embedding;
mod latency;
mod list;
mod memory;
mod throughput;

use crate::http_client::HttpClient;
use crate::lab::{Lab, Served, tools_when};
use crate::load::Tool;
use crate::report::Section;
use crate::rpc::is_echo_tool;
use anyhow::{Context, Result};
use clap::ValueEnum;

/// Session calls are measured with a server that has sessions: a newer one would be spoken to without.
const HANDSHAKE: &[&str] = &["--handshake"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    Latency,
    Throughput,
    List,
    Cold,
    Correctness,
    Embedding,
    Memory,
}

impl Subject {
    pub fn name(self) -> &'static str {
        match self {
            Subject::Latency => "latency",
            Subject::Throughput => "throughput",
            Subject::List => "list",
            Subject::Cold => "cold",
            Subject::Correctness => "correctness",
            Subject::Embedding => "embedding",
            Subject::Memory => "memory",
        }
    }

    pub async fn measure(self, lab: &Lab) -> Result<Section> {
        match self {
            Subject::Latency => latency::measure(lab).await,
            Subject::Throughput => throughput::measure(lab).await,
            Subject::List => list::measure(lab).await,
            Subject::Cold => cold::measure(lab).await,
            Subject::Correctness => correctness::measure(lab).await,
            Subject::Embedding => embedding::measure(lab).await,
            Subject::Memory => memory::measure(lab).await,
        }
    }
}

/// A session of its own with what serves there, and its echo tool once the list is complete.
async fn meet(served: &Served, tools: usize) -> Result<(HttpClient, Tool)> {
    let mut client = HttpClient::open(served.target()?).await.context(served.running.name.clone())?;
    let names = tools_when(&mut client, tools).await.context(served.running.name.clone())?;
    let name = names.iter().find(|name| is_echo_tool(name)).context("no echo tool is listed")?;
    Ok((client, Tool::unsigned(name)))
}
