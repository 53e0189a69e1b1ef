//! Which processors there are, and who runs on which: the one module that differs between systems.

/// Where a thread or a program may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    Only(usize),
    Any(&'a [usize]),
}

impl Place<'_> {
    fn processors(&self) -> &[usize] {
        match self {
            Place::Only(one) => std::slice::from_ref(one),
            Place::Any(all) => all,
        }
    }
}

pub use system::{place_process, place_this_thread, take_idle_class, usable};

#[cfg(target_os = "linux")]
mod system {
    use super::Place;
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The processors that this thread may run on; a container often has fewer than the machine.
    pub fn usable() -> Vec<usize> {
        sched_getaffinity(None)
            .map(|set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
            .unwrap_or_default()
    }

    pub fn place_this_thread(place: Place<'_>) -> bool {
        sched_setaffinity(None, &set_of(place)).is_ok()
    }

    /// Every thread that the process has now; those that it starts later follow the one that starts them.
    pub fn place_process(pid: u32, place: Place<'_>) {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return };
        for task in tasks.flatten() {
            let id = task.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // A thread may end while we look: then there is nothing left to place.
            if let Some(id) = id {
                let _ = sched_setaffinity(Some(id), &set_of(place));
            }
        }
    }

    fn set_of(place: Place<'_>) -> CpuSet {
        let mut set = CpuSet::new();
        for &cpu in place.processors() {
            set.set(cpu);
        }
        set
    }

    /// Gives the calling thread the class that yields to every ordinary thread.
    #[expect(unsafe_code, reason = "no safe wrapper among our dependencies offers sched_setscheduler")]
    pub fn take_idle_class() -> bool {
        let param = libc::sched_param { sched_priority: 0 };
        // SAFETY: `param` is initialised and outlives the call, which changes only the calling thread's class.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param) == 0 }
    }
}

/// Elsewhere nothing is placed and nothing spins: short times then hold wake-ups and migrations.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::Place;

    pub fn usable() -> Vec<usize> {
        Vec::new()
    }

    pub fn place_this_thread(_place: Place<'_>) -> bool {
        false
    }

    pub fn place_process(_pid: u32, _place: Place<'_>) {}

    pub fn take_idle_class() -> bool {
        false
    }
}
