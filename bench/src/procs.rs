//! CPU time, memory and descriptors of processes, read from `/proc`.

use std::collections::HashMap;
use std::fs;

/// What `/proc/PID/stat` says about one process; times in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub parent: u32,
    /// User and system time of the process itself.
    pub own_ticks: u64,
    /// The same of its children that ended and were waited for.
    pub reaped_ticks: u64,
}

/// What `/proc/PID/status` says about the memory of one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    pub resident_kib: u64,
    /// The part of it that the process wrote itself: heap and stacks, not the program's file.
    pub anonymous_kib: u64,
    pub threads: u64,
}

/// The command stands in parentheses and may hold blanks and parentheses, so fields count from the last one.
pub fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    // The first field after the command is number 3 of proc(5).
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(4)?).ok()?,
        own_ticks: number(14)? + number(15)?,
        reaped_ticks: number(16)? + number(17)?,
    })
}

pub fn parse_status(text: &str) -> Memory {
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.split_ascii_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    };
    Memory { resident_kib: value("VmRSS:"), anonymous_kib: value("RssAnon:"), threads: value("Threads:") }
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

pub fn memory(pid: u32) -> Memory {
    parse_status(&fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default())
}

/// CPU seconds of one process alone, without its children.
pub fn cpu_s(pid: u32) -> f64 {
    ticks_to_s(stat(pid).map_or(0, |s| s.own_ticks))
}

/// CPU seconds of a process, of all its living descendants, and of those that they waited for.
pub fn family_cpu_s(root: u32) -> f64 {
    let all = snapshot();
    let members = family(&all, root);
    let ticks = members.iter().filter_map(|pid| all.get(pid)).map(|stat| stat.own_ticks + stat.reaped_ticks);
    ticks_to_s(ticks.sum())
}

/// Living descendants of `root` that run another program than `except`: helpers that a gateway keeps.
pub fn helpers(root: u32, except: &str) -> Vec<u32> {
    let all = snapshot();
    let is_other =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() != except);
    family(&all, root).into_iter().filter(|&pid| pid != root).filter(is_other).collect()
}

/// Open descriptors of a process, and how many of them are sockets.
pub fn descriptors(pid: u32) -> (usize, usize) {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return (0, 0) };
    let targets = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.fold((0, 0), |(all, sockets), target| {
        (all + 1, sockets + usize::from(target.to_string_lossy().starts_with("socket:")))
    })
}

pub fn ticks_to_s(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second().max(1) as f64
}

fn snapshot() -> HashMap<u32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// `root` and its descendants, parents before children.
fn family(all: &HashMap<u32, Stat>, root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|(_, stat)| stat.parent == parent).map(|(&pid, _)| pid));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let text = "42 (a) b (c)) S 7 42 42 0 -1 4194304 9 8 7 6 150 50 30 20 20 0 3 0 1234 1000 250";
        assert_eq!(parse_stat(text), Some(Stat { parent: 7, own_ticks: 200, reaped_ticks: 50 }));
        assert_eq!(parse_stat("42 (cut"), None);
        assert_eq!(parse_stat("42 (short) S 1 2"), None);
    }

    #[test]
    fn memory_comes_from_named_lines() {
        let text = "Name:\tx\nVmRSS:\t    9216 kB\nRssAnon:\t    1024 kB\nThreads:\t3\n";
        assert_eq!(parse_status(text), Memory { resident_kib: 9216, anonymous_kib: 1024, threads: 3 });
        assert_eq!(parse_status(""), Memory::default());
    }

    #[test]
    fn this_process_is_seen_with_its_memory_and_descriptors() {
        let me = std::process::id();
        assert!(memory(me).resident_kib > 0);
        assert!(descriptors(me).0 > 0);
        assert!(snapshot().contains_key(&me));
    }

    #[test]
    fn a_family_holds_grandchildren_and_no_strangers() {
        let of = |parent| Stat { parent, own_ticks: 0, reaped_ticks: 0 };
        let all = HashMap::from([(1, of(0)), (10, of(1)), (11, of(10)), (12, of(11)), (20, of(1))]);
        assert_eq!(family(&all, 10), vec![10, 11, 12]);
    }
}
