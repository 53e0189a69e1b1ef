//! What /proc says about processes: who lives, who belongs to whom, what they hold.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

/// One row of the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    /// The letter of /proc/PID/stat: `Z` has ended and waits for its parent.
    pub state: char,
    /// Program and arguments, joined by spaces.
    pub command: String,
}

impl Process {
    pub fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses and may hold anything, these too.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned();
        Some(Self {
            pid,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            command,
        })
    }

    /// Neither gone nor only waiting to be reaped.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// Every process there is, zombies included.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

/// Whether the process runs; a zombie does not.
pub fn alive(pid: u32) -> bool {
    Process::read(pid).is_some_and(|process| process.is_alive())
}

/// The living members of a process group.
pub fn group_members(group: u32) -> Vec<u32> {
    let members = all().into_iter().filter(|process| process.group == group && process.is_alive());
    members.map(|process| process.pid).collect()
}

/// The living direct children.
pub fn children_of(parent: u32) -> Vec<u32> {
    let children = all().into_iter().filter(|process| process.parent == parent && process.is_alive());
    children.map(|process| process.pid).collect()
}

/// Direct children that ended and were not reaped.
pub fn zombies_of(parent: u32) -> Vec<u32> {
    let zombies = all().into_iter().filter(|process| process.parent == parent && process.state == 'Z');
    zombies.map(|process| process.pid).collect()
}

/// All that descend from `root`, and whoever shares a process group with one of them; without `root`.
pub fn family_of(root: u32) -> Vec<Process> {
    let table = all();
    let own_group = table.iter().find(|process| process.pid == root).map(|process| process.group);
    let mut pids = HashSet::from([root]);
    loop {
        let groups: HashSet<u32> = table
            .iter()
            // The group of the root itself may be the test runner's.
            .filter(|process| pids.contains(&process.pid) && Some(process.group) != own_group)
            .map(|process| process.group)
            .collect();
        let before = pids.len();
        for process in &table {
            if pids.contains(&process.parent) || groups.contains(&process.group) {
                pids.insert(process.pid);
            }
        }
        if pids.len() == before {
            break;
        }
    }
    table
        .into_iter()
        .filter(|process| process.pid != root && pids.contains(&process.pid) && process.is_alive())
        .collect()
}

/// The living processes whose command line holds this text.
pub fn mentioning(text: &str) -> Vec<Process> {
    all().into_iter().filter(|process| process.is_alive() && process.command.contains(text)).collect()
}

/// How many descriptors it holds open.
pub fn open_fds(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// What of it is in memory, in KiB.
pub fn rss_kib(pid: u32) -> u64 {
    status_number(pid, "VmRSS:")
}

/// The most of it that ever was in memory, in KiB.
pub fn peak_rss_kib(pid: u32) -> u64 {
    status_number(pid, "VmHWM:")
}

/// How many threads it has.
pub fn threads(pid: u32) -> u64 {
    status_number(pid, "Threads:")
}

fn status_number(pid: u32, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Sends a signal; one that comes too late for its process is no error.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Lets none of its files grow beyond this many bytes from now on; `None` takes the limit away again.
pub fn limit_file_size(pid: u32, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    // The hard limit stays as it is, which is our own: whoever is not root could not raise it again.
    let maximum = getrlimit(Resource::Fsize).maximum;
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

/// Waits until none of these processes runs any more; polls, since nobody tells a stranger of a death.
pub async fn wait_gone(pids: &[u32]) {
    let left = || pids.iter().copied().filter(|pid| alive(*pid)).collect::<Vec<_>>();
    let wait = async {
        while !left().is_empty() {
            tokio::time::sleep(crate::POLL).await;
        }
    };
    if tokio::time::timeout(crate::DEADLINE, wait).await.is_err() {
        let rows: Vec<_> = left().into_iter().filter_map(Process::read).collect();
        panic!("still alive after {:?}: {rows:?}", crate::DEADLINE);
    }
}
