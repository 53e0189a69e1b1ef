//! A server over its standard input and output.

use crate::child::{self, Pipes, Running, Tail};
use crate::error::CallError;
use crate::inbox::{Inbox, Taken};
use crate::session::Ground;
use bytes::Bytes;
use portolan_model::ChildSpec;
use portolan_telemetry::counters;
use portolan_wire::envelope;
use portolan_wire::line::{Line, Lines};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Lines waiting to be written; calls beyond that wait in their own tasks.
const QUEUE: usize = 256;
/// What goes out in one write at most, unless a single line is larger.
const WRITE: usize = 64 * 1024;
const READ: usize = 64 * 1024;
/// How much of one oversized line is thrown away before the child is replaced.
const MOST_SKIPPED: usize = 256 * 1024 * 1024;
/// After a child has ended, its last words may still be in the pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) struct StdioLink {
    pub(crate) inbox: Arc<Inbox>,
    queue: mpsc::Sender<Outgoing>,
}

enum Outgoing {
    Request(u64, Bytes),
    Plain(Bytes),
}

impl StdioLink {
    /// Starts the child and the tasks that keep it; they end with `ground.stop` or with the child.
    pub(crate) fn open(spec: &ChildSpec, inbox: Arc<Inbox>, ground: &Ground) -> Result<Self, String> {
        let (running, pipes) = child::start(spec, &ground.outside.watchdog)?;
        let (queue, outgoing) = mpsc::channel(QUEUE);
        let keeper = Keeper {
            inbox: inbox.clone(),
            tail: Arc::default(),
            limit: ground.outside.limits.upstream_message_bytes,
            stop: ground.stop.clone(),
            closed: ground.closed.clone(),
            answers: queue.downgrade(),
            tasks: ground.tasks.clone(),
        };
        ground.tasks.spawn(keeper.keep(running, pipes, outgoing));
        Ok(Self { inbox, queue })
    }

    pub(crate) async fn request(&self, id: u64, body: Bytes) -> Result<(), CallError> {
        // A full queue is the child's slowness: the caller waits here, unsent, under its own deadline.
        self.queue
            .send(Outgoing::Request(id, body))
            .await
            .map_err(|_| self.inbox.unsent("the program has ended"))
    }

    pub(crate) fn tell(&self, body: Bytes) -> Result<(), CallError> {
        self.queue
            .try_send(Outgoing::Plain(body))
            .map_err(|_| self.inbox.unsent("the program takes no more input"))
    }
}

struct Keeper {
    inbox: Arc<Inbox>,
    tail: Arc<Tail>,
    limit: usize,
    stop: CancellationToken,
    closed: CancellationToken,
    answers: mpsc::WeakSender<Outgoing>,
    tasks: TaskTracker,
}

impl Keeper {
    /// Owns the child from start to end: whatever happens, it is reaped, its descendants are ended and every caller
    /// gets its answer.
    async fn keep(self, mut running: Running, pipes: Pipes, outgoing: mpsc::Receiver<Outgoing>) {
        let Pipes { stdin, stdout, stderr } = pipes;
        let end_of_input = CancellationToken::new();
        let mut listen = std::pin::pin!(self.tail.drain(stderr, self.inbox.server.as_str()));
        let mut talk = std::pin::pin!(async {
            tokio::join!(self.write(stdin, outgoing, &end_of_input), self.read(stdout, &end_of_input)).1
        });
        let mut has_listened = false;
        let reason = loop {
            tokio::select! {
                status = running.ended() => {
                    // What the child wrote last is still read; its heirs are ended, and the pipes with them.
                    end_of_input.cancel();
                    running.end_descendants();
                    tokio::time::timeout(LAST_WORDS, &mut talk).await.ok();
                    break format!("the program ended ({})", exit(status));
                }
                why = &mut talk => break self.part(&mut running, why).await,
                () = &mut listen, if !has_listened => has_listened = true,
                () = self.stop.cancelled() => {
                    // The pipes are read on, so that a child that has something left to say can say it and end.
                    let read_on = async {
                        let listen_on = async { if !has_listened { (&mut listen).await } };
                        tokio::join!(&mut talk, listen_on);
                        std::future::pending::<()>().await;
                    };
                    tokio::select! {
                        () = running.end() => {}
                        () = read_on => {}
                    }
                    has_listened = true;
                    break "the session was closed".to_owned();
                }
            }
        };
        running.end_descendants();
        if !has_listened {
            tokio::time::timeout(LAST_WORDS, &mut listen).await.ok();
        }
        self.finish(&reason);
    }

    /// The output ended, or was unbearable. A program that ends is known by its exit; one that lives on is ended, and
    /// its callers do not wait for that.
    async fn part(&self, running: &mut Running, why: Option<String>) -> String {
        if why.is_none()
            && let Ok(status) = tokio::time::timeout(LAST_WORDS, running.ended()).await
        {
            return format!("the program ended ({})", exit(status));
        }
        let reason = why.unwrap_or_else(|| "the program closed its output".to_owned());
        self.finish(&reason);
        running.end().await;
        reason
    }

    fn finish(&self, reason: &str) {
        let words = self.tail.last_words();
        let reason =
            if words.is_empty() { reason.to_owned() } else { format!("{reason}; it said:\n{words}") };
        self.inbox.pending.close(&self.inbox.lost(reason));
        self.closed.cancel();
    }

    /// Writes lines, many in one go when many wait. Ends, and so closes the child's input, when told to.
    async fn write(
        &self,
        mut stdin: ChildStdin,
        mut outgoing: mpsc::Receiver<Outgoing>,
        end: &CancellationToken,
    ) {
        let mut buffer = Vec::with_capacity(4096);
        loop {
            let first = tokio::select! {
                () = end.cancelled() => return,
                () = self.stop.cancelled() => return,
                first = outgoing.recv() => first,
            };
            let mut next = first;
            while let Some(line) = next {
                self.append(line, &mut buffer);
                next = if buffer.len() < WRITE { outgoing.try_recv().ok() } else { None };
            }
            if buffer.is_empty() {
                if outgoing.is_closed() {
                    return;
                }
                continue;
            }
            let written = tokio::select! {
                () = end.cancelled() => return,
                written = stdin.write_all(&buffer) => written,
            };
            // A broken pipe shows as the end of the child as well, and is told there.
            if written.is_err() {
                return;
            }
            buffer.clear();
            buffer.shrink_to(WRITE);
        }
    }

    fn append(&self, line: Outgoing, buffer: &mut Vec<u8>) {
        let bytes = match line {
            // A caller that has given up before a byte went out is not sent at all.
            Outgoing::Request(id, _) if !self.inbox.pending.begin_write(id) => return,
            Outgoing::Request(_, bytes) | Outgoing::Plain(bytes) => bytes,
        };
        // A message is one line: a newline between two tokens of a client's pretty-printed arguments is but a space.
        if memchr::memchr2(b'\n', b'\r', &bytes).is_some() {
            buffer.extend(bytes.iter().map(|&b| if b == b'\n' || b == b'\r' { b' ' } else { b }));
        } else {
            buffer.extend_from_slice(&bytes);
        }
        buffer.push(b'\n');
    }

    /// Reads lines until the output ends, or says why it cannot be read on.
    async fn read(&self, mut stdout: ChildStdout, end: &CancellationToken) -> Option<String> {
        let mut lines = Lines::new(self.limit);
        let mut orphan = false;
        loop {
            match stdout.read_buf(lines.space(READ)).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    end.cancel();
                    return Some(format!("its output broke: {error}"));
                }
            }
            while let Some(line) = lines.next_line() {
                match line {
                    Line::Message(bytes) => self.take(&bytes),
                    Line::Oversized { head } => orphan = !self.fail_oversized(envelope::id_in_head(&head)),
                    Line::Resumed { tail } if orphan => {
                        self.fail_oversized(
                            envelope::id_in_tail(&tail).or_else(|| self.inbox.pending.sole()),
                        );
                    }
                    Line::Resumed { .. } => {}
                }
            }
            if lines.skipped() > MOST_SKIPPED {
                end.cancel();
                return Some(format!("it wrote a line of more than {MOST_SKIPPED} bytes"));
            }
        }
        end.cancel();
        None
    }

    fn take(&self, bytes: &Bytes) {
        match self.inbox.take(bytes, None) {
            Taken::Done | Taken::Reply(_) | Taken::Failed(_) => {}
            Taken::Answer(answer) => {
                if let Some(queue) = self.answers.upgrade() {
                    // A child that asks faster than it reads gets no answer: the queue stays bounded.
                    queue.try_send(Outgoing::Plain(answer.into())).unwrap_or_default();
                }
            }
            Taken::Later(later) => {
                let (queue, inbox, closed) = (self.answers.clone(), self.inbox.clone(), self.closed.clone());
                self.tasks.spawn(async move {
                    let id = later.id.clone();
                    let answer = tokio::select! {
                        answer = later.message() => answer,
                        () = closed.cancelled() => return,
                    };
                    inbox.answered(&id);
                    if let Some(queue) = queue.upgrade() {
                        queue.send(Outgoing::Plain(answer.into())).await.unwrap_or_default();
                    }
                });
            }
        }
    }

    fn fail_oversized(&self, id: Option<u64>) -> bool {
        counters::OVERSIZED.one();
        let error = || CallError::TooLarge { server: self.inbox.server.clone(), limit: self.limit };
        id.is_some_and(|id| self.inbox.pending.complete(id, Err(error())))
    }
}

fn exit(status: std::io::Result<ExitStatus>) -> String {
    status.map_or_else(|error| error.to_string(), |status| status.to_string())
}
