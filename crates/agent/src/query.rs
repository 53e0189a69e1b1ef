//! One query from its beginning to its report.

use std::sync::Arc;

use portolan_llm::{Budget, ChatModel, Metered};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::account::{Account, Payer};
use crate::agent::{Agent, owner};
use crate::agents::{Card, Options};
use crate::ask::{Ask, Destructive};
use crate::errand::{Bounds, Errand, Permission};
use crate::hands::Hands;
use crate::report::{Failure, Report};
use crate::talk::{End, Talk};
use crate::trace::{Ending, Step, Trace, Watch};
use crate::unaided::{self, Unaided};

/// What the agent thinks with.
#[derive(Clone)]
pub enum Mind {
    /// A model of the settings, on the agent's budget. `max_tokens` is what one answer of it may have.
    Configured {
        model: Arc<dyn ChatModel>,
        max_tokens: u32,
    },
    /// The calling client's own, by sampling.
    Client(Arc<dyn ChatModel>),
    Nothing(Arc<dyn Unaided>),
}

/// What a query comes with.
pub struct With<'a> {
    pub hands: &'a dyn Hands,
    pub mind: Mind,
    /// The caller's wish to call it off.
    pub cancel: &'a CancellationToken,
    pub watch: Watch<'a>,
}

pub(crate) struct Query<'a> {
    pub(crate) agent: &'a Arc<Agent>,
    pub(crate) card: &'a Card,
    pub(crate) ask: &'a Ask,
    pub(crate) options: Options,
    pub(crate) budget: &'a Arc<Budget>,
    pub(crate) began: Instant,
}

impl Query<'_> {
    pub(crate) async fn run(self, with: With<'_>) -> Report {
        let trace = Trace::new(self.began, with.watch);
        let (mind, payer) = self.metered(with.mind);
        let mut account = Account::open(Arc::clone(self.agent), Arc::clone(self.budget), payer, self.began);
        let errand = Errand::new(with.hands, &self.card.name, self.bounds(&mind), with.cancel, &trace);
        let model = model(&mind);
        trace.tell(Step::Began {
            model: model.map(|model| model.name().to_owned()),
            tools: errand.toolbox.len(),
        });
        let End { answer, mut notes, failure } = self.think(&mind, &errand, &mut account).await;
        let ending = if failure.is_some() { Ending::Failed } else { Ending::Done };
        trace.tell(Step::Ended { outcome: ending, reason: failure.as_ref().map(Failure::to_string) });
        // One that its caller called off is nobody's error.
        account.end(if failure == Some(Failure::Cancelled) { Ending::Done } else { ending });
        let (tools_used, contexts, note) = errand.into_parts();
        notes.extend(note);
        Report {
            connector_id: self.ask.connector.clone(),
            connector_name: self.card.name.to_string(),
            tools_used,
            contexts,
            answer,
            trace: trace.into_steps(),
            model: model.map(|model| model.name().to_owned()),
            usage: account.usage(),
            cost: account.cost(),
            notes,
            failure,
        }
    }

    async fn think(&self, mind: &Mind, errand: &Errand<'_>, account: &mut Account) -> End {
        if errand.toolbox.is_empty() {
            let connector = self.card.name.to_string();
            return End { failure: Some(Failure::NoTools { connector }), ..End::default() };
        }
        match mind {
            Mind::Configured { model, .. } | Mind::Client(model) => {
                Talk::new(self, &**model, errand, account).run().await
            }
            Mind::Nothing(plan) => unaided::run(self.ask, &**plan, errand).await,
        }
    }

    /// The configured model on the agent's account.
    fn metered(&self, mind: Mind) -> (Mind, Payer) {
        match mind {
            Mind::Configured { model, max_tokens } => {
                let metered = Metered {
                    model,
                    budget: Arc::clone(self.budget),
                    owner: owner(&self.card.name),
                    limits: self.card.limits.model,
                    max_tokens,
                };
                (Mind::Configured { model: Arc::new(metered), max_tokens }, Payer::We)
            }
            other @ (Mind::Client(_) | Mind::Nothing(_)) => (other, Payer::Client),
        }
    }

    fn permission(&self, mind: &Mind) -> Permission {
        match (mind, self.ask.destructive) {
            (Mind::Nothing(_), _) => Permission::ReadingOnly,
            (Mind::Configured { .. } | Mind::Client(_), Destructive::Allowed) => Permission::Given,
            (Mind::Configured { .. } | Mind::Client(_), Destructive::IfConfirmed) => Permission::Asked,
        }
    }

    fn bounds(&self, mind: &Mind) -> Bounds {
        Bounds {
            permission: self.permission(mind),
            calls: self.ask.max_tools.unwrap_or(self.options.usual_tools),
            side_by_side: self.options.side_by_side,
            call_time: self.options.call_time,
            until: self.began + self.options.query_time * 4 / 5,
        }
    }
}

fn model(mind: &Mind) -> Option<&dyn ChatModel> {
    match mind {
        Mind::Configured { model, .. } | Mind::Client(model) => Some(&**model),
        Mind::Nothing(_) => None,
    }
}
