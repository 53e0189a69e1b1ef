//! One answer that takes its time: what is said on the way, what has to be asked, and its end.

use crate::Front;
use crate::feed::{COMES_BACK, Feed};
use crate::parking::{Answering, Waiting};
use crate::request::{Pieces, Request};
use crate::sessions::Held;
use crate::told::{form, told};
use bytes::Bytes;
use portolan_router::{Aside, Note, Question};
use portolan_wire::{answer, mrtr};
use std::sync::Arc;
use std::time::Duration;

/// Questions that come within this time of one another are asked together.
const TOGETHER: Duration = Duration::from_millis(50);

/// Where messages go.
pub(crate) enum Sink {
    /// The stream of one answer.
    Feed(Arc<Feed>),
    /// The stream that the client has for everything.
    Client,
}

/// A request that is being answered.
pub(crate) struct Teller {
    pub(crate) front: Arc<Front>,
    pub(crate) held: Arc<Held>,
    pub(crate) request: Arc<Request>,
    pub(crate) aside: Arc<Aside>,
    /// The id under which its answer will come: that of the request which began it.
    pub(crate) began_as: Bytes,
    /// What the client has yet to be asked by the answer to its request.
    pub(crate) asked: Vec<(String, Arc<Question>)>,
}

impl Teller {
    /// Tells everything in order, to the end.
    pub(crate) async fn tell(mut self, mut answering: Answering, sink: Sink) {
        let answer = loop {
            let together = async {
                if self.asked.is_empty() {
                    std::future::pending::<()>().await;
                } else {
                    tokio::time::sleep(TOGETHER).await;
                }
            };
            tokio::select! {
                biased;
                answer = &mut answering => break answer,
                () = self.aside.noted() => self.pass_on(&sink).await,
                () = together => {
                    let asked = self.park(answering);
                    self.send(&sink, &asked).await;
                    finish(&sink);
                    return;
                }
                () = left(&sink), if self.ends_with_reader() => return,
                () = forgotten(&sink), if !self.aside.is_cancelled() => {
                    self.aside.cancel(Some(r#""the client has not come back""#));
                }
            }
        };
        // What came before the answer is told before the answer.
        self.pass_on(&sink).await;
        if let Some(answer) = answer {
            let answer = self.renamed(answer);
            self.send(&sink, &answer).await;
        }
        finish(&sink);
    }

    fn ends_with_reader(&self) -> bool {
        !self.request.terms(&self.held.client).revision.has_handshake()
    }

    async fn pass_on(&mut self, sink: &Sink) {
        while let Some(note) = self.aside.take() {
            match note {
                Note::Question(question) if self.ends_with_reader() => self.collect(question),
                Note::Withdrawn(question) if self.ends_with_reader() => {
                    self.asked.retain(|(_, other)| !Arc::ptr_eq(other, &question));
                }
                note @ (Note::Progress(_) | Note::Other(_) | Note::Question(_) | Note::Withdrawn(_)) => {
                    if let Some(message) = told(&self.held.client, &self.request, &note) {
                        self.send(sink, &message).await;
                    }
                }
            }
        }
    }

    /// Keeps a question for the answer to the request; one that the client has not declared is declined at once.
    fn collect(&mut self, question: Arc<Question>) {
        let abilities = &self.request.terms(&self.held.client).abilities;
        if abilities.allow(&question.method, question.params()) {
            let own = question.key.as_deref().filter(|key| self.asked.iter().all(|(other, _)| other != key));
            let key =
                own.map_or_else(|| format!("{}-{}", question.server, self.front.next_key()), str::to_owned);
            self.asked.push((key, question));
        } else {
            question.decline();
        }
    }

    /// Lets the call wait for its client, and asks the client by the answer to its request.
    fn park(&mut self, answering: Answering) -> Bytes {
        let id = self.request.id().to_owned();
        let form = form(&self.held.client, &self.request);
        let asked = std::mem::take(&mut self.asked);
        let shown: Vec<(String, String, Option<String>)> = asked
            .iter()
            .map(|(key, question)| (key.clone(), question.method.to_string(), form.params(question)))
            .collect();
        let began_as = self.began_as.clone();
        let waiting = Waiting { answering, aside: self.aside.clone(), began_as, asked };
        match self.front.lot.park(&self.request, waiting) {
            Some(state) => {
                let requests =
                    shown.iter().map(|(key, method, params)| (&**key, &**method, params.as_deref()));
                answer::result(&id, &mrtr::write(requests, Some(&state))).into()
            }
            None => crate::fault::refusal(
                &id,
                crate::fault::BUSY,
                "too many calls wait for an answer; try again later",
            )
            .whole(),
        }
    }

    /// The answer under the id of the request that is being answered now.
    fn renamed(&self, answer: Pieces) -> Bytes {
        let whole = answer.whole();
        if self.began_as == self.request.id {
            return whole;
        }
        let before = std::str::from_utf8(&self.began_as).unwrap_or("null");
        answer::under_id(&whole, before, self.request.id()).into()
    }

    async fn send(&self, sink: &Sink, message: &Bytes) {
        match sink {
            Sink::Feed(feed) => feed.push(message).await,
            Sink::Client => self.held.client.deliver(message.clone()).await,
        }
    }
}

fn finish(sink: &Sink) {
    if let Sink::Feed(feed) = sink {
        feed.finish();
    }
}

/// Ready when a client that was cut off has had enough time to come back.
async fn forgotten(sink: &Sink) {
    match sink {
        Sink::Feed(feed) => feed.abandoned_for(COMES_BACK).await,
        Sink::Client => std::future::pending().await,
    }
}

async fn left(sink: &Sink) {
    match sink {
        Sink::Feed(feed) => feed.abandoned().await,
        Sink::Client => std::future::pending().await,
    }
}
