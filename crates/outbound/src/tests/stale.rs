//! A pooled connection that dies in the moment it is used: what hyper hands back, and what it cannot.
//!
//! Both tests hang on how the one-threaded runtime works: it polls the test before its tasks, and learns from
//! the system only when everybody waits. So the test decides what the connection's task knows when it writes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::io::AsyncReadExt as _;

use super::kit::{OK, post};
use crate::{Options, Origin, Outbound, OutboundError, read_body};

/// Answers one request a connection; the connection ends when the test says so, outside of its runtime.
struct OneByOne {
    url: String,
    close: SyncSender<()>,
    closed: Receiver<()>,
}

impl OneByOne {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (close, on_close) = sync_channel(0);
        let (done, closed) = sync_channel(0);
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                answer_one(&mut stream);
                // The test is over when its end of a channel is gone.
                let is_asked = on_close.recv().is_ok();
                drop(stream);
                if !is_asked || done.send(()).is_err() {
                    return;
                }
            }
        });
        Self { url, close, closed }
    }

    /// Returns when the end of the connection lies in the kernel's buffer.
    fn close_connection(&self) {
        self.close.send(()).unwrap();
        self.closed.recv().unwrap();
    }
}

fn answer_one(stream: &mut TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n{}") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        request.extend_from_slice(&byte);
    }
    stream.write_all(OK.as_bytes()).unwrap();
}

async fn warm(client: &Outbound, url: &str) {
    let answer = client.send(post(url), Origin::File).await.unwrap();
    read_body(answer.into_body(), 100).await.unwrap();
}

#[tokio::test]
async fn a_request_that_finds_its_connection_closed_is_sent_on_another() {
    let server = OneByOne::start();
    let client = Outbound::new(Options::default()).unwrap();
    warm(&client, &server.url).await;

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bell = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ear, _) = listener.accept().unwrap();
    ear.set_nonblocking(true).unwrap();
    let mut ear = tokio::net::TcpStream::from_std(ear).unwrap();
    server.close_connection();
    bell.write_all(b"!").unwrap();
    // One look at the system brings both the end of the connection and the bell; the test goes first.
    ear.read_u8().await.unwrap();

    let answer = client.send(post(&server.url), Origin::File).await.unwrap();
    assert_eq!(read_body(answer.into_body(), 100).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_request_written_to_a_connection_that_was_just_closed_counts_as_lost() {
    let server = OneByOne::start();
    let client = Outbound::new(Options::default()).unwrap();
    warm(&client, &server.url).await;
    server.close_connection();
    // Nobody has waited since, so the task of the connection writes before it can learn of the end.
    let failure = client.send(post(&server.url), Origin::File).await.unwrap_err();
    assert!(matches!(failure, OutboundError::Lost { .. }), "{failure}");
}
