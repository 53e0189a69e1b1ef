//! The order of the end: no new work, what is in flight, the children, and only then the process.

use crate::wire_up::Gateway;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask us to end.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
    /// A file that may not grow any more (`ulimit -f`) is an error like a full disk, and no reason to be killed. Nobody
    /// waits for this one: that it is heard is enough.
    _file_size: Signal,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let file_size = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
        Ok(Self { terminate, interrupt, hangup: None, _file_size: file_size })
    }

    /// A terminal that closes ends what a client has started there, in order. Whoever serves may have been told to
    /// outlive it, as `nohup` does, so there the signal keeps the meaning it came with.
    pub(crate) fn with_hangup(self) -> std::io::Result<Self> {
        Ok(Self { hangup: Some(signal(SignalKind::hangup())?), ..self })
    }

    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = hung_up(self.hangup.as_mut()) => {}
        }
    }
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Ends the gateway in order; `serving` is what takes work in, and returns once it is told to stop. A signal during
/// that ends the process at once; the watchdog then ends the children.
pub(crate) async fn end(gateway: &Gateway, signals: &mut Signals, serving: impl Future<Output = ()>) {
    let orderly = async {
        gateway.front.stop();
        let drain = gateway.settings.limits.drain;
        let answered = async {
            serving.await;
            gateway.front.answered().await;
        };
        if tokio::time::timeout(drain, answered).await.is_err() {
            tracing::warn!("calls still in flight after {drain:?} are given up");
        }
        gateway.end().await;
    };
    tokio::select! {
        () = orderly => tracing::info!("ended"),
        () = signals.next() => {
            tracing::warn!("ended at once");
            std::process::exit(1);
        }
    }
}

/// Runs a future on a runtime that does not wait for a read of standard input that never returns.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(done)
}
