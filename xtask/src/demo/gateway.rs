//! The gateway as a child of the demo: started, waited for, and never left behind.

use crate::program;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What `portolan serve` says once it takes connections.
const LISTENING: &str = "listening on ";

/// A gateway listens before any server is up, so that this is generous.
const START_LIMIT: Duration = Duration::from_secs(20);

pub(super) struct Gateway {
    child: Child,
    url: String,
}

impl Gateway {
    /// Starts the binary that lies beside this one, and returns once it listens.
    pub(super) fn start(root: &Path, listen: &str) -> Result<Self> {
        let own = std::env::current_exe().context("could not tell where xtask lies")?;
        let folder = own.parent().unwrap_or(root);
        let program = folder.join("portolan");
        let data = folder.join("demo-data");
        let mut child = program::program(root, &program)
            .args(["serve", "--config", "examples/servers.json", "--listen", listen])
            // The example configuration looks here first: the target folder may be set elsewhere.
            .env("EXAMPLE_SERVERS", folder)
            .env("PORTOLAN_DATA", data)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let stderr = child.stderr.take();
        // From here on a failure drops the gateway, and that ends the child.
        let mut gateway = Self { child, url: String::new() };
        gateway.url = heard_url(stderr.context("the gateway has no stderr")?)?;
        Ok(gateway)
    }

    /// `http://ADDR`, as the gateway itself said it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// `ADDR` alone.
    pub(super) fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Returns when the gateway ends by itself. Ctrl-C reaches it as it reaches this program.
    pub(super) fn wait(mut self) -> Result<()> {
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the gateway ended: {status}");
        }
        Ok(())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Both fail only for a child that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes on what the gateway says, for as long as it says something, and returns the address it listens on.
fn heard_url(stderr: ChildStderr) -> Result<String> {
    let (tell, told) = mpsc::sync_channel(1);
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(url) = url_in(&line) {
                // Nobody listens any more after the first: the second is for people only.
                let _ = tell.try_send(url.to_owned());
            } else {
                eprintln!("{line}");
            }
        }
    });
    match told.recv_timeout(START_LIMIT) {
        Ok(url) => Ok(url),
        Err(mpsc::RecvTimeoutError::Timeout) => bail!("the gateway did not listen within {START_LIMIT:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => bail!("the gateway ended before it listened"),
    }
}

fn url_in(line: &str) -> Option<&str> {
    let (_, after) = line.split_once(LISTENING)?;
    let url = after.split_whitespace().next()?;
    url.starts_with("http://").then(|| url.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_line_that_says_it() {
        assert_eq!(url_in("listening on http://127.0.0.1:7777"), Some("http://127.0.0.1:7777"));
        assert_eq!(url_in("12:00 INFO listening on http://127.0.0.1:1/ now"), Some("http://127.0.0.1:1"));
        assert_eq!(url_in("INFO notes connected"), None);
    }
}
