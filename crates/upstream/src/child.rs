//! A server as a child process: started in a group of its own, watched, and ended together with its descendants.

mod system;
mod tail;

use crate::watchdog::Watchdog;
use portolan_model::ChildSpec;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

pub(crate) use system::{Group, stand_apart};
pub(crate) use tail::Tail;

/// How long a child may take to end by itself once its input has ended, and again once it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A started child. Dropping it kills its whole group.
pub(crate) struct Running {
    child: Child,
    group: Group,
    watchdog: Arc<Watchdog>,
}

pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// Starts a program: its arguments as an array, its environment exactly as given, no shell anywhere.
pub(crate) fn start(spec: &ChildSpec, watchdog: &Arc<Watchdog>) -> Result<(Running, Pipes), String> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs")]
    let mut command = Command::new(&spec.command);
    command
        .args(spec.args.iter().map(portolan_model::Secret::reveal))
        .env_clear()
        .envs(spec.env.iter().map(|(key, value)| (key, value.reveal())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    system::lead_a_group(&mut command);
    let mut child = command.spawn().map_err(|error| explain_spawn(spec, &error))?;
    let group = Group::of(&child).ok_or("the program ended before it could be watched")?;
    watchdog.guard(group);
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        group.kill();
        return Err("the program's pipes could not be opened".to_owned());
    };
    Ok((Running { child, group, watchdog: watchdog.clone() }, Pipes { stdin, stdout, stderr }))
}

fn explain_spawn(spec: &ChildSpec, error: &std::io::Error) -> String {
    let command = &spec.command;
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the system has forty kinds, and two of them we can explain"
    )]
    match error.kind() {
        std::io::ErrorKind::NotFound
            if spec.cwd.as_ref().is_some_and(|d| !std::path::Path::new(d).is_dir()) =>
        {
            format!("the working directory {:?} does not exist", spec.cwd.as_deref().unwrap_or_default())
        }
        std::io::ErrorKind::NotFound => {
            format!("command `{command}` was not found: install it, or give its full path")
        }
        std::io::ErrorKind::PermissionDenied => {
            format!("command `{command}` is not executable: check its permissions")
        }
        _ => format!("command `{command}` could not be started: {error}"),
    }
}

impl Running {
    /// Waits until the child itself has ended and been reaped.
    pub(crate) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the child after its input was closed: waits, then asks its group, then kills it.
    pub(crate) async fn end(&mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.group.terminate();
            if timeout(GRACE, self.child.wait()).await.is_err() {
                self.group.kill();
                // A killed child is gone within moments; what is stuck in the kernel cannot be waited for.
                timeout(GRACE, self.child.wait()).await.ok();
            }
        }
    }

    /// Ends what the child has left behind. To be called once the child itself is gone.
    pub(crate) fn end_descendants(&self) {
        self.group.kill();
        self.watchdog.release(self.group);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end_descendants();
    }
}
