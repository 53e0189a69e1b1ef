//! Transports with one stream for everything: messages come in one after another, answers leave when they are ready.

use crate::Front;
use crate::client::{STREAM_QUEUE, Terms};
use crate::fault::{INVALID_PARAMS, refusal};
use crate::parking::Return;
use crate::request::{Method, Pieces, Request};
use crate::sessions::Held;
use crate::styles::Transport;
use crate::teller::{Sink, Teller};
use bytes::Bytes;
use portolan_router::Aside;
use portolan_wire::meta::PROTOCOL_VERSION;
use portolan_wire::{Incoming, Message, envelope};
use std::sync::Arc;
use tokio::sync::mpsc;

impl Front {
    /// Takes one message. Requests are worked on side by side, as tasks of the front; answers go over the client's
    /// stream. Waits only if the client has more at work than it may.
    pub(crate) async fn take(self: &Arc<Self>, held: &Arc<Held>, line: Bytes, transport: Transport) {
        let client = &held.client;
        match envelope::parse(&line, self.options.limits.json_depth) {
            Ok(Incoming::One(Message::Request { id, method, params })) => {
                let request = Request::new(&line, id, &method, params);
                self.take_request(held, request, transport).await;
            }
            Ok(Incoming::One(Message::Notification { method, params })) => {
                self.notified(client, &method, params);
            }
            Ok(Incoming::One(Message::Reply { id, outcome })) => client.questions.answered(id, outcome),
            Ok(Incoming::Batch(_)) => {
                let (front, worked_for) = (self.clone(), held.clone());
                self.work(held, async move { front.respond_to_batch(&worked_for, &line).await }).await;
            }
            Err(malformed) => {
                client.deliver(refusal("null", malformed.code(), &malformed.to_string()).whole()).await;
            }
        }
    }

    async fn take_request(self: &Arc<Self>, held: &Arc<Held>, mut request: Request, transport: Transport) {
        let client = &held.client;
        match self.said_for_itself(held, &request, transport) {
            Ok(terms) => request.own_terms = terms,
            Err(refused) => return client.deliver(refused.whole()).await,
        }
        match request.method {
            Method::Initialize if request.own_terms.is_none() => {
                let answer = self.initialize(client, &request, transport);
                client.deliver(answer.unwrap_or_else(|refused| refused).whole()).await;
            }
            Method::Listen if request.own_terms.is_some() => {
                let (front, held) = (self.clone(), held.clone());
                // It stands for as long as the client does: it takes no turn from what the client is working on.
                self.tasks.spawn(async move { front.listen_on(&held, &request).await });
            }
            Method::Initialize
            | Method::Listen
            | Method::Discover
            | Method::Ping
            | Method::List(_)
            | Method::Ask(_)
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::SetLevel
            | Method::Unknown(_) => {
                let (front, worked_for) = (self.clone(), held.clone());
                self.work(held, async move { front.respond(worked_for, Arc::new(request)).await }).await;
            }
        }
    }

    /// What a request says for itself, if it does: over one stream both eras may come from one client.
    fn said_for_itself(
        &self,
        held: &Held,
        request: &Request,
        transport: Transport,
    ) -> Result<Option<Terms>, Pieces> {
        let is_asked = request.method == Method::Discover;
        if !is_asked && request.meta(PROTOCOL_VERSION).is_none() {
            return Ok(None);
        }
        self.own_terms(&held.client.view, request, request.params()?, transport).map(Some)
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
    async fn respond(self: Arc<Self>, held: Arc<Held>, request: Arc<Request>) {
        let id = request.id.clone();
        let (answering, teller) = match self.lot.back(&request) {
            Return::Refused(why) => {
                return held.client.deliver(refusal(request.id(), INVALID_PARAMS, why).whole()).await;
            }
            Return::Call(parked) => {
                let (aside, began_as, asked) = (parked.aside, parked.began_as, parked.asked);
                (
                    parked.answering,
                    Teller { front: self, held: held.clone(), request, aside, began_as, asked },
                )
            }
            Return::None => {
                let aside = Arc::new(Aside::of(held.client.number));
                let answering = self.clone().answering(held.clone(), request.clone(), aside.clone());
                let (began_as, asked) = (request.id.clone(), Vec::new());
                (answering, Teller { front: self, held: held.clone(), request, aside, began_as, asked })
            }
        };
        let _in_flight = held.client.begin(id, &teller.aside);
        teller.tell(answering, Sink::Client).await;
    }

    /// Tells what a stream of `subscriptions/listen` brings, until it is cancelled or the client has gone.
    async fn listen_on(self: Arc<Self>, held: &Arc<Held>, request: &Request) {
        let (sender, mut messages) = mpsc::channel(STREAM_QUEUE);
        let _listening = match self.listen(&held.client, request, sender).await {
            Ok(listening) => listening,
            Err(refused) => return held.client.deliver(refused.whole()).await,
        };
        let aside = Arc::new(Aside::of(held.client.number));
        let _in_flight = held.client.begin(request.id.clone(), &aside);
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => held.client.deliver(message).await,
                    None => return,
                },
                () = aside.cancelled() => return,
                () = held.client.gone() => return,
            }
        }
    }

    async fn respond_to_batch(&self, held: &Held, line: &Bytes) {
        let client = &held.client;
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
