//! Ends the children's groups even when Portolan is killed: a tiny process of the same binary that holds a pipe.

use crate::child::{Group, stand_apart};
use std::collections::BTreeSet;
use std::io::{BufRead, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The first argument that turns the binary into the watchdog.
pub const ARGUMENT: &str = "__watchdog";

/// How long orphaned groups get between the request to end and the end.
const GRACE: Duration = Duration::from_secs(1);

/// Our end of the pipe. The process behind it is started with the first child.
#[derive(Debug, Default)]
pub struct Watchdog(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotStarted,
    Running(Child),
    /// It could not be started; children then end with Portolan, but not when Portolan is killed.
    Unavailable,
}

impl Watchdog {
    pub(crate) fn guard(&self, group: Group) {
        self.tell('+', group);
    }

    pub(crate) fn release(&self, group: Group) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: Group) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::NotStarted) {
            *state = start().map_or_else(
                |error| {
                    tracing::warn!(%error, "no watchdog: if Portolan is killed, its servers may outlive it");
                    State::Unavailable
                },
                State::Running,
            );
        }
        if let State::Running(child) = &mut *state
            && let Some(pipe) = &mut child.stdin
        {
            // A few bytes into an empty pipe: this does not block. If the watchdog is gone, there is nobody to tell.
            writeln!(pipe, "{sign}{}", group.number()).unwrap_or_default();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(child) = state {
            drop(child.stdin.take());
            // It has seen its pipe end and has no groups left: it ends at once.
            child.wait().ok();
        }
    }
}

fn start() -> std::io::Result<Child> {
    let binary = std::env::current_exe()?;
    #[expect(clippy::disallowed_methods, reason = "the watchdog is no server: it is this binary again")]
    let mut command = Command::new(binary);
    stand_apart(&mut command);
    command.arg(ARGUMENT).env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// The watchdog itself: reads which groups live until the pipe ends, then ends those that are left.
pub fn run(input: impl BufRead) {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        let Some((sign, number)) = line.split_at_checked(1) else { continue };
        let Ok(number) = number.parse::<i32>() else { continue };
        match sign {
            "+" => groups.insert(number),
            _ => groups.remove(&number),
        };
    }
    let left: Vec<Group> = groups.into_iter().filter_map(Group::from_number).collect();
    if left.is_empty() {
        return;
    }
    for group in &left {
        group.terminate();
    }
    for _ in 0..20 {
        if !left.iter().any(|group| group.is_alive()) {
            return;
        }
        std::thread::sleep(GRACE / 20);
    }
    for group in &left {
        group.kill();
    }
}
