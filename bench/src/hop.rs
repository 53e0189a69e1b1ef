//! The cheapest hop there is: it passes HTTP bodies on as they come and understands nothing of MCP.

use crate::running::{LISTENING, until_stdin_ends};
use anyhow::{Context, Result};
use clap::Parser;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::{Authority, Parts, Scheme};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug, Parser)]
#[command(name = "portolan-hop", about = "One HTTP/1.1 forwarding hop, as cheap as it can be made")]
pub struct Cli {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where to forward to
    #[arg(long)]
    to: SocketAddr,
    /// End when standard input does, so that nothing outlives whoever started this
    #[arg(long)]
    until_eof: bool,
}

pub fn run(cli: &Cli) -> Result<()> {
    // Two threads, like the echo server: on a small machine more would only compete with the load.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            ended = serve(cli) => ended,
            () = until_stdin_ends(), if cli.until_eof => Ok(()),
        }
    })?;
    runtime.shutdown_background();
    Ok(())
}

async fn serve(cli: &Cli) -> Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let onward = Onward {
        client: Client::builder(TokioExecutor::new()).build(connector),
        authority: cli.to.to_string().parse()?,
        host: HeaderValue::from_str(&cli.to.to_string())?,
    };
    let listener = TcpListener::bind(cli.listen).await.context("cannot listen")?;
    eprintln!("{LISTENING}{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(one_connection(stream, onward.clone()));
    }
}

#[derive(Clone)]
struct Onward {
    client: Client<HttpConnector, Incoming>,
    authority: Authority,
    host: HeaderValue,
}

/// A connection that breaks concerns only the client that broke it.
async fn one_connection(stream: TcpStream, onward: Onward) {
    let _ = stream.set_nodelay(true);
    let forward = service_fn(|request| onward.forward(request));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), forward).await;
}

impl Onward {
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Incoming>> {
        let mut uri = Parts::default();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(self.authority.clone());
        uri.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() = Uri::from_parts(uri)?;
        // Servers check the Host header: it must name the place where the request arrives.
        request.headers_mut().insert(HOST, self.host.clone());
        Ok(self.client.request(request).await?)
    }
}
