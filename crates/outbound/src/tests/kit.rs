//! Little servers on port 0 that note what reaches them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(super) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Ends with the test: dropping the set aborts the tasks.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    log: Arc<Log>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
pub(super) struct Log {
    connections: AtomicUsize,
    heads: Mutex<Vec<String>>,
}

impl Server {
    pub(super) async fn start<F, T>(handle: F) -> Self
    where
        F: Fn(TcpStream, Arc<Log>) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let noted = Arc::clone(&log);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                noted.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(handle(stream, Arc::clone(&noted)));
            }
        });
        Self { address, log, _tasks: tasks }
    }

    /// Answers each request with the same bytes and keeps the connection.
    pub(super) async fn answering(answer: impl Into<String>) -> Self {
        let answer: Arc<str> = answer.into().into();
        Self::start(move |stream, log| answer_all(stream, log, Arc::clone(&answer))).await
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// The heads of the requests so far, in lower case where HTTP does not care.
    pub(super) fn heads(&self) -> Vec<String> {
        self.log.heads.lock().unwrap().clone()
    }
}

pub(super) async fn answer_all<S>(mut stream: S, log: Arc<Log>, answer: Arc<str>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while read_request(&mut stream, &log).await.is_some() {
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// One request with its body; nothing is pipelined, so no byte of the next one is there yet.
pub(super) async fn read_request<S: AsyncRead + Unpin>(stream: &mut S, log: &Log) -> Option<String> {
    let mut received = Vec::new();
    loop {
        if let Some(end) = received.windows(4).position(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8(received[..end].to_vec()).unwrap();
            if received.len() >= end + 4 + content_length(&head) {
                log.heads.lock().unwrap().push(head.clone());
                return Some(head);
            }
        }
        if stream.read_buf(&mut received).await.ok()? == 0 {
            return None;
        }
    }
}

fn content_length(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |length| length.parse().unwrap())
}

/// A proxy that tunnels every CONNECT to one place, whatever name was asked for.
pub(super) async fn tunnel_to(backend: SocketAddr) -> Server {
    Server::start(move |mut stream, log| async move {
        if read_request(&mut stream, &log).await.is_none() {
            return;
        }
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        let mut backend = TcpStream::connect(backend).await.unwrap();
        // The end of the test may cut it anywhere.
        tokio::io::copy_bidirectional(&mut stream, &mut backend).await.ok();
    })
    .await
}

pub(super) fn post(url: &str) -> http::Request<Full<Bytes>> {
    http::Request::post(url).body(Full::from("{}")).unwrap()
}

/// A port that nobody listens on.
pub(super) async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}
