//! Stands between a request about a task, or one that may become one, and its client: what a task asks is not lost when the
//! request is answered before the task is done.

use super::wards::{TaskKey, Wards};
use crate::call::Call;
use portolan_upstream::{Aside, CallError, Note, Question, Reply};
use portolan_wire::tasks::related;
use std::pin::pin;
use std::sync::Arc;

pub(crate) struct Relay<'r> {
    outer: &'r Arc<Aside>,
    inner: Arc<Aside>,
    /// Where a task's questions are kept, of a request that is answered before the task is done.
    wards: Option<&'r Wards>,
}

impl<'r> Relay<'r> {
    /// For a request that stays until the task is done.
    pub(super) fn new(call: &'r Call<'r>) -> Self {
        let outer = call.aside;
        let inner = if outer.can_be_asked() { Aside::of(outer.client()) } else { Aside::default() };
        Self { outer, inner: Arc::new(inner), wards: None }
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
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut asking => break reply,
                () = self.inner.noted() => self.pass_on(),
                () = self.outer.cancelled(), if !self.inner.is_cancelled() => self.inner.cancel(None),
            }
        };
        // What came before the answer is told before the answer.
        self.pass_on();
        reply
    }

    fn pass_on(&self) {
        while let Some(note) = self.inner.take() {
            match note {
                Note::Question(question) => self.ask(question),
                note @ (Note::Progress(_) | Note::Other(_) | Note::Withdrawn(_)) => {
                    self.outer.add(note);
                }
            }
        }
    }

    fn ask(&self, question: Arc<Question>) {
        if let Some(wards) = self.wards
            && let Some(id) = question.params().and_then(related)
        {
            return wards.hold(TaskKey { server: question.server.clone(), id }, question);
        }
        if !self.outer.add(Note::Question(question.clone())) {
            question.decline();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Caller;
    use crate::target::What;
    use portolan_catalog::View;
    use portolan_model::ServerName;
    use portolan_wire::meta::RELATED_TASK;
    use portolan_wire::params::Params;

    #[tokio::test]
    async fn a_tasks_question_waits_for_the_task_where_the_request_is_answered_before_it() {
        let (aside, params, caller) = (Arc::new(Aside::of(1)), Params::default(), Caller::plain());
        let call =
            Call { view: &View::All, what: What::Tool, params: &params, aside: &aside, caller: &caller };
        let server = ServerName::parse("s").unwrap();
        let asked = format!(r#"{{"_meta":{{"{RELATED_TASK}":{{"taskId":"1"}}}}}}"#);
        let question = |params: &str| {
            let params = Some(params.to_owned().into());
            Question::new(server.clone(), "elicitation/create", params, None)
        };
        let [(of_task, _kept), (other, _answered)] = [question(&asked), question("{}")];
        let wards = Wards::default();
        for (relay, passed) in [(Relay::before(&call, &wards), 1), (Relay::new(&call), 2)] {
            relay.put(&of_task);
            relay.put(&other);
            relay.carry(async { Ok(Reply::Result("{}".into())) }).await.unwrap();
            let took = std::iter::from_fn(|| aside.take()).count();
            assert_eq!(took, passed);
        }
        let key = TaskKey { server, id: "1".to_owned() };
        assert_eq!(wards.take_asked(&key).len(), 1);
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
