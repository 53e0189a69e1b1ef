//! What the gateway holds: at rest, for each further client session, and on disk.

use crate::http_client::HttpClient;
use crate::lab::{Behind, Lab, Served, tools_when};
use crate::procs::{self, Memory};
use crate::report::Section;
use anyhow::{Context, Result};
use std::time::Duration;

const SERVERS: usize = 10;

/// Sessions opened before the first look, so that what is set up once is not charged to those that follow.
const WARM_UP: usize = 50;

/// Both the harness and the gateway hold a socket each: this stays below the usual limit of 1,024 descriptors.
const STREAMS: usize = 500;

const MIB: f64 = 1024.0;

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let columns = ["RSS MiB", "own MiB", "threads", "helpers MiB"];
    let title = "the gateway's own process; `own` is what it wrote itself (anonymous), helpers are its further processes";
    let mut section = Section::new("memory", title, &columns);
    for tools in [10, 100] {
        let resident_mib = at_rest(lab, tools, &mut section).await?;
        section.at_most(format!("at rest, 10 stdio servers × {tools} tools"), (resident_mib, "MiB"), 15.0);
    }
    let sessions = lab.effort.pick(500, 2000);
    let quiet = per_session_kib(lab, sessions, Kind::Quiet, &mut section).await?;
    section.at_most(format!("one more idle session, of {sessions}"), (quiet, "KiB"), 16.0);
    let streams = lab.effort.pick(200, STREAMS);
    match per_session_kib(lab, streams, Kind::Listening, &mut section).await {
        Ok(kib) => section.note(format!(
            "one more session with an open connection and GET stream, of {streams}: {kib:.1} KiB"
        )),
        // A gateway without such streams still has the other numbers.
        Err(problem) => section.failure = Some(format!("sessions with an open stream: {problem:#}")),
    }
    let size = std::fs::metadata(lab.gateway_binary())?.len();
    section.at_most("the binary", (size as f64 / (MIB * MIB), "MiB"), 15.0);
    Ok(section)
}

async fn at_rest(lab: &Lab, tools: usize, section: &mut Section) -> Result<f64> {
    let count = tools.to_string();
    let behind: Vec<Behind> =
        (0..SERVERS).map(|n| lab.behind_stdio(&format!("s{n}"), &["--tools", &count])).collect();
    let gateway = lab.gateway(&behind).await?;
    let mut client = HttpClient::open(gateway.target()?).await?;
    tools_when(&mut client, SERVERS * tools).await?;
    client.close().await?;
    drop(client);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let resident_mib =
        look(&gateway, format!("10 × {tools} tools, at rest"), section).resident_kib as f64 / MIB;
    gateway.stop().await;
    Ok(resident_mib)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Opened and left alone, with no connection.
    Quiet,
    /// With its event stream open.
    Listening,
}

/// The growth of the resident set, divided by the sessions that caused it.
async fn per_session_kib(lab: &Lab, count: usize, kind: Kind, section: &mut Section) -> Result<f64> {
    let gateway = lab.gateway(&[lab.behind_stdio("echo", &[])]).await?;
    let mut first = HttpClient::open(gateway.target()?).await?;
    tools_when(&mut first, 1).await?;
    let _warm = open(&gateway, WARM_UP, kind).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = procs::memory(gateway.running.pid);
    let _held = open(&gateway, count, kind).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let what = match kind {
        Kind::Quiet => "idle sessions",
        Kind::Listening => "sessions with a stream",
    };
    let after = look(&gateway, format!("1 server, {count} {what}"), section);
    gateway.stop().await;
    Ok(after.resident_kib.saturating_sub(before.resident_kib) as f64 / count as f64)
}

/// Streams that were opened stay open for as long as what is returned lives.
async fn open(gateway: &Served, count: usize, kind: Kind) -> Result<Vec<crate::http_client::OpenStream>> {
    let mut streams = Vec::new();
    let mut client = HttpClient::open(gateway.target()?).await?;
    for number in 1..=count {
        let context = || format!("session {number} of {count}");
        match kind {
            Kind::Quiet => client.reopen().await.with_context(context)?,
            Kind::Listening => {
                let own = HttpClient::open(gateway.target()?).await.with_context(context)?;
                streams.push(own.listen().await.with_context(context)?);
            }
        }
    }
    Ok(streams)
}

fn look(gateway: &Served, label: String, section: &mut Section) -> Memory {
    let pid = gateway.running.pid;
    let memory = procs::memory(pid);
    let helpers: u64 = procs::helpers(pid, "portolan-echo")
        .into_iter()
        .map(|helper| procs::memory(helper).resident_kib)
        .sum();
    let mib = |kib: u64| Some(kib as f64 / MIB);
    section.row(
        label,
        [mib(memory.resident_kib), mib(memory.anonymous_kib), Some(memory.threads as f64), mib(helpers)],
    );
    memory
}
