//! A client of the stdio transport: raw lines out, recorded lines in.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::AbortHandle;

use super::profile::{Profile, is_reply, notification_text, request_text};
use super::{Client, DEADLINE};
use crate::Record;

type Input = Arc<tokio::sync::Mutex<Option<ChildStdin>>>;

/// A client of a process that it started, or of the pipes of one that somebody else did.
pub struct StdioClient {
    stdin: Input,
    lines: Arc<Record<String>>,
    messages: Arc<Record<Value>>,
    stderr: Arc<Record<String>>,
    profile: Profile,
    counter: AtomicU64,
    /// How many messages `recv` has handed out.
    received: AtomicUsize,
    child: Mutex<Option<Child>>,
    pid: Option<u32>,
    reading: AbortHandle,
}

impl StdioClient {
    /// Starts a program and makes the handshake.
    pub async fn connect<S: AsRef<OsStr>>(program: &Path, arguments: &[S]) -> Self {
        let client = Self::spawn(program, arguments, Profile::default());
        let reply = client.initialize().await;
        assert!(reply.get("result").is_some(), "the handshake failed: {reply}");
        client
    }

    /// Starts a program and says nothing yet. It dies with the client.
    pub fn spawn<S: AsRef<OsStr>>(program: &Path, arguments: &[S], profile: Profile) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let stderr = record_lines(child.stderr.take().unwrap());
        let mut client = Self::attach(stdin, stdout, profile);
        client.stderr = stderr;
        client.pid = child.id();
        client.child = Mutex::new(Some(child));
        client
    }

    /// Speaks over pipes that are already there.
    pub fn attach(stdin: ChildStdin, stdout: ChildStdout, profile: Profile) -> Self {
        let stdin: Input = Arc::new(tokio::sync::Mutex::new(Some(stdin)));
        let lines: Arc<Record<String>> = Arc::default();
        let messages: Arc<Record<Value>> = Arc::default();
        let sinks = (Arc::clone(&lines), Arc::clone(&messages));
        let reading = tokio::spawn(read(stdout, sinks, Arc::clone(&stdin), profile.clone()));
        Self {
            stdin,
            lines,
            messages,
            stderr: Arc::default(),
            profile,
            counter: AtomicU64::new(0),
            received: AtomicUsize::new(0),
            child: Mutex::default(),
            pid: None,
            reading: reading.abort_handle(),
        }
    }

    /// The handshake: `initialize`, and `notifications/initialized` if it succeeded.
    pub async fn initialize(&self) -> Value {
        let reply = self.ask("initialize", self.profile.initialize_params()).await;
        if reply.get("result").is_some() {
            self.notify("notifications/initialized", Value::Null).await;
        }
        reply
    }

    /// Writes bytes as they are; false if nobody reads them any more.
    pub async fn write(&self, bytes: &[u8]) -> bool {
        write(&self.stdin, bytes).await
    }

    /// Writes a line, which need not be JSON.
    pub async fn send_line(&self, line: &str) {
        let is_written = self.write(format!("{line}\n").as_bytes()).await;
        assert!(is_written, "the pipe is closed; stderr: {:?}", self.stderr.all());
    }

    /// Sends a request and returns at once; `reply_to` waits for its answer.
    pub async fn start(&self, id_raw_json: &str, method: &str, params: Value) {
        self.send_line(&request_text(id_raw_json, method, &params)).await;
    }

    /// The first answer to that id among all messages.
    pub async fn reply_to(&self, id_raw_json: &str) -> Value {
        let what = format!("the reply to {id_raw_json}");
        self.messages.wait_for(&what, |message| is_reply(message, id_raw_json)).await
    }

    pub async fn request(&self, id_raw_json: &str, method: &str, params: Value) -> Value {
        let start = self.messages.len();
        self.start(id_raw_json, method, params).await;
        let fits = |message: &Value| is_reply(message, id_raw_json);
        self.messages.wait_after(start, &format!("the reply to {method}"), fits).await.1
    }

    pub async fn notify(&self, method: &str, params: Value) {
        self.send_line(&notification_text(method, &params)).await;
    }

    /// The next message in order, replies and notifications alike.
    pub async fn recv(&self) -> Value {
        let at = self.received.fetch_add(1, Ordering::Relaxed);
        self.messages.wait_after(at, "one more message", |_| true).await.1
    }

    /// Every JSON message so far, in order.
    pub fn messages(&self) -> &Record<Value> {
        &self.messages
    }

    /// Every line of stdout so far, JSON or not.
    pub fn lines(&self) -> &Record<String> {
        &self.lines
    }

    /// The lines of stderr of a program that this client started.
    pub fn stderr(&self) -> &Record<String> {
        &self.stderr
    }

    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Closes the program's stdin, as a client that leaves does.
    pub async fn close_stdin(&self) {
        self.stdin.lock().await.take();
    }

    /// Waits until the program that this client started has ended.
    pub async fn wait_exit(&self) -> ExitStatus {
        let child = self.child.lock().unwrap().take();
        let mut child = child.expect("a program that this client started, waited for once");
        let ended = tokio::time::timeout(DEADLINE, child.wait()).await;
        ended.unwrap_or_else(|_| panic!("did not exit within {DEADLINE:?}")).unwrap()
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Client for StdioClient {
    async fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.counter.fetch_add(1, Ordering::Relaxed).to_string();
        self.request(&id, method, params).await
    }
}

async fn write(stdin: &Input, bytes: &[u8]) -> bool {
    let mut stdin = stdin.lock().await;
    let Some(pipe) = stdin.as_mut() else { return false };
    pipe.write_all(bytes).await.is_ok() && pipe.flush().await.is_ok()
}

async fn read(
    stdout: ChildStdout,
    sinks: (Arc<Record<String>>, Arc<Record<Value>>),
    stdin: Input,
    profile: Profile,
) {
    let (lines, messages) = sinks;
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while stdout.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        line.clear();
        let parsed = serde_json::from_str::<Value>(&text);
        lines.push(text);
        let Ok(message) = parsed else { continue };
        messages.push(message.clone());
        if let Some(reply) = profile.reply_to(&message) {
            let stdin = Arc::clone(&stdin);
            // Apart from reading: a program that is not reading may be waiting for us to.
            tokio::spawn(async move { write(&stdin, format!("{reply}\n").as_bytes()).await });
        }
    }
    lines.close("stdout is closed");
    messages.close("stdout is closed");
}

/// Records the lines of a pipe to its end.
pub(crate) fn record_lines(pipe: impl AsyncRead + Unpin + Send + 'static) -> Arc<Record<String>> {
    let record: Arc<Record<String>> = Arc::default();
    let sink = Arc::clone(&record);
    tokio::spawn(async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            sink.push(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned());
            line.clear();
        }
        sink.close("the pipe is closed");
    });
    record
}
