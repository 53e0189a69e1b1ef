//! The front over standard input and output: stdout carries MCP and nothing else.

use crate::Front;
use crate::fault::refusal;
use crate::sessions::Held;
use crate::styles::Transport;
use bytes::Bytes;
use portolan_wire::envelope;
use portolan_wire::line::{Line, Lines};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

const READ: usize = 64 * 1024;
/// What goes out in one write at most, unless a single message is larger.
const WRITE: usize = 64 * 1024;

/// Serves one client until its input ends or the front is stopped; what is in flight then is a task of the front, which
/// is waited for with all others.
pub async fn serve(
    front: Arc<Front>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let client = front.new_client(front.options.entrance.clone());
    let Some(messages) = client.open_stream() else { return };
    let Ok((id, held)) = front.open_session(client) else { return };
    let writer = front.tasks.spawn(write(messages, output));
    tokio::select! {
        () = front.stop.cancelled() => {}
        () = read(&front, &held, input) => {}
        // Nobody reads our output any more: there is nobody left to serve.
        _ = writer => {}
    }
    // Nobody will answer what servers have asked.
    held.client.questions.give_up();
    let last = front.clone();
    front.tasks.spawn(async move {
        held.client.all_done().await;
        last.close_session(&id);
    });
}

async fn read(front: &Arc<Front>, held: &Arc<Held>, mut input: impl AsyncRead + Unpin) {
    let mut lines = Lines::new(front.options.limits.request_body_bytes);
    while let Ok(1..) = input.read_buf(lines.space(READ)).await {
        while let Some(line) = lines.next_line() {
            match line {
                Line::Message(line) => front.take(held, line, Transport::Stdio).await,
                Line::Oversized { head } => {
                    let limit = front.options.limits.request_body_bytes;
                    let id =
                        envelope::id_in_head(&head).map_or_else(|| "null".to_owned(), |id| id.to_string());
                    let text = format!("the message is larger than the limit of {limit} bytes");
                    held.client.deliver(refusal(&id, -32600, &text).whole()).await;
                }
                Line::Resumed { .. } => {}
            }
        }
    }
}

async fn write(mut messages: mpsc::Receiver<Bytes>, mut output: impl AsyncWrite + Unpin) {
    let mut buffer = Vec::with_capacity(4096);
    while let Some(message) = messages.recv().await {
        let mut next = Some(message);
        while let Some(message) = next {
            append(&message, &mut buffer);
            next = if buffer.len() < WRITE { messages.try_recv().ok() } else { None };
        }
        if output.write_all(&buffer).await.is_err() || output.flush().await.is_err() {
            break;
        }
        buffer.clear();
        buffer.shrink_to(WRITE);
    }
}

/// A message is one line, whatever line breaks a server's pretty-printed result has between its tokens.
fn append(message: &[u8], buffer: &mut Vec<u8>) {
    buffer.extend(message.iter().map(|&b| if b == b'\n' || b == b'\r' { b' ' } else { b }));
    buffer.push(b'\n');
}
