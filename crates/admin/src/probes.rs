//! What watches Portolan from outside asks here: whether it is ready, and its numbers.

use crate::Shared;
use crate::document::{Mistakes, Unready};
use crate::problem::{Code, Refusal};
use axum::extract::State;
use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use portolan_model::State as Lifecycle;
use portolan_telemetry::counters::{self, Counter};
use std::fmt::Write as _;
use std::sync::Arc;

/// The text format of Prometheus.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

const STATES: [Lifecycle; 5] = [
    Lifecycle::Disconnected,
    Lifecycle::Connecting,
    Lifecycle::Connected,
    Lifecycle::Degraded,
    Lifecycle::Error,
];

/// Ask whether Portolan is ready
///
/// It is when its store answers and it is not about to end.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "probes",
    responses((status = 200, description = "It is.", body = String, content_type = "text/plain"), Unready)
)]
pub(crate) async fn get_readiness(State(shared): State<Arc<Shared>>) -> Result<&'static str, Refusal> {
    if shared.admin.options.stop.is_cancelled() {
        return Err(Refusal::new(Code::ShuttingDown, "Portolan is shutting down"));
    }
    shared.admin.registry.ready().await?;
    Ok("ok")
}

/// Read the numbers
///
/// In the text format of Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "probes",
    responses((status = 200, description = "The numbers.", body = String, content_type = "text/plain"), Mistakes)
)]
pub(crate) async fn get_metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let admin = &shared.admin;
    let gauges = Gauges {
        states: admin.registry.servers().iter().map(|server| server.status).collect(),
        tools: admin.router.catalog.snapshot().tools().count(),
        uptime: shared.started.elapsed().as_secs(),
    };
    ([(CONTENT_TYPE, EXPOSITION)], exposition(counters::ALL, &gauges))
}

/// What is measured when somebody asks, beside what is counted all along.
struct Gauges {
    /// The state of each server.
    states: Vec<&'static str>,
    /// Tools that are offered right now.
    tools: usize,
    uptime: u64,
}

fn exposition(counters: &[&Counter], gauges: &Gauges) -> String {
    let mut out = String::with_capacity(4096);
    for counter in counters {
        family(&mut out, counter.name, "counter", counter.help);
        sample(&mut out, counter.name, "", counter.get());
    }
    family(&mut out, "portolan_servers", "gauge", "Servers, by their state.");
    for state in STATES {
        let count = gauges.states.iter().filter(|known| **known == state.as_str()).count();
        sample(&mut out, "portolan_servers", &format!("{{state=\"{state}\"}}"), count);
    }
    family(&mut out, "portolan_tools", "gauge", "Tools that are offered right now.");
    sample(&mut out, "portolan_tools", "", gauges.tools);
    family(&mut out, "portolan_uptime_seconds", "gauge", "For how long Portolan has been running.");
    sample(&mut out, "portolan_uptime_seconds", "", gauges.uptime);
    family(&mut out, "portolan_build_info", "gauge", "Which Portolan this is; always 1.");
    sample(&mut out, "portolan_build_info", concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1);
    out
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing into a text cannot fail.
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}").unwrap_or_default();
}

fn sample(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    writeln!(out, "{name}{labels} {value}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_help_its_type_and_its_value() {
        counters::CALLS.add(3);
        let gauges = Gauges { states: vec!["CONNECTED", "ERROR", "CONNECTED"], tools: 7, uptime: 60 };
        let text = exposition(counters::ALL, &gauges);
        for line in [
            "# TYPE portolan_calls_total counter",
            "portolan_calls_total 3",
            "# TYPE portolan_servers gauge",
            "portolan_servers{state=\"CONNECTED\"} 2",
            "portolan_servers{state=\"ERROR\"} 1",
            "portolan_servers{state=\"DEGRADED\"} 0",
            "portolan_tools 7",
            "portolan_uptime_seconds 60",
            concat!("portolan_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        ] {
            assert!(text.lines().any(|got| got == line), "{line} is not in\n{text}");
        }
        for counter in counters::ALL {
            assert!(
                text.contains(&format!("# HELP {} {}\n", counter.name, counter.help)),
                "{}",
                counter.name
            );
        }
    }

    #[test]
    fn nothing_is_said_that_a_reader_of_numbers_would_stumble_over() {
        let text = exposition(counters::ALL, &Gauges { states: Vec::new(), tools: 0, uptime: 0 });
        assert!(text.ends_with('\n') && !text.contains("\n\n"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("portolan_") && value.parse::<u64>().is_ok(), "{line}");
        }
    }
}
