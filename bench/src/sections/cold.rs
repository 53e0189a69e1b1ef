//! How long a client waits from the start of the program to the first complete tool list.

use crate::awake::Awake;
use crate::lab::{Behind, LIST_LIMIT, Lab};
use crate::report::Section;
use crate::stats::{median, ratio};
use anyhow::Result;
use std::time::{Duration, Instant};

const SERVERS: usize = 10;
const TOOLS: usize = 100;

/// What a small server in a scripting language takes to start, more or less.
const SLOW_START: &[&str] = &["--tools", "100", "--start-delay-ms", "300"];

/// A server that is there at once shows the gateway's own start by itself. No target: a real server needs longer.
const QUICK_START: &[&str] = &["--tools", "100"];

pub(super) async fn measure(lab: &Lab) -> Result<Section> {
    let rounds = lab.effort.pick(3, 7);
    let title = format!("start to the first complete list over stdio; medians of {rounds} starts");
    let mut section = Section::new("cold", title, &["server ms", "gateway ms", "ratio", "added ms"]);
    let awake = Awake::start(Duration::from_mins(2));
    for (label, options) in [("ten servers at 300 ms", SLOW_START), ("ten servers at once", QUICK_START)] {
        let (mut server_ms, mut gateway_ms) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            // All ten are alike, so one by itself is the slowest one's own start.
            server_ms.push(server_start_ms(lab, options).await?);
            gateway_ms.push(gateway_start_ms(lab, options).await?);
        }
        let (server, gateway) = (median(server_ms), median(gateway_ms));
        let values = [server, gateway, ratio(gateway, server), gateway - server];
        section.row(label, values.map(Some));
        if options == SLOW_START {
            section.at_most("gateway / slowest server", (ratio(gateway, server), "×"), 1.5);
        }
    }
    drop(awake);
    Ok(section)
}

async fn server_start_ms(lab: &Lab, options: &[&str]) -> Result<f64> {
    let begun = Instant::now();
    let mut client = lab.echo_pipe(options).await?;
    client.tools_when(TOOLS, LIST_LIMIT).await?;
    let took = begun.elapsed();
    client.stop().await;
    Ok(took.as_secs_f64() * 1000.0)
}

async fn gateway_start_ms(lab: &Lab, options: &[&str]) -> Result<f64> {
    let behind: Vec<Behind> = (0..SERVERS).map(|n| lab.behind_stdio(&format!("s{n}"), options)).collect();
    let begun = Instant::now();
    let mut client = lab.gateway_pipe(&behind).await?;
    client.tools_when(SERVERS * TOOLS, LIST_LIMIT).await?;
    let took = begun.elapsed();
    client.stop().await;
    Ok(took.as_secs_f64() * 1000.0)
}
