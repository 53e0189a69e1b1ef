//! Tells clients what happens outside of their requests: changed lists, and what servers say to everybody.

use crate::Front;
use crate::client::Client;
use crate::methods::is_wanted;
use bytes::Bytes;
use portolan_router::Notice;
use portolan_wire::answer;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};

/// Changes within this time of one another are told as one.
const COALESCE: Duration = Duration::from_millis(50);

impl Front {
    /// Starts the two heralds; they end with the front.
    pub fn start_heralds(self: &Arc<Self>, notices: broadcast::Receiver<Notice>) {
        let front = self.clone();
        self.owns(async move { front.tell_of_lists().await });
        let front = self.clone();
        self.owns(async move { front.tell_of_notices(notices).await });
    }

    async fn tell_of_lists(&self) {
        let mut generations = self.catalog().generations();
        let message = Bytes::from(answer::notification("notifications/tools/list_changed", None));
        let mut listed = 0;
        while generations.changed().await.is_ok() {
            let now = generations.borrow_and_update().listed;
            if now == listed {
                continue;
            }
            listed = now;
            let snapshot = self.catalog().snapshot().clone();
            self.sessions.each(|client| {
                if client.has_news(&snapshot) {
                    client.tell(&message);
                }
            });
            tokio::time::sleep(COALESCE).await;
        }
    }

    async fn tell_of_notices(&self, mut notices: broadcast::Receiver<Notice>) {
        loop {
            match notices.recv().await {
                Ok(notice) => self.sessions.each(|client| tell(client, &notice)),
                Err(RecvError::Lagged(count)) => portolan_telemetry::counters::NOTES_DROPPED.add(count),
                Err(RecvError::Closed) => return,
            }
        }
    }
}

fn tell(client: &Client, notice: &Notice) {
    if client.sees(&notice.server) && is_wanted(client, &notice.message) {
        client.tell(&notice.message);
    }
}
