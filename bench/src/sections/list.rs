//! How long the tool list takes: ten servers with a hundred tools each against one server with a thousand.

use super::meet;
use crate::awake::Awake;
use crate::http_client::HttpClient;
use crate::lab::{Behind, Lab};
use crate::report::Section;
use crate::stats::{Spread, ratio};
use anyhow::Result;
use std::time::{Duration, Instant};

const SERVERS: usize = 10;
const TOOLS: usize = 100;

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let (rounds, lists) = lab.effort.pick((5, 20), (7, 60));
    let echo = lab.echo(&["--tools", "1000"]).await?;
    let hop = lab.hop(echo.address).await?;
    let behind: Vec<Behind> =
        (0..SERVERS).map(|n| lab.behind_stdio(&format!("s{n}"), &["--tools", "100"])).collect();
    let gateway = lab.gateway(&behind).await?;
    let mut paths = Vec::new();
    for (label, served) in
        [("direct, 1 × 1000", &echo), ("hop, 1 × 1000", &hop), ("portolan, 10 × 100", &gateway)]
    {
        let (client, _) = meet(served, SERVERS * TOOLS).await?;
        paths.push(Path { label, client, next_id: 1, bytes: 0, rounds: Vec::new() });
    }
    let title =
        format!("tools/list of a thousand tools over HTTP; medians of {rounds} rounds of {lists} lists");
    let mut section = Section::new("list", title, &["p50 µs", "p90 µs", "p99 µs", "kB"]);
    let awake = Awake::start(Duration::from_mins(2));
    for path in &mut paths {
        path.run(10).await?;
        path.rounds.clear();
    }
    for round in 0..rounds {
        for turn in 0..paths.len() {
            let path = (round + turn) % paths.len();
            paths[path].run(lists).await?;
        }
    }
    drop(awake);
    let medians: Vec<Spread> = paths.iter().map(|path| Spread::median_of(&path.rounds)).collect();
    for (path, spread) in paths.iter().zip(&medians) {
        let values = [spread.p50, spread.p90, spread.p99, path.bytes as f64 / 1000.0];
        section.row(path.label, values.map(Some));
    }
    section.at_most("p50, portolan / direct", (ratio(medians[2].p50, medians[0].p50), "×"), 2.0);
    for served in [gateway, hop, echo] {
        served.stop().await;
    }
    Ok(section)
}

struct Path {
    label: &'static str,
    client: HttpClient,
    next_id: u64,
    bytes: usize,
    rounds: Vec<Spread>,
}

impl Path {
    async fn run(&mut self, lists: u64) -> Result<()> {
        let mut times_ns = Vec::new();
        for _ in 0..lists {
            let begun = Instant::now();
            self.bytes = self.client.fetch_tools(self.next_id).await?;
            times_ns.push(begun.elapsed().as_nanos() as u64);
            // Room for the pages of one list.
            self.next_id += 1000;
        }
        self.rounds.push(Spread::of(&mut times_ns));
        Ok(())
    }
}
