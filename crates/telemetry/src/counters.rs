//! What is counted, each name once. A counter is one relaxed atomic: the call path can afford it.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub struct Counter {
    pub name: &'static str,
    pub help: &'static str,
    value: AtomicU64,
}

impl Counter {
    const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, value: AtomicU64::new(0) }
    }

    pub fn add(&self, count: u64) {
        self.value.fetch_add(count, Ordering::Relaxed);
    }

    pub fn one(&self) {
        self.add(1);
    }

    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($ident:ident = $name:literal, $help:literal;)*) => {
        $(pub static $ident: Counter = Counter::new($name, $help);)*
        /// Every counter there is.
        pub static ALL: &[&Counter] = &[$(&$ident),*];
    };
}

counters! {
    CALLS = "portolan_calls_total", "Tool calls answered, whatever the answer.";
    CALLS_FAILED = "portolan_calls_failed_total", "Tool calls that ended in an error of the gateway or the transport.";
    CALLS_RESENT = "portolan_calls_resent_total", "Tool calls that had not been taken in and went out on a new session.";
    SESSIONS_OPENED = "portolan_server_sessions_opened_total", "Sessions opened to servers.";
    SESSIONS_LOST = "portolan_server_sessions_lost_total", "Sessions to servers that broke.";
    UNREADABLE = "portolan_unreadable_messages_total", "Lines or events of servers that were no JSON-RPC message.";
    UNKNOWN_REPLIES = "portolan_unknown_replies_total", "Replies of servers to requests that nobody waits for.";
    OVERSIZED = "portolan_oversized_messages_total", "Messages of servers over the size limit.";
    DECLINED = "portolan_declined_server_requests_total", "Requests of servers that no client could be asked.";
    NOTES_DROPPED = "portolan_dropped_notifications_total", "Notifications dropped because their reader was too slow.";
    RECORDS_DROPPED = "portolan_dropped_records_total", "Entries of history and events that the store did not take in time.";
    CLIENT_SESSIONS = "portolan_client_sessions_opened_total", "Sessions opened by clients.";
}
