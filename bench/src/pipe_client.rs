//! A client over standard input and output: it owns the program at the other end of the pipes.

use crate::load::{Outcome, token};
use crate::rpc::{self, Envelope, Expected};
use crate::running::Running;
use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// How long the client waits for a hint that the list has changed before it asks again unasked.
const LIST_AGAIN: Duration = Duration::from_millis(5);

pub struct PipeClient {
    pub running: Running,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    next_id: u64,
}

/// A load over one pipe.
#[derive(Debug, Clone, Copy)]
pub struct PipeLoad<'a> {
    pub tool: &'a str,
    /// Calls in flight. All their replies must fit into a pipe, or writer and reader could wait for each other.
    pub callers: usize,
    pub calls: u64,
    pub limit: Duration,
}

impl PipeClient {
    /// Starts the program and shakes hands with it.
    pub async fn start(name: &str, command: &mut Command) -> Result<Self> {
        let (running, stdin, stdout) = Running::start_pipe(name, command)?;
        let stdout = BufReader::with_capacity(128 * 1024, stdout);
        let mut client = Self { running, stdin, stdout, line: Vec::new(), next_id: 1 };
        if let Err(problem) = client.open().await {
            let words = client.running.last_words();
            client.stop().await;
            return Err(problem.context(format!("{name}; its last words:\n{words}")));
        }
        Ok(client)
    }

    async fn open(&mut self) -> Result<()> {
        self.write(&rpc::initialize(0)).await?;
        let reply = self.reply_to(0).await.context("initialize")?;
        let is_good = Envelope::parse(&reply).is_some_and(|e| e.result.is_some());
        ensure!(is_good, "initialize failed: {}", rpc::excerpt(&reply));
        self.write(rpc::INITIALIZED).await
    }

    pub async fn tools(&mut self) -> Result<Vec<String>> {
        let (mut names, mut params) = (Vec::new(), "{}".to_owned());
        for _page in 0..1000 {
            let id = self.take_id();
            self.write(&rpc::request(id, "tools/list", &params)).await?;
            let page = rpc::page_of(&self.reply_to(id).await?)?;
            names.extend(page.tools.into_iter().map(|tool| tool.name));
            match page.next_cursor {
                Some(cursor) => params = serde_json::json!({ "cursor": cursor }).to_string(),
                None => return Ok(names),
            }
        }
        bail!("the tool list never ends")
    }

    /// Asks until so many tools are listed: again at each `list_changed`, and every few milliseconds without one.
    pub async fn tools_when(&mut self, count: usize, limit: Duration) -> Result<Vec<String>> {
        let end = Instant::now() + limit;
        let mut seen = 0;
        while Instant::now() < end {
            let names = self.tools().await?;
            if names.len() >= count {
                return Ok(names);
            }
            seen = names.len();
            // Out of time is as good as a hint: either way the list is asked for again.
            let _ = timeout(LIST_AGAIN, self.until_list_changed()).await;
        }
        bail!("only {seen} of {count} tools were listed within {limit:?}")
    }

    /// May be dropped at any await: what was read of a line stays in `self.line`.
    async fn until_list_changed(&mut self) -> Result<()> {
        loop {
            self.read_line().await?;
            let is_hint = memchr::memmem::find(&self.line, b"tools/list_changed").is_some();
            self.line.clear();
            if is_hint {
                return Ok(());
            }
        }
    }

    /// Keeps so many calls in flight until all are answered or the time is over.
    pub async fn load(&mut self, load: PipeLoad<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut in_flight: HashMap<u64, Instant> = HashMap::with_capacity(load.callers);
        let (begun, mut sent, mut batch) = (Instant::now(), 0, String::new());
        loop {
            let is_open = begun.elapsed() < load.limit;
            while is_open && sent < load.calls && in_flight.len() < load.callers {
                let id = self.take_id();
                batch.push_str(&rpc::call(id, load.tool, &token(0, id)));
                batch.push('\n');
                in_flight.insert(id, Instant::now());
                sent += 1;
            }
            if !batch.is_empty() {
                self.stdin.write_all(batch.as_bytes()).await?;
                batch.clear();
            }
            if in_flight.is_empty() {
                break;
            }
            self.take_replies(&mut in_flight, &mut outcome).await?;
        }
        outcome.elapsed = begun.elapsed();
        Ok(outcome)
    }

    /// Takes one reply, and all others that came with it.
    async fn take_replies(
        &mut self,
        waiting: &mut HashMap<u64, Instant>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        loop {
            timeout(ANSWER_LIMIT, self.read_line()).await.context("no answer in time")??;
            let message = Envelope::parse(&self.line).filter(Envelope::is_reply);
            if let Some(id) = message.and_then(|reply| reply.own_id())
                && let Some(begun) = waiting.remove(&id)
            {
                let token = token(0, id);
                let expected = Expected { id, token: &token, signature: None };
                outcome.count(rpc::judge(&self.line, expected), begun.elapsed(), &self.line);
            }
            self.line.clear();
            if memchr::memchr(b'\n', self.stdout.buffer()).is_none() {
                return Ok(());
            }
        }
    }

    /// Reads up to the reply to one request; what comes before it is answered or passed over.
    async fn reply_to(&mut self, id: u64) -> Result<Vec<u8>> {
        let end = Instant::now() + ANSWER_LIMIT;
        while Instant::now() < end {
            timeout(ANSWER_LIMIT, self.read_line()).await.context("no answer in time")??;
            let line = std::mem::take(&mut self.line);
            let Some(message) = Envelope::parse(&line) else { continue };
            if message.is_reply() && message.own_id() == Some(id) {
                return Ok(line);
            }
            if let (Some("ping"), Some(asked)) = (message.method.as_deref(), message.id) {
                self.write(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, asked.get())).await?;
            }
        }
        bail!("no answer to request {id}")
    }

    /// Appends to `self.line` up to the end of the line; whoever has used it up clears it.
    async fn read_line(&mut self) -> Result<()> {
        let read = self.stdout.read_until(b'\n', &mut self.line).await?;
        ensure!(
            read > 0,
            "{} closed its output; its last words:\n{}",
            self.running.name,
            self.running.last_words()
        );
        Ok(())
    }

    async fn write(&mut self, message: &str) -> Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(())
    }

    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    pub async fn stop(self) {
        drop(self.stdin);
        self.running.stop().await;
    }
}
