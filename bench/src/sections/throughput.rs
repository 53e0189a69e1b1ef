//! How many calls a second 64 callers get, and what each costs the gateway in CPU time.

use super::{HANDSHAKE, meet};
use crate::http_client::{HttpClient, Session, Target};
use crate::lab::{Lab, Served};
use crate::load::{self, Ids, Outcome, Plan, Tool};
use crate::pipe_client::{PipeClient, PipeLoad};
use crate::procs;
use crate::report::Section;
use crate::rpc::is_echo_tool;
use crate::stats::{Spread, median, ratio};
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::Duration;

const CALLERS: usize = 64;

/// One way from the callers to an answer, and what was measured on it.
struct Path {
    label: &'static str,
    way: Way,
    /// The process between callers and server, whose CPU time is taken.
    between: Option<u32>,
    per_second: Vec<f64>,
    p50: Vec<f64>,
    calls: u64,
    cpu_s: f64,
}

enum Way {
    Http { target: Arc<Target>, sessions: Vec<Session>, tool: Tool },
    Pipe { client: Box<PipeClient>, tool: String },
}

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let (rounds, calls) = lab.effort.pick((2, 4_000), (5, 15_000));
    let limit = Duration::from_secs(lab.effort.pick(2, 4));
    let (echo, newer) = (lab.echo(HANDSHAKE).await?, lab.echo(&[]).await?);
    let hop = lab.hop(echo.address).await?;
    let over_http = lab.gateway(&[Lab::behind_http("echo", echo.address)]).await?;
    let over_newer = lab.gateway(&[Lab::behind_http("echo", newer.address)]).await?;
    let over_stdio = lab.gateway(&[lab.behind_stdio("echo", HANDSHAKE)]).await?;
    let mut paths = vec![
        Path::http("direct, HTTP", &echo, CALLERS).await?,
        Path::stateless("direct, HTTP, no session", &newer).await?,
        Path::http("hop, HTTP → HTTP", &hop, CALLERS).await?.charged(&hop),
        Path::http("portolan, HTTP → HTTP, 64 sessions", &over_http, CALLERS).await?.charged(&over_http),
        Path::http("portolan, HTTP → HTTP, 1 session", &over_http, 1).await?.charged(&over_http),
        Path::stateless("portolan, HTTP → HTTP, no session", &over_newer).await?.charged(&over_newer),
        Path::http("portolan, HTTP → stdio, 64 sessions", &over_stdio, CALLERS).await?.charged(&over_stdio),
        Path::pipe("direct, stdio", lab.echo_pipe(&[]).await?).await?,
        Path::pipe(
            "portolan, stdio → stdio",
            lab.gateway_pipe(&[lab.behind_stdio("echo", HANDSHAKE)]).await?,
        )
        .await?,
    ];
    if let Some(stdio) = paths.last_mut()
        && let Way::Pipe { client, .. } = &stdio.way
    {
        stdio.between = Some(client.running.pid);
    }
    let title =
        format!("64 callers; medians of {rounds} rounds of up to {calls} calls; CPU over all of them");
    let mut section = Section::new("throughput", title, &["calls/s", "p50 µs", "CPU µs/call"]);
    for round in 0..rounds {
        for turn in 0..paths.len() {
            let path = (round + turn) % paths.len();
            let outcome = paths[path].run(calls, limit).await?;
            section.account(paths[path].label, &outcome);
        }
    }
    report(&paths, &mut section);
    for path in paths {
        if let Way::Pipe { client, .. } = path.way {
            client.stop().await;
        }
    }
    for served in [over_http, over_newer, over_stdio, hop, echo, newer] {
        served.stop().await;
    }
    Ok(section)
}

impl Path {
    fn new(label: &'static str, way: Way) -> Self {
        Self { label, way, between: None, per_second: Vec::new(), p50: Vec::new(), calls: 0, cpu_s: 0.0 }
    }

    async fn http(label: &'static str, served: &Served, sessions: usize) -> Result<Self> {
        let (first, tool) = meet(served, 1).await?;
        let mut all = vec![first.session()];
        while all.len() < sessions {
            all.push(HttpClient::open(served.target()?).await?.session());
        }
        Ok(Self::new(label, Way::Http { target: served.target()?, sessions: all, tool }))
    }

    async fn stateless(label: &'static str, served: &Served) -> Result<Self> {
        let (_, tool) = meet(served, 1).await?;
        let sessions = vec![HttpClient::stateless(&tool.name)?];
        Ok(Self::new(label, Way::Http { target: served.target()?, sessions, tool: tool.stateless() }))
    }

    async fn pipe(label: &'static str, mut client: PipeClient) -> Result<Self> {
        let names = client.tools_when(1, Duration::from_secs(30)).await?;
        let tool = names.into_iter().find(|name| is_echo_tool(name)).context("no echo tool is listed")?;
        Ok(Self::new(label, Way::Pipe { client: Box::new(client), tool }))
    }

    fn charged(mut self, between: &Served) -> Self {
        self.between = Some(between.running.pid);
        self
    }

    async fn run(&mut self, calls: u64, limit: Duration) -> Result<Outcome> {
        let cpu_before = self.between.map_or(0.0, procs::cpu_s);
        let mut outcome = match &mut self.way {
            Way::Http { target, sessions, tool } => {
                let plan = Plan {
                    target: Arc::clone(target),
                    sessions: sessions.clone(),
                    tools: vec![tool.clone()],
                    callers: CALLERS,
                    calls,
                    limit,
                    ids: Ids::Apart,
                };
                load::many(plan).await?
            }
            Way::Pipe { client, tool } => {
                client.load(PipeLoad { tool, callers: CALLERS, calls, limit }).await?
            }
        };
        self.cpu_s += self.between.map_or(0.0, procs::cpu_s) - cpu_before;
        self.calls += outcome.calls() + outcome.warm_ups;
        self.per_second.push(outcome.per_second());
        self.p50.push(Spread::of(&mut outcome.times_ns).p50);
        Ok(outcome)
    }

    fn speed(&self) -> f64 {
        median(self.per_second.iter().copied())
    }

    fn cpu_us(&self) -> f64 {
        ratio(self.cpu_s * 1e6, self.calls as f64)
    }
}

fn report(paths: &[Path], section: &mut Section) {
    for path in paths {
        let cpu = path.between.map(|_| path.cpu_us());
        section.row(path.label, [Some(path.speed()), Some(median(path.p50.iter().copied())), cpu]);
    }
    let [direct, bare, hop, many, one, stateless, to_stdio, pipe, pipe_gateway] = paths else { return };
    section.row("portolan / direct, HTTP", [Some(ratio(many.speed(), direct.speed()))]);
    section.row("portolan / direct, stdio", [Some(ratio(pipe_gateway.speed(), pipe.speed()))]);
    section.at_least("portolan / hop, 64 sessions", (ratio(many.speed(), hop.speed()), "×"), 0.7);
    section.at_least("portolan / hop, 1 session", (ratio(one.speed(), hop.speed()), "×"), 0.7);
    // A call without a session carries what a session says once, and that costs its own also where nobody stands between.
    let (here, direct) = (ratio(stateless.speed(), many.speed()), ratio(bare.speed(), direct.speed()));
    section.row("no session / 64 sessions, direct", [Some(direct)]);
    section.row("no session / 64 sessions, portolan", [Some(here)]);
    section.at_least("the one to the other", (ratio(here, direct), "×"), 1.0);
    section.at_most("CPU per call, HTTP behind", (many.cpu_us(), "µs"), 60.0);
    section.at_most("CPU per call, stdio behind", (to_stdio.cpu_us(), "µs"), 35.0);
}
