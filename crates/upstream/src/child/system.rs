//! Process groups as this system has them. Another system is another file with the same names.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A child and all its descendants that did not leave on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group(Pid);

/// The child becomes the leader of a group of its own, so that a key pressed in our terminal does not reach it and a
/// signal of ours reaches its descendants.
pub(crate) fn lead_a_group(command: &mut Command) {
    command.process_group(0);
}

/// The same for a process that is no server: it outlives what ends our own group.
pub(crate) fn stand_apart(command: &mut std::process::Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

impl Group {
    pub(crate) fn of(child: &Child) -> Option<Self> {
        Self::from_number(i32::try_from(child.id()?).ok()?)
    }

    pub(crate) fn from_number(number: i32) -> Option<Self> {
        // Group 1 and below would be everything or the system's first process.
        if number > 1 { Pid::from_raw(number).map(Self) } else { None }
    }

    pub(crate) fn number(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    pub(crate) fn terminate(self) {
        // A group that has gone by itself is what was wanted.
        kill_process_group(self.0, Signal::TERM).unwrap_or_default();
    }

    pub(crate) fn kill(self) {
        kill_process_group(self.0, Signal::KILL).unwrap_or_default();
    }

    pub(crate) fn is_alive(self) -> bool {
        rustix::process::test_kill_process_group(self.0).is_ok()
    }
}
