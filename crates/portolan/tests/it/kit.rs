//! What the families share: gateways that are ready, raw connections, small readers of answers.

use portolan_testkit::{Client, DEADLINE, Gateway, GatewayBuilder, HttpClient};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How often something is looked at again that nobody tells us of.
const POLL: Duration = Duration::from_millis(20);

/// A gateway over one stdio fixture of the name `one`, and a client that has seen its tools.
pub(crate) async fn one(flags: &[&str]) -> (Gateway, HttpClient) {
    ready(Gateway::builder().fixture("one", flags), &["one"]).await
}

/// Serves, and waits until each of these servers has tools in the list.
pub(crate) async fn ready(builder: GatewayBuilder, servers: &[&str]) -> (Gateway, HttpClient) {
    let gateway = builder.serve().await;
    let client = gateway.connect().await;
    listed(&client, servers).await;
    (gateway, client)
}

pub(crate) async fn listed(client: &impl Client, servers: &[&str]) -> Vec<String> {
    let is_of = |name: &String, server: &str| {
        name.strip_prefix(server).is_some_and(|rest| rest.starts_with(['.', ':', '_']))
    };
    client.wait_for_tools(|names| servers.iter().all(|server| names.iter().any(|n| is_of(n, server)))).await
}

/// Looks again and again until it is so; panics at the deadline.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(POLL).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, wait).await.is_ok(), "waited {DEADLINE:?} until {what}");
}

/// The process of a server, by its own word.
pub(crate) async fn pid_of(client: &impl Client, server: &str) -> u32 {
    let said: Value =
        serde_json::from_str(&client.call_text(&format!("{server}.pid"), json!({})).await).unwrap();
    u32::try_from(said["pid"].as_u64().unwrap()).unwrap()
}

/// A call that fails as a tool's error; its text.
pub(crate) async fn tool_error(client: &impl Client, name: &str, arguments: Value) -> String {
    let result = client.call(name, arguments).await;
    assert_eq!(result["isError"], true, "{name} succeeded: {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A call that fails as a protocol error with this code; the error.
pub(crate) async fn refused(client: &impl Client, name: &str, arguments: Value, code: i64) -> Value {
    let error = match client.try_call(name, arguments).await {
        Err(error) => error,
        Ok(result) => panic!("{name} succeeded: {result}"),
    };
    assert_eq!(error["code"], code, "{name}: {error}");
    error
}

/// Proves that a server answers and that the answer is the caller's own.
pub(crate) async fn echoes(client: &impl Client, name: &str) {
    let mark = json!({ "mark": name.len() });
    assert_eq!(client.call_text(name, mark.clone()).await, mark.to_string());
}

pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// One HTTP/1.1 connection of which every byte is the test's own.
pub(crate) struct Raw(BufReader<TcpStream>);

/// A whole answer with a known length.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Raw {
    pub(crate) async fn open(address: &str) -> Self {
        Self(BufReader::new(TcpStream::connect(address).await.unwrap()))
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.unwrap();
    }

    /// Posts to a path with these header lines and this body, and returns at once.
    pub(crate) async fn start_post(&mut self, path: &str, headers: &str, body: &str) {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        self.write(format!("{head}{body}").as_bytes()).await;
    }

    pub(crate) async fn post(&mut self, path: &str, headers: &str, body: &str) -> Answer {
        self.start_post(path, headers, body).await;
        self.answer().await
    }

    /// The next answer on this connection.
    pub(crate) async fn answer(&mut self) -> Answer {
        let read = async {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(self.0.read_line(&mut head).await.unwrap() > 0, "closed after {head:?}");
            }
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            self.0.read_exact(&mut body).await.unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            Answer { status, head, body: String::from_utf8(body).unwrap() }
        };
        tokio::time::timeout(DEADLINE, read).await.expect("an answer in time")
    }
}

/// A listener that gives every request the same bytes and closes; for servers that are no MCP servers at all.
pub(crate) struct Canned {
    pub(crate) url: String,
    task: tokio::task::JoinHandle<()>,
}

impl Canned {
    pub(crate) async fn start(response: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut chunk = [0; 4096];
                if stream.read(&mut chunk).await.is_ok_and(|read| read > 0) {
                    // Whoever would ask again on this connection is told that it ends.
                    let response = response.replacen("\r\n", "\r\nConnection: close\r\n", 1);
                    stream.write_all(response.as_bytes()).await.unwrap_or_default();
                    stream.shutdown().await.unwrap_or_default();
                }
            }
        });
        Self { url, task }
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        self.task.abort();
    }
}
