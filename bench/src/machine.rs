//! What the machine is, and how much of it others used while we measured.

use crate::procs;
use serde::Serialize;
use std::fs;
use std::time::Instant;

#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    pub cores: usize,
    pub model: String,
    pub load_before: String,
}

impl Machine {
    pub fn look() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            model: model.map_or("unknown processor", |(_, name)| name.trim()).to_owned(),
            load_before: load.split_ascii_whitespace().take(3).collect::<Vec<_>>().join(" "),
        }
    }
}

/// Taken before a measurement; `others` after it tells what did not come from us.
pub struct Watch {
    begun: Instant,
    machine_s: f64,
    ours_s: f64,
}

/// Time that passed, and the processors that others kept busy meanwhile on average.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Others {
    pub seconds: f64,
    pub cores: f64,
}

impl Watch {
    pub fn start() -> Self {
        Self {
            begun: Instant::now(),
            machine_s: machine_busy_s(),
            ours_s: procs::family_cpu_s(std::process::id()),
        }
    }

    /// Children must be ended and waited for by now, else their time is lost and counts as others'.
    pub fn others(&self) -> Others {
        let seconds = self.begun.elapsed().as_secs_f64();
        let machine = machine_busy_s() - self.machine_s;
        let ours = procs::family_cpu_s(std::process::id()) - self.ours_s;
        Others { seconds, cores: ((machine - ours) / seconds.max(0.001)).max(0.0) }
    }
}

fn machine_busy_s() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    procs::ticks_to_s(parse_busy_ticks(&text).unwrap_or(0))
}

/// Everything but idle and iowait. Stolen time is in it: a neighbour on the same host used it.
fn parse_busy_ticks(stat: &str) -> Option<u64> {
    let fields: Vec<u64> =
        stat.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|f| f.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest times after them are part of user already.
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = fields.get(..8)?.try_into().ok()?;
    let all: [u64; 6] = [user, nice, system, irq, softirq, steal];
    Some(all.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_iowait_and_guests() {
        let text = "cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(parse_busy_ticks(text), Some(63));
        assert_eq!(parse_busy_ticks("cpu 1 2"), None);
    }
}
