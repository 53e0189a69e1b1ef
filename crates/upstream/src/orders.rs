//! What people may ask of one server while it lives.

use tokio::sync::oneshot;

/// How many orders may wait for a server that is busy; whoever sends one more waits.
pub(crate) const WAITING: usize = 16;

/// What becomes of calls that are under way when a session is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// They may end, within the limit for that.
    Drained,
    /// They are given up now.
    Forced,
}

#[derive(Debug)]
pub(crate) enum Order {
    /// Be connected from now on; one that is resting between tries goes on at once.
    Connect(Taken),
    /// Replace the session, if there is one, and connect.
    Reconnect(Taken),
    /// List the tools again.
    Refresh,
    /// Be disconnected until asked otherwise.
    Disconnect(Farewell),
}

/// Dropped once the server's state shows that the order has been heard.
#[derive(Debug)]
pub(crate) struct Taken {
    _heard: oneshot::Sender<()>,
}

impl Taken {
    pub(crate) fn new() -> (Self, oneshot::Receiver<()>) {
        let (heard, wait) = oneshot::channel();
        (Self { _heard: heard }, wait)
    }
}

/// A disconnect, and whoever waits for its end.
#[derive(Debug)]
pub(crate) struct Farewell {
    pub(crate) parting: Parting,
    /// Told how many calls had to be given up.
    pub(crate) done: oneshot::Sender<usize>,
}
