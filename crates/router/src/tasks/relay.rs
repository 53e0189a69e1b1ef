//! What a server asks about a task, on its way to a client that knows the task by another id; and the answers, back.

use super::wards::{TaskKey, Wards};
use crate::call::Call;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use portolan_catalog::View;
use portolan_model::ServerName;
use portolan_upstream::{Aside, CallError, Note, Question, Reply};
use portolan_wire::tasks::{relate, related, shown, split};
use std::pin::{Pin, pin};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Stands between a request and its client.
pub(crate) struct Relay<'r> {
    view: &'r View,
    outer: &'r Arc<Aside>,
    inner: Arc<Aside>,
    /// Where a task's questions are kept, of a request that is answered before the task is done.
    wards: Option<&'r Wards>,
}

type Answered = Result<Reply, oneshot::error::RecvError>;
type Answering = Pin<Box<dyn Future<Output = (Arc<Question>, Answered)> + Send>>;

/// The questions that were passed on: the server's own, and what the client sees of each.
#[derive(Default)]
struct Passed {
    pairs: Vec<(Arc<Question>, Arc<Question>)>,
    answers: FuturesUnordered<Answering>,
}

impl<'r> Relay<'r> {
    /// For a request that stays until the task is done.
    pub(super) fn new(call: &'r Call<'r>) -> Self {
        let outer = call.aside;
        let inner = if outer.can_be_asked() { Aside::of(outer.client()) } else { Aside::default() };
        Self { view: call.view, outer, inner: Arc::new(inner), wards: None }
    }

    /// For a call that becomes a task: what the task asks waits for whoever asks about the task.
    pub(crate) fn before(call: &'r Call<'r>, wards: &'r Wards) -> Self {
        Self { wards: Some(wards), ..Self::new(call) }
    }

    /// What the request has beside it in place of its client's own.
    pub(crate) fn aside(&self) -> &Arc<Aside> {
        &self.inner
    }

    /// Adds a question that came before the request.
    pub(super) fn put(&self, question: &Arc<Question>) {
        if !self.inner.can_be_asked() || !self.inner.add(Note::Question(question.clone())) {
            question.decline();
        }
    }

    /// Passes everything on, both ways, until the request is answered.
    pub(crate) async fn carry(
        &self,
        asking: impl Future<Output = Result<Reply, CallError>>,
    ) -> Result<Reply, CallError> {
        let mut asking = pin!(asking);
        let mut passed = Passed::default();
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut asking => break reply,
                () = self.inner.noted() => self.pass_on(&mut passed),
                Some((question, answer)) = passed.answers.next() => bring_back(&question, answer),
                () = self.outer.cancelled(), if !self.inner.is_cancelled() => self.inner.cancel(None),
            }
        };
        // What came before the answer is told before the answer.
        self.pass_on(&mut passed);
        reply
    }

    fn pass_on(&self, passed: &mut Passed) {
        while let Some(note) = self.inner.take() {
            match note {
                Note::Question(question) => self.ask(question, passed),
                Note::Withdrawn(question) => {
                    let pair = passed.pairs.iter().find(|(own, _)| Arc::ptr_eq(own, &question));
                    if let Some((_, shown)) = pair {
                        self.outer.add(Note::Withdrawn(shown.clone()));
                    }
                }
                note @ (Note::Progress(_) | Note::Other(_)) => {
                    self.outer.add(note);
                }
            }
        }
    }

    /// Asks the client, by the id that it knows. What belongs to no task is not ours to change.
    fn ask(&self, question: Arc<Question>, passed: &mut Passed) {
        if let Some(wards) = self.wards
            && let Some(id) = question.params().and_then(related)
        {
            return wards.hold(TaskKey { server: question.server.clone(), id }, question);
        }
        let task = question.params().and_then(related).filter(|_| *self.view == View::All);
        let (Some(id), Some(raw)) = (task, question.params()) else {
            if !self.outer.add(Note::Question(question.clone())) {
                question.decline();
            }
            return;
        };
        let params = relate(raw, Some(&shown(question.server.as_str(), &id))).into_owned();
        let (server, key) = (question.server.clone(), question.key.clone());
        let (other, answered) = Question::new(server, &question.method, Some(params.into()), key);
        if self.outer.add(Note::Question(other.clone())) {
            passed.pairs.push((question.clone(), other));
            passed.answers.push(Box::pin(async move { (question, answered.await) }));
        } else {
            question.decline();
        }
    }
}

/// Gives the server the client's answer, belonging to the task as the server knows it.
fn bring_back(question: &Question, answer: Answered) {
    match answer {
        Ok(Reply::Result(raw)) => {
            let raw = std::str::from_utf8(&raw).unwrap_or("null");
            question.answer(Reply::Result(own_answer(&question.server, raw)));
        }
        Ok(refused @ Reply::Error(_)) => question.answer(refused),
        Err(_) => question.decline(),
    }
}

/// A client's answer as the server that asked wants it.
pub(super) fn own_answer(server: &ServerName, raw: &str) -> Bytes {
    let id = related(raw);
    let own = id.as_deref().and_then(split).filter(|(name, _)| *name == server.as_str());
    match own {
        Some((_, own)) => Bytes::from(relate(raw, Some(own)).into_owned()),
        None => Bytes::copy_from_slice(raw.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Caller;
    use crate::target::What;
    use portolan_wire::meta::RELATED_TASK;
    use portolan_wire::params::Params;

    fn of_task(id: &str) -> String {
        format!(r#"{{"_meta":{{"{RELATED_TASK}":{{"taskId":"{id}"}}}}}}"#)
    }

    #[tokio::test]
    async fn a_question_goes_out_by_the_shown_id_and_its_answer_comes_back_by_the_servers_own() {
        let (aside, params, caller) = (Arc::new(Aside::of(1)), Params::default(), Caller::plain());
        let call =
            Call { view: &View::All, what: What::Tool, params: &params, aside: &aside, caller: &caller };
        let relay = Relay::new(&call);
        let server = ServerName::parse("s").unwrap();
        let params = Some(of_task("1").into());
        let (question, mut answered) = Question::new(server, "elicitation/create", params, None);
        relay.put(&question);
        let client = async {
            aside.noted().await;
            let Some(Note::Question(shown)) = aside.take() else { panic!("no question") };
            assert_eq!(shown.params(), Some(&*of_task("s~1")));
            shown.answer(Reply::Result(of_task("s~1").into()));
        };
        let request = async {
            client.await;
            let answer = (&mut answered).await;
            assert_eq!(answer.unwrap(), Reply::Result(of_task("1").into()));
            Ok(Reply::Result(Bytes::new()))
        };
        relay.carry(request).await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_cancels_cancels_the_request() {
        let (aside, params, caller) = (Arc::new(Aside::of(1)), Params::default(), Caller::plain());
        let call =
            Call { view: &View::All, what: What::Tool, params: &params, aside: &aside, caller: &caller };
        let relay = Relay::new(&call);
        aside.cancel(None);
        let request = async {
            relay.aside().cancelled().await;
            Err(CallError::Cancelled)
        };
        assert!(matches!(relay.carry(request).await, Err(CallError::Cancelled)));
    }
}
