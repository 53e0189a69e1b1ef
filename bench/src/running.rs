//! Programs that the harness started, and the promise that each of them is ended.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

/// What a program says on stderr, followed by its address, once it takes connections.
pub const LISTENING: &str = "listening on http://";

/// A program that is not up by then will not come up: nothing here has work to do at its start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Room for a gateway to end its own servers in order, before it is ended without ceremony.
const STOP_LIMIT: Duration = Duration::from_secs(8);

/// Enough of a program's last words to see why it failed.
const KEPT_LINES: usize = 20;

/// A started program. Dropped without `stop`, it is killed on the spot.
pub struct Running {
    pub name: String,
    pub pid: u32,
    child: Child,
    stdin: Option<ChildStdin>,
    last_words: Arc<Mutex<VecDeque<String>>>,
}

impl Running {
    /// Starts a program that serves HTTP and waits until it says where.
    pub async fn start_listener(name: &str, command: &mut Command) -> Result<(Self, SocketAddr)> {
        command.stdout(Stdio::null());
        let (running, address) = Self::spawn(name, command)?;
        let heard = tokio::time::timeout(START_LIMIT, address).await;
        let Ok(Ok(address)) = heard else {
            let words = running.last_words();
            running.stop().await;
            bail!("{name} never said `{LISTENING}ADDRESS`; its last words:\n{words}");
        };
        Ok((running, address))
    }

    /// Starts a program that is spoken to over its standard streams.
    pub fn start_pipe(name: &str, command: &mut Command) -> Result<(Self, ChildStdin, ChildStdout)> {
        command.stdout(Stdio::piped());
        let (mut running, _) = Self::spawn(name, command)?;
        let stdin = running.stdin.take().context("no standard input")?;
        let stdout = running.child.stdout.take().context("no standard output")?;
        Ok((running, stdin, stdout))
    }

    fn spawn(name: &str, command: &mut Command) -> Result<(Self, oneshot::Receiver<SocketAddr>)> {
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let pid = child.id().context("the program ended at once")?;
        let stdin = child.stdin.take();
        let stderr = child.stderr.take().context("no standard error")?;
        let last_words = Arc::<Mutex<VecDeque<String>>>::default();
        let (found, address) = oneshot::channel();
        // Ends with the program, whose stderr it reads to the end.
        tokio::spawn(drain(stderr, Arc::clone(&last_words), found));
        Ok((Self { name: name.to_owned(), pid, child, stdin, last_words }, address))
    }

    /// The last lines that the program wrote for people.
    pub fn last_words(&self) -> String {
        let lines = self.last_words.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// SIGTERM, so that a gateway ends its servers; after the limit SIGKILL.
    pub async fn stop(mut self) {
        drop(self.stdin.take());
        // A pid that does not fit or a process already gone: either way there is nothing to signal.
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        if tokio::time::timeout(STOP_LIMIT, self.child.wait()).await.is_err() {
            eprintln!("{} did not end within {STOP_LIMIT:?} of SIGTERM and is killed", self.name);
            let _ = self.child.kill().await;
        }
    }
}

/// Reads stderr to its end, so that the program never blocks on it; tells the first address it sees.
async fn drain(stderr: ChildStderr, kept: Arc<Mutex<VecDeque<String>>>, found: oneshot::Sender<SocketAddr>) {
    let mut found = Some(found);
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(address) = address_in(&line)
            && let Some(found) = found.take()
        {
            // Nobody listens for the address of a program that is spoken to over pipes.
            let _ = found.send(address);
        }
        let mut kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(LISTENING)?;
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '[' | ']');
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// For the programs behind the harness: returns when whoever started them is gone or wants them to end.
pub async fn until_stdin_ends() {
    let mut stdin = tokio::io::stdin();
    let mut ignored = [0; 256];
    while matches!(stdin.read(&mut ignored).await, Ok(1..)) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_plain_and_decorated_lines() {
        let expected = "127.0.0.1:4711".parse().ok();
        assert_eq!(address_in("listening on http://127.0.0.1:4711"), expected);
        assert_eq!(address_in("INFO listening on http://127.0.0.1:4711/mcp (2 servers)"), expected);
        assert_eq!(address_in("listening on http://127.0.0.1:4711\u{1b}[0m"), expected);
        assert_eq!(address_in("listening on http://[::1]:80"), "[::1]:80".parse().ok());
        assert_eq!(address_in("listening"), None);
    }
}
