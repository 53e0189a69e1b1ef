//! Transports with one stream for everything: messages come in one after another, answers leave when they are ready.

use crate::Front;
use crate::client::Client;
use crate::methods::{Method, Request, refusal, told};
use crate::sessions::Held;
use crate::styles::Transport;
use bytes::Bytes;
use portolan_router::Aside;
use portolan_wire::{Incoming, Message, envelope};
use std::sync::Arc;

impl Front {
    /// Takes one message. Requests are worked on side by side, as tasks of the front; answers go over the client's
    /// stream. Waits only if the client has more at work than it may.
    pub(crate) async fn take(self: &Arc<Self>, held: &Arc<Held>, line: Bytes, transport: Transport) {
        let client = &held.client;
        match envelope::parse(&line, self.options.limits.json_depth) {
            Ok(Incoming::One(Message::Request { id, method, params })) => {
                let request = Request::new(&line, id, &method, params);
                if request.method == Method::Initialize {
                    let answer = self.initialize(client, &request, transport);
                    client.deliver(answer.unwrap_or_else(|refused| refused).whole()).await;
                } else {
                    let (front, worked_for) = (self.clone(), held.clone());
                    self.work(held, async move { front.respond(&worked_for.client, &request).await }).await;
                }
            }
            Ok(Incoming::One(Message::Notification { method, params })) => {
                Self::notified(client, &method, params);
            }
            Ok(Incoming::One(Message::Reply { .. })) => {}
            Ok(Incoming::Batch(_)) => {
                let (front, worked_for) = (self.clone(), held.clone());
                self.work(held, async move { front.respond_to_batch(&worked_for.client, &line).await }).await;
            }
            Err(malformed) => {
                client.deliver(refusal("null", malformed.code(), &malformed.to_string()).whole()).await;
            }
        }
    }

    /// Puts work on a task of its own, when its client may have one more.
    async fn work(&self, held: &Held, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(turn) = held.client.at_work.clone().acquire_owned().await else { return };
        self.tasks.spawn(async move {
            work.await;
            drop(turn);
        });
    }

    /// Answers a request over the client's stream: its notes in order, then its answer.
    async fn respond(&self, client: &Client, request: &Request) {
        let aside = Arc::default();
        let mut answering = std::pin::pin!(self.answer(client, request, &aside));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answering => break answer,
                () = aside.noted() => tell(client, request, &aside).await,
            }
        };
        // What came before the answer is told before the answer.
        tell(client, request, &aside).await;
        if let Some(answer) = answer {
            client.deliver(answer.whole()).await;
        }
    }

    async fn respond_to_batch(&self, client: &Client, line: &Bytes) {
        let Ok(Incoming::Batch(entries)) = envelope::parse(line, self.options.limits.json_depth) else {
            return;
        };
        match self.batch(client, line, &entries).await {
            Ok(Some(answers)) => client.deliver(answers).await,
            Ok(None) => {}
            Err(refused) => client.deliver(refused.whole()).await,
        }
    }
}

async fn tell(client: &Client, request: &Request, aside: &Aside) {
    while let Some(note) = aside.take() {
        if let Some(message) = told(client, request, &note) {
            client.deliver(message).await;
        }
    }
}
