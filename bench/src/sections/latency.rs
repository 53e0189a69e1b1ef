//! How long a lone client waits for an answer: direct, through the hop, through the gateway.
//!
//! Whether two programs that talk to each other share a processor doubles or halves the time of a call, and the
//! scheduler decides it anew for each process: two identical hops can differ by 2 × in one run. So the
//! programs are placed, in the two ways that there are, and the free choice is shown beside them.

use super::{HANDSHAKE, meet};
use crate::awake::Awake;
use crate::http_client::HttpClient;
use crate::lab::{Lab, Served};
use crate::load::{self, Tool};
use crate::processors::{Place, place_process, place_this_thread, usable};
use crate::report::Section;
use crate::stats::{Spread, ratio};
use anyhow::Result;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// The client and what it talks to run on different processors, and so on along the way.
    Apart,
    /// Everything on one processor: times are pure work and switches.
    Together,
    /// As the scheduler likes.
    Free,
}

impl Layout {
    fn label(self) -> &'static str {
        match self {
            Layout::Apart => "apart",
            Layout::Together => "together",
            Layout::Free => "free",
        }
    }

    /// The place of the program so many steps from the client, which is at step 0.
    fn place(self, step: usize, cpus: &[usize]) -> Place<'_> {
        match (self, cpus) {
            (Layout::Free, _) | (_, []) => Place::Any(cpus),
            (Layout::Together, [first, ..]) => Place::Only(*first),
            (Layout::Apart, _) => Place::Only(cpus[step % cpus.len().min(2)]),
        }
    }
}

struct Path {
    label: &'static str,
    client: HttpClient,
    tool: Tool,
    next_id: u64,
    /// The processes along the way, the nearest first.
    steps: Vec<u32>,
}

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let (rounds, calls) = lab.effort.pick((6, 200), (20, 400));
    let echo = lab.echo(HANDSHAKE).await?;
    let hop = lab.hop(echo.address).await?;
    let gateway = lab.gateway(&[Lab::behind_http("echo", echo.address)]).await?;
    let mut paths = Vec::new();
    let ways: [(_, &[&Served]); 3] =
        [("direct", &[&echo]), ("hop", &[&hop, &echo]), ("portolan", &[&gateway, &echo])];
    for (label, steps) in ways {
        let (client, tool) = meet(steps[0], 1).await?;
        let steps = steps.iter().map(|served| served.running.pid).collect();
        paths.push(Path { label, client, tool, next_id: 1, steps });
    }
    let title = format!("one caller, HTTP in front and behind; medians of {rounds} rounds of {calls} calls");
    let mut section = Section::new("latency", title, &["p50 µs", "p90 µs", "p99 µs"]);
    let awake = Awake::start(Duration::from_mins(2));
    let cpus = usable();
    for layout in [Layout::Apart, Layout::Together, Layout::Free] {
        let spreads = in_rounds(&mut paths, (layout, &cpus), (rounds, calls), &mut section).await;
        report(layout, &spreads, &mut section);
        // What follows may start programs, and those inherit the place of this thread.
        place_this_thread(Place::Any(&cpus));
    }
    drop(awake);
    for served in [gateway, hop, echo] {
        served.stop().await;
    }
    Ok(section)
}

/// The medians for each path, in their order.
async fn in_rounds(
    paths: &mut [Path],
    (layout, cpus): (Layout, &[usize]),
    (rounds, calls): (usize, u64),
    section: &mut Section,
) -> Vec<Spread> {
    let mut measured = vec![Vec::new(); paths.len()];
    // Each path goes first, second and last equally often, so that drift of the machine hits all alike.
    for turn in 0..rounds * paths.len() {
        let (round, place) = (turn / paths.len(), turn % paths.len());
        let path = (round + place) % paths.len();
        paths[path].settle(layout, cpus);
        measured[path].push(paths[path].run(calls, section).await);
    }
    measured.iter().map(|rounds| Spread::median_of(rounds)).collect()
}

impl Path {
    fn settle(&self, layout: Layout, cpus: &[usize]) {
        place_this_thread(layout.place(0, cpus));
        for (step, &pid) in self.steps.iter().enumerate() {
            place_process(pid, layout.place(step + 1, cpus));
        }
    }

    /// A tenth more calls go before those that count, to warm up what the other paths have cooled down.
    async fn run(&mut self, calls: u64, section: &mut Section) -> Spread {
        let first = self.next_id + calls / 10;
        let warm_up = load::alone(&mut self.client, &self.tool, self.next_id..first).await;
        let mut outcome = load::alone(&mut self.client, &self.tool, first..first + calls).await;
        self.next_id = first + calls;
        section.account(self.label, &warm_up);
        section.account(self.label, &outcome);
        Spread::of(&mut outcome.times_ns)
    }
}

fn report(layout: Layout, spreads: &[Spread], section: &mut Section) {
    let [direct, hop, portolan] = *spreads else { return };
    let how = layout.label();
    for (label, spread) in [("direct", direct), ("hop", hop), ("portolan", portolan)] {
        section.row(format!("{how}: {label}"), [spread.p50, spread.p90, spread.p99].map(Some));
    }
    for (label, under) in [("portolan / direct", direct), ("portolan / hop", hop)] {
        let ratios = [(portolan.p50, under.p50), (portolan.p90, under.p90), (portolan.p99, under.p99)];
        section.row(format!("{how}: {label}"), ratios.map(|(over, under)| Some(ratio(over, under))));
    }
    if layout != Layout::Free {
        section.at_most(format!("{how}: p50, portolan / hop"), (ratio(portolan.p50, hop.p50), "×"), 1.3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_on_the_way_are_apart_or_together_as_asked() {
        let places = |layout: Layout, cpus| [0, 1, 2].map(|step| layout.place(step, cpus));
        let (a, b) = (Place::Only(4), Place::Only(6));
        assert_eq!(places(Layout::Apart, &[4, 6, 8]), [a, b, a]);
        assert_eq!(places(Layout::Together, &[4, 6]), [a, a, a]);
        assert_eq!(places(Layout::Apart, &[4]), [a, a, a]);
        assert_eq!(places(Layout::Free, &[4, 6]), [Place::Any(&[4, 6]); 3]);
        assert_eq!(places(Layout::Apart, &[]), [Place::Any(&[]); 3]);
    }
}
