//! What calls notice of ten thousand tools that are embedded beside them.

use super::{HANDSHAKE, meet};
use crate::lab::{Lab, Model};
use crate::load::{self, Ids, Outcome, Plan};
use crate::report::Section;
use crate::stats::{Spread, median, ratio};
use anyhow::Result;
use std::time::Duration;

const CALLERS: usize = 16;
const TOOLS: usize = 10_000;

/// More than are made in the time: it ends a run, not a count.
const CALLS: u64 = 1_000_000;

#[derive(Default)]
struct Measured {
    per_second: Vec<f64>,
    p50: Vec<f64>,
}

impl Measured {
    fn add(&mut self, mut outcome: Outcome) {
        self.per_second.push(outcome.per_second());
        self.p50.push(Spread::of(&mut outcome.times_ns).p50);
    }

    fn speed(&self) -> f64 {
        median(self.per_second.iter().copied())
    }
}

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let (rounds, seconds) = lab.effort.pick((1, 4), (5, 6));
    let title = format!(
        "{CALLERS} callers for {seconds} s from the moment that {TOOLS} tools are listed; medians of {rounds} rounds"
    );
    let mut section = Section::new("embedding", title, &["calls/s", "p50 µs"]);
    let (mut embedding, mut without) = (Measured::default(), Measured::default());
    // One gateway at a time: what one does beside the calls would be felt by the calls of the other.
    for _ in 0..rounds {
        for (model, measured) in [(Model::BuiltIn, &mut embedding), (Model::Off, &mut without)] {
            let outcome = run(lab, model, Duration::from_secs(seconds)).await?;
            section.account("calls", &outcome);
            measured.add(outcome);
        }
    }
    for (label, measured) in [("tools are embedded", &embedding), ("without a model", &without)] {
        section.row(label, [Some(measured.speed()), Some(median(measured.p50.iter().copied()))]);
    }
    section.at_least("the one to the other", (ratio(embedding.speed(), without.speed()), "×"), 0.9);
    let each: Vec<String> = embedding
        .per_second
        .iter()
        .zip(&without.per_second)
        .map(|(embedding, without)| format!("{:.2}", ratio(*embedding, *without)))
        .collect();
    section.note(format!("round by round: {}", each.join(", ")));
    Ok(section)
}

/// Calls of a small server while a large one, with the same gateway, has just come.
async fn run(lab: &Lab, model: Model, limit: Duration) -> Result<Outcome> {
    let echo = lab.echo(HANDSHAKE).await?;
    let many = lab.behind_stdio("many", &["--tools", &TOOLS.to_string()]);
    let gateway = lab.gateway_with(&[Lab::behind_http("echo", echo.address), many], model).await?;
    let (client, tool) = meet(&gateway, TOOLS + 1).await?;
    let plan = Plan {
        target: gateway.target()?,
        sessions: vec![client.session()],
        tools: vec![tool],
        callers: CALLERS,
        calls: CALLS,
        limit,
        ids: Ids::Apart,
    };
    let outcome = load::many(plan).await?;
    gateway.stop().await;
    echo.stop().await;
    Ok(outcome)
}
