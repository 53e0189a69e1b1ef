//! The echo server over standard input and output: one blocking loop, the quickest way through a pipe.

use super::answers::{Echo, Kind};
use anyhow::Result;
use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// Delayed answers that may wait at once; more calls than this in flight are held back.
const WAITING: usize = 4096;

type Due = (Instant, Vec<u8>);

/// Every answer leaves in a write of its own, as from a real server: a gateway that reads it gets no batches for free.
pub fn serve(echo: &Echo) -> Result<()> {
    let (later, due) = sync_channel::<Due>(WAITING);
    std::thread::scope(move |scope| {
        if !echo.delay.is_zero() {
            scope.spawn(move || write_when_due(&due));
        }
        let ended = answer_lines(echo, &later);
        // The writing thread ends when nobody can send to it any more.
        drop(later);
        ended
    })
}

fn answer_lines(echo: &Echo, later: &SyncSender<Due>) -> Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, std::io::stdin());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let mut answer = echo.answer(&line);
        line.clear();
        if answer.kind == Kind::Nothing {
            continue;
        }
        answer.bytes.push(b'\n');
        if answer.kind.is_call() && !echo.delay.is_zero() {
            later.send((Instant::now() + echo.delay, answer.bytes))?;
        } else {
            write(&answer.bytes)?;
        }
    }
    Ok(())
}

/// One delay for all keeps them in order, so the first in the queue is always the first to leave.
fn write_when_due(due: &Receiver<Due>) {
    for (at, bytes) in due {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if write(&bytes).is_err() {
            return;
        }
    }
}

fn write(line: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}
