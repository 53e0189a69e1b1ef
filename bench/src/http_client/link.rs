//! One HTTP/1.1 connection that is polled by whoever waits for its answer.

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use tokio::net::TcpStream;

pub(super) struct Link {
    sender: SendRequest<Full<Bytes>>,
    wire: Wire,
}

/// The half that moves bytes. Once it has ended it must not be polled again.
struct Wire {
    connection: Pin<Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>>,
    is_over: bool,
}

impl Link {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, wire: Wire { connection: Box::pin(connection), is_over: false } })
    }

    /// Whether the other side closed the connection while nobody was looking.
    pub(super) async fn is_over(&mut self) -> bool {
        let wire = &mut self.wire;
        poll_fn(|context| {
            wire.poll(context);
            Poll::Ready(wire.is_over)
        })
        .await
    }

    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>> {
        let sender = &mut self.sender;
        let sent = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        Ok(self.wire.drive(sent).await.context("the connection was closed")??)
    }

    pub(super) async fn collect(&mut self, body: Incoming) -> Result<Bytes> {
        let whole =
            self.wire.drive(body.collect()).await.context("the connection was closed in an answer")??;
        Ok(whole.to_bytes())
    }
}

impl Wire {
    fn poll(&mut self, context: &mut std::task::Context<'_>) {
        if !self.is_over && self.connection.as_mut().poll(context).is_ready() {
            self.is_over = true;
        }
    }

    /// Waits for `work` and moves bytes meanwhile; nothing where the connection ends before the work does.
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        poll_fn(|context| {
            // First the work, which may have something to send; then the wire; then the work again, because
            // the wire may just have brought what it waits for.
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            self.poll(context);
            match work.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending if self.is_over => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}
